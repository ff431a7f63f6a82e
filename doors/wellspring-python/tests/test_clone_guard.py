"""The guard gives copies of a process different numbers after a notice, and leaves generators with a seed alone.

A copy is a forked child here: without a guard its generators go on with the state of its parent, as those of a cloned
machine do.
"""

import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest

COUNTER = 104


def page(folder: Path, number: int = 7) -> Path:
    content = bytearray(4096)
    content[:12] = struct.pack("<4sIHBB", b"VCLK", 4096, 1, 0xFF, 0)
    content[24:32] = struct.pack("<Q", 1 << 8)
    content[COUNTER : COUNTER + 8] = struct.pack("<Q", number)
    path = folder / "generation"
    path.write_bytes(content)
    path.chmod(0o644)
    return path


def run(program: str, *words: object) -> list[dict[str, object]]:
    """Runs a program in an interpreter of its own; what it prints is JSON, a line for each copy."""
    command = [sys.executable, "-c", program, *map(str, words)]
    output = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert output.returncode == 0, output.stderr
    return [json.loads(line) for line in output.stdout.splitlines()]


# Two copies are made; then the number in the page changes, and each copy draws when its guard has healed it.
COPIES = """
import json, os, struct, sys, time
path, guarded = sys.argv[1], sys.argv[2] == "guarded"
if guarded:
    import wellspring.clone_guard as guard
    guard.install(path)
import random, tempfile, uuid
instance, seeded, was_set = random.Random(), random.Random(2026), random.Random()
was_set.setstate(seeded.getstate())
names = tempfile._get_candidate_names()
try:
    import numpy
except ImportError:
    numpy = None
marked = numpy and numpy.random.default_rng(5)
if guarded and numpy:
    guard.register(marked)

def draw():
    numbers = {
        "random": random.random(), "instance": instance.getrandbits(64), "choice": random.choices(range(2**30), k=2),
        "tempfile": next(names), "seeded": seeded.random(), "was_set": was_set.random(),
    }
    if numpy:
        numbers["numpy"] = int(numpy.random.randint(2**62))
        numbers["marked"] = float(marked.random())
    return numbers

draw()
state = random.getstate()[1]
for copy in range(2):
    ready, told = os.pipe()
    child = os.fork()
    if child == 0:
        # After a fork Python reseeds two generators by itself. A clone has the old ones.
        super(random.Random, random._inst).setstate(state)
        names._rng_pid = os.getpid()
        os.write(told, b"x")
        if guarded:
            until = time.monotonic() + 30
            while guard.status()["notices"] == 0 and time.monotonic() < until:
                time.sleep(0.01)
        line = json.dumps(draw()) + "\\n"
        os.write(1, line.encode())
        os._exit(0)
    os.read(ready, 1)
    with open(path, "r+b", buffering=0) as file:
        os.pwrite(file.fileno(), struct.pack("<Q", 8 + copy), 104)
    os.waitpid(child, 0)
"""

HEALED = {"random", "instance", "choice", "tempfile", "numpy", "marked"}


def test_copies_draw_the_same_without_the_guard(tmp_path: Path) -> None:
    one, other = run(COPIES, page(tmp_path), "alone")
    assert one == other


def test_copies_differ_after_a_notice_and_seeded_generators_go_on(tmp_path: Path) -> None:
    one, other = run(COPIES, page(tmp_path), "guarded")
    for name in one:
        assert (one[name] != other[name]) == (name in HEALED), name


SEEDED = """
import json, sys
import wellspring.clone_guard as guard
guard.install(sys.argv[1])
import random
random.seed(3)
first = random.Random(3).random()
import numpy
numpy.random.seed(3)
legacy = numpy.random.RandomState(3).randint(2**30)
guard.heal()
print(json.dumps([random.random() == first, int(numpy.random.randint(2**30)) == int(legacy)]))
"""


def test_a_seeded_global_generator_keeps_its_sequence(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    assert run(SEEDED, page(tmp_path)) == [[True, True]]


ENGINE = """
import json, sys
import wellspring.clone_guard as guard
from wellspring._native import diverge_from_clones
guard.install(sys.argv[1])

def least(call):
    # A reseed that is due meanwhile adds to some changes of the generation.
    changes = []
    for _ in range(9):
        before = diverge_from_clones()
        call()
        changes.append(diverge_from_clones() - before)
    return min(changes)

print(json.dumps({"changes": least(guard.heal) > least(int)}))
"""


def test_a_call_of_heal_separates_the_engine_from_its_copies_too(tmp_path: Path) -> None:
    assert run(ENGINE, page(tmp_path)) == [{"changes": True}]


OLDER = """
import json, random, sys
random.seed(3)
expected = random.Random(3).random()
import wellspring.clone_guard as guard
guard.install(sys.argv[1])
guard.heal()
kept = random.random() == expected
guard.register(random._inst)
state = random.getstate()
guard.heal()
print(json.dumps([kept, random.getstate() != state]))
"""


def test_a_generator_that_is_older_than_the_guard_is_healed_only_if_it_is_registered(tmp_path: Path) -> None:
    assert run(OLDER, page(tmp_path)) == [[True, True]]


REGISTERED = """
import json, sys
import wellspring.clone_guard as guard
guard.install(sys.argv[1])
import numpy
from wellspring.random import ChaCha8
made = [numpy.random.default_rng(1), numpy.random.MT19937(1), numpy.random.RandomState(1), ChaCha8(1)]
called = []
for one in made:
    guard.register(one)
guard.register(lambda: called.append(1))
before = [str(getattr(one, "bit_generator", getattr(one, "_bit_generator", one)).state) for one in made]
guard.heal()
after = [str(getattr(one, "bit_generator", getattr(one, "_bit_generator", one)).state) for one in made]
try:
    guard.register(5)
except TypeError:
    called.append(2)
print(json.dumps([[a != b for a, b in zip(before, after)], called]))
"""


def test_every_kind_that_can_be_registered_gets_new_state(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    assert run(REGISTERED, page(tmp_path)) == [[[True] * 4, [1, 2]]]


SHARED = """
import json, sys
import wellspring.clone_guard as guard
guard.install(sys.argv[1])
import random
state = random.getstate()
instance = random.Random()
state_of_instance = instance.getstate()
guard.heal()
print(json.dumps([random.getstate() != state, instance.getstate() != state_of_instance]))
"""


def test_the_shared_generator_is_healed_in_a_process_that_never_forked(tmp_path: Path) -> None:
    assert run(SHARED, page(tmp_path)) == [[True, True]]


FAILING = """
import json, sys
import wellspring.clone_guard as guard
guard.install(sys.argv[1])
import random
def fails():
    raise OSError("one of them fails")
called = []
guard.register(fails)
guard.register(lambda: called.append(1))
state = random.getstate()
guard.heal()
print(json.dumps([called, random.getstate() != state, guard.status()["notices"]]))
"""


def test_a_function_that_raises_leaves_the_others_healed(tmp_path: Path) -> None:
    assert run(FAILING, page(tmp_path)) == [[[1], True, 1]]


WATCHED = """
import json, os, struct, sys, time
import wellspring.clone_guard as guard
path = sys.argv[1]
guard.install(path)
def wait(notices):
    until = time.monotonic() + 30
    while guard.status()["notices"] < notices and time.monotonic() < until:
        time.sleep(0.01)
    return guard.status()["notices"]
seen = [guard.status()["page"], guard.status()["notices"]]
def change(number):
    with open(path, "r+b", buffering=0) as file:
        os.pwrite(file.fileno(), struct.pack("<Q", number), 104)
change(8)
seen.append(wait(1))
content = bytearray(open(path, "rb").read())
content[104:112] = struct.pack("<Q", 9)
with open(path + ".next", "wb") as file:
    file.write(content)
os.chmod(path + ".next", 0o644)
os.rename(path + ".next", path)
seen.append(wait(2))
change(7)
seen.append(wait(3))
print(json.dumps(seen))
"""


def test_changes_and_a_replaced_page_are_noticed(tmp_path: Path) -> None:
    assert run(WATCHED, page(tmp_path)) == [[True, 0, 1, 2, 3]]


REFUSED = """
import json, sys
import wellspring.clone_guard as guard
guard.install(sys.argv[1])
print(json.dumps(guard.status()["page"]))
"""


@pytest.mark.parametrize("wrong", ["mode", "magic", "flag", "size", "link", "none"])
def test_a_page_that_cannot_be_believed_is_not_mapped(tmp_path: Path, wrong: str) -> None:
    path = page(tmp_path)
    content = bytearray(path.read_bytes())
    if wrong == "mode":
        path.chmod(0o666)
    elif wrong == "magic":
        content[0] ^= 1
        path.write_bytes(content)
    elif wrong == "flag":
        content[25] = 0
        path.write_bytes(content)
    elif wrong == "size":
        path.write_bytes(content[:4095])
    elif wrong == "link":
        path.rename(tmp_path / "target")
        path.symlink_to(tmp_path / "target")
    else:
        path.unlink()
    assert run(REFUSED, path) == [False]
