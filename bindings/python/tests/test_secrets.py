"""The module `secrets`, identifiers, and what is left of both in the process."""

import array
import copy
import mmap
import os
import pickle
import re
import secrets as standard
import subprocess
import sys
import threading
import time
import uuid

import pytest

import wellspring
from wellspring import ids, secrets


def test_there_is_every_name_of_the_standard_library():
    assert set(standard.__all__) == set(secrets.__all__)
    assert secrets.DEFAULT_ENTROPY == standard.DEFAULT_ENTROPY
    assert secrets.compare_digest is standard.compare_digest


@pytest.mark.parametrize("length", [0, 1, 7, 16, 32, 1000, 65535, 65536, 5_000_001])
def test_tokens_have_their_length_and_do_not_repeat(length):
    first, second = wellspring.token_bytes(length), secrets.token_bytes(length)
    assert type(first) is bytes and len(first) == len(second) == length
    assert length < 7 or first != second
    assert len(secrets.token_hex(length)) == 2 * length
    assert len(secrets.token_urlsafe(length)) == len(standard.token_urlsafe(length))


def test_tokens_have_32_bytes_by_default():
    assert len(secrets.token_bytes()) == len(secrets.token_bytes(None)) == 32
    assert len(secrets.token_hex()) == 64
    assert len(bytes.fromhex(secrets.token_hex(5))) == 5


def test_bits_stay_below_their_number_and_all_of_them_come():
    for k in (1, 2, 7, 8, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000):
        seen_or, seen_and = 0, (1 << k) - 1
        for _ in range(200):
            number = secrets.randbits(k)
            assert 0 <= number < 1 << k
            seen_or |= number
            seen_and &= number
        assert seen_or == (1 << k) - 1 and seen_and == 0, k
    assert secrets.randbits(0) == 0


@pytest.mark.parametrize("bound", [1, 2, 3, 10, 2**32 + 1, 2**63 + 1, 2**64 - 1, 2**64, 2**64 + 1, 10**40])
def test_numbers_stay_below_their_bound(bound):
    numbers = [secrets.randbelow(bound) for _ in range(300)]
    assert all(0 <= number < bound for number in numbers)
    assert bound < 3 or max(numbers) >= bound // 2 > min(numbers) or bound == 3
    if bound <= 10:
        assert set(numbers) == set(range(bound))


@pytest.mark.parametrize(
    ("call", "argument"),
    [("token_bytes", -1), ("randbits", -1), ("randbelow", 0), ("randbelow", -5), ("token_hex", -1)],
)
def test_wrong_values_are_refused_as_in_the_standard_library(call, argument):
    for module in (standard, secrets):
        with pytest.raises(ValueError):
            getattr(module, call)(argument)


@pytest.mark.parametrize("argument", ["8", 8.0, [8]])
def test_wrong_types_are_refused(argument):
    for call in (secrets.token_bytes, secrets.randbits, secrets.randbelow, wellspring.fill):
        with pytest.raises(TypeError):
            call(argument)
    with pytest.raises(IndexError):
        secrets.choice([])


def test_system_random_has_all_methods_of_random():
    rng = wellspring.SystemRandom()
    assert 0 <= rng.random() < 1
    assert rng.randrange(5, 8) in (5, 6, 7) and rng.choice("abc") in "abc"
    assert sorted(rng.sample(range(100), 100)) == list(range(100))
    items = list(range(50))
    rng.shuffle(items)
    assert sorted(items) == list(range(50)) != items
    assert len(rng.randbytes(5)) == 5 and 0 <= rng.getrandbits(70) < 2**70
    assert {rng.randrange(10**30) > 10**29 for _ in range(400)} == {True, False}
    assert isinstance(rng.gauss(0, 1), float) and len(rng.choices("ab", k=4)) == 4
    rng.seed(1)
    first = rng.random()
    rng.seed(1)
    assert rng.random() != first


def test_system_random_has_no_state_and_no_pickle():
    rng = wellspring.SystemRandom()
    for call in (rng.getstate, lambda: rng.setstate(()), lambda: pickle.dumps(rng), lambda: copy.copy(rng)):
        with pytest.raises(NotImplementedError):
            call()
    with pytest.raises(TypeError):
        rng.randbytes(None)


def test_buffers_of_every_kind_are_filled():
    mapped = mmap.mmap(-1, 4096)
    for out in (bytearray(4096), array.array("d", bytes(4096)), memoryview(bytearray(4096)), mapped):
        wellspring.fill(out)
        assert len(set(bytes(memoryview(out).cast("B")))) > 200
    out = bytearray(64)
    wellspring.fill(memoryview(out)[8:16])
    assert out[:8] == bytes(8) and out[16:] == bytes(48) and out[8:16] != bytes(8)
    wellspring.fill(bytearray())


def test_a_buffer_of_many_pieces_is_filled_to_its_last_byte():
    out = bytearray(5_000_003)
    wellspring.fill(out)
    for start in range(0, len(out), 1000):
        assert any(out[start : start + 1000]), start
    assert out[:250_000] != out[262_144 : 262_144 + 250_000]


def test_memory_that_cannot_be_filled_is_refused_by_name():
    with pytest.raises(ValueError, match="out is read-only"):
        wellspring.fill(b"12345678")
    with pytest.raises(ValueError, match="out is not C-contiguous"):
        wellspring.fill(memoryview(bytearray(10))[::2])
    with pytest.raises(TypeError, match="out"):
        wellspring.fill(7)


def test_threads_do_not_repeat_each_other():
    tokens: list[bytes] = []

    def draw():
        tokens.extend([wellspring.token_bytes(16) for _ in range(2000)])

    threads = [threading.Thread(target=draw) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(tokens)) == 16_000


def test_bytes_are_uniform():
    counts = [0] * 256
    for byte in wellspring.token_bytes(1 << 18):
        counts[byte] += 1
    # 255 degrees of freedom: a deviation of 22.6; a wrong alarm in 10^9 runs.
    assert sum((count - 1024) ** 2 / 1024 for count in counts) < 255 + 7 * 22.6


COARSE = 5
"""CLOCK_REALTIME_COARSE of Linux."""


@pytest.mark.parametrize(("make", "version"), [(ids.uuid4, 4), (ids.uuid7, 7)])
def test_uuids_are_those_of_the_standard_library(make, version):
    made = make()
    assert type(made) is uuid.UUID and made.version == version and made.variant == uuid.RFC_4122
    same = uuid.UUID(str(made))
    assert same == made and hash(same) == hash(made) and made.is_safe is same.is_safe
    assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == made
    with pytest.raises(TypeError):
        made.int = 1


def test_texts_have_their_form():
    for text, version in ((ids.uuid4_text(), 4), (ids.uuid7_text(), 7)):
        assert str(uuid.UUID(text)) == text and uuid.UUID(text).version == version
    assert uuid.UUID(bytes=ids.uuid4_bytes()).version == 4 and uuid.UUID(bytes=ids.uuid7_bytes()).version == 7
    assert re.fullmatch("[0-7][0-9A-HJKMNP-TV-Z]{25}", ids.ulid())
    assert re.fullmatch("[0-9a-f]{32}", ids.trace_id())
    assert re.fullmatch("[0-9a-f]{64}", ids.trace_id(32))


def test_identifiers_with_a_time_ascend_and_have_the_clocks():
    for make in (ids.uuid7, ids.uuid7_text, ids.ulid):
        made = [make() for _ in range(10_000)]
        assert made == sorted(set(made))
    before = time.clock_gettime(COARSE)
    made = ids.uuid7().int >> 80
    after = time.clock_gettime(COARSE)
    assert int(before * 1000) <= made <= int(after * 1000) + 1


def test_wrong_arguments_are_refused():
    for wrong in (0, -1, 8, 17, 2**70):
        with pytest.raises((ValueError, OverflowError)):
            ids.trace_id(wrong)
    with pytest.raises(TypeError):
        ids.trace_id("16")
    with pytest.raises(TypeError):
        ids.uuid7(1)


def test_threads_and_children_repeat_nothing():
    made = []
    threads = [threading.Thread(target=lambda: made.extend(ids.uuid7() for _ in range(5000))) for _ in range(4)]
    for thread in threads:
        thread.start()
    ends = os.pipe()
    for _ in range(8):
        pid = os.fork()
        if pid == 0:
            os.write(ends[1], ids.uuid7().bytes)
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        made.append(ids.uuid7())
    for thread in threads:
        thread.join()
    made += [uuid.UUID(bytes=os.read(ends[0], 16)) for _ in range(8)]
    assert len(set(made)) == 20_016


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
