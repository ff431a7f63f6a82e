"""Bytes that a token or an integer was made of are not left in the process."""

import subprocess
import sys

import pytest

# Makes a value, prints it, and waits. Its bytes in the order in which the engine gave them are never written.
CHILD = """
import sys
from wellspring import secrets
kept = {make}
print({show}, flush=True)
sys.stdin.read()
"""


def places(process: int, wanted: bytes) -> int:
    """Return how often 16 of these bytes are found in what the process can write."""
    found = 0
    pieces = [wanted[start : start + 16] for start in range(0, len(wanted) - 15, 16)]
    with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "rb", 0) as memory:
        for line in maps:
            bounds, access = line.split()[:2]
            start, end = (int(bound, 16) for bound in bounds.split("-"))
            if not access.startswith("rw"):
                continue
            try:
                memory.seek(start)
                content = memory.read(end - start)
            except (OSError, OverflowError):
                continue
            found += sum(content.count(piece) for piece in pieces)
    return found


def search(make: str, show: str, to_bytes) -> int:
    program = CHILD.format(make=make, show=show)
    child = subprocess.Popen([sys.executable, "-c", program], stdin=-1, stdout=-1, text=True)
    try:
        value = to_bytes(child.stdout.readline().strip())
        return places(child.pid, value)
    except PermissionError as error:
        pytest.skip(f"the memory of a child cannot be read: {error}")
    finally:
        child.communicate("")


def from_base64(text: str) -> bytes:
    import base64

    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


# A copy of memory may leave some bytes in registers, from where they can reach a stack. A buffer that is not wiped
# leaves all of its pieces: 29 of 29, and 256 of 256.
MOST_PIECES = 7


def test_text_leaves_no_bytes():
    assert search("secrets.token_hex(470)", "kept", bytes.fromhex) <= MOST_PIECES
    assert search("secrets.token_urlsafe(470)", "kept", from_base64) <= MOST_PIECES


@pytest.mark.parametrize("length", [470, 4096])
def test_an_integer_leaves_no_bytes(length):
    def to_bytes(text):
        return int(text, 16).to_bytes(length, "little")

    assert search(f"secrets.randbits({8 * length})", "hex(kept)", to_bytes) <= MOST_PIECES


def test_the_search_finds_bytes_that_are_kept():
    assert search("secrets.token_bytes(470)", "kept.hex()", bytes.fromhex) >= 29
