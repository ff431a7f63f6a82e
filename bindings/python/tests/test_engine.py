"""What a program says to the engine: mixed data, reseeds, copies, sandboxes."""

import array
import signal
import subprocess
import sys

import pytest

import wellspring


def test_an_order_and_a_notice_move_the_generation():
    first = wellspring.reseed()
    second = wellspring.diverge_from_clones()
    assert 0 < first < second < wellspring.reseed()


@pytest.mark.parametrize("data", [b"", b"seed", bytearray(100_000), memoryview(b"0123")[1:3], array.array("d", [1.5])])
def test_data_of_any_buffer_is_mixed_and_stays_as_it_is(data):
    before = bytes(data)
    assert wellspring.mix(data) is None
    assert bytes(data) == before


def test_what_has_no_bytes_is_not_mixed():
    for data in ("text", 5, None, [1]):
        with pytest.raises(TypeError, match="data"):
            wellspring.mix(data)
    with pytest.raises(ValueError, match="data is not C-contiguous"):
        wellspring.mix(memoryview(b"01234567")[::2])


# Forbids all system calls whose numbers are not in `allowed`: any other ends the process. The calls in `fails` return EPERM.
FORBID = """
import ctypes, os, platform, struct, sys
import wellspring
from wellspring.random import Elements

if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
    sys.exit("no numbers of system calls for this machine")
libc = ctypes.CDLL(None, use_errno=True)
kept = ctypes.create_string_buffer

def forbid(allowed, fails=()):
    program = [(0x20, 0, 0, 0)]
    for number in fails:
        program += [(0x15, 0, 1, number), (0x06, 0, 0, 0x00050001)]
    program += [(0x15, len(allowed) - place, 0, number) for place, number in enumerate(allowed)]
    program += [(0x06, 0, 0, 0x80000000), (0x06, 0, 0, 0x7FFF0000)]
    code = kept(b"".join(struct.pack("<HBBI", *line) for line in program))
    head = kept(struct.pack("<HxxxxxxQ", len(program), ctypes.addressof(code)))
    assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, head, 0, 0) == 0, ctypes.get_errno()

def draw():
    assert wellspring.fill(out) is None and out[-1000:] != bytes(1000)
    Elements(5).bytes(2_000_000)
    return wellspring.token_hex(), wellspring.SystemRandom().gauss(0, 1), wellspring.secrets.randbelow(10**40)

wellspring.token_hex = wellspring.secrets.token_hex
out = bytearray(2_000_000)
draw()
if sys.argv[1] == "prepared":
    wellspring.prepare_for_sandbox()
# write, mmap, mprotect, munmap, brk, madvise, mremap, exit_group: Python's own memory, and its end.
own = [1, 9, 10, 11, 12, 28, 25, 231]
"""

DRAWS = """
forbid(own)
for _ in range(100):
    draw()
wellspring.mix(b"data")
print(wellspring.diverge_from_clones() < wellspring.diverge_from_clones(), flush=True)
os._exit(0)
"""

# getpid, clone, set_robust_list, mlock, gettid, wait4: what a fork takes; and from Python 3.12 on openat, newfstatat, read and
# close: it counts the threads. getrandom: the module `random` of the standard library reseeds itself.
FORKS = """
wellspring.prepare_for_sandbox()
forbid([*own, 39, 56, 273, 149, 186, 61, 257, 262, 0, 3], [318])
child = os.fork()
line = " ".join(str(number) for number in draw()) + "\\n"
os.write(1, line.encode())
if child:
    assert os.waitpid(child, 0)[1] == 0
os._exit(0)
"""

# read, write, exit and sigreturn alone; the processor refuses to read its cycle counter.
STRICT = """
assert libc.prctl(22, 1, 0, 0, 0) == 0
line = " ".join(str(number) for number in (wellspring.token_hex(), wellspring.SystemRandom().random()))
libc.write(1, line.encode(), len(line))
libc.syscall(60, 0)
"""


def run(program, word):
    command = [sys.executable, "-c", FORBID + program, word]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if "no numbers of system calls" in result.stderr:
        pytest.skip("SKIPPED: the filter is for Linux on x86-64")
    return result


def test_after_a_preparation_no_draw_makes_a_system_call():
    result = run(DRAWS, "prepared")
    assert (result.returncode, result.stdout) == (0, "True\n"), result.stderr
    # The filter works: a draw without a preparation does not survive it.
    assert run(DRAWS, "unprepared").returncode == -signal.SIGSYS


def test_a_child_of_a_process_in_a_sandbox_draws_other_numbers():
    result = run(FORKS, "prepared")
    lines = result.stdout.split()
    assert result.returncode == 0 and len(lines) == len(set(lines)) == 6, (result.stdout, result.stderr)


def test_strict_seccomp_allows_a_draw():
    result = run(STRICT, "prepared")
    assert result.returncode == 0 and len(result.stdout.split()[0]) == 64, (result.stdout, result.stderr)


def test_the_functions_of_the_package_are_those_of_its_native_half():
    from wellspring import _native

    for name in ("diverge_from_clones", "mix", "prepare_for_sandbox", "reseed"):
        assert getattr(wellspring, name) is getattr(_native, name) and name in wellspring.__all__
