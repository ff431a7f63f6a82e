"""The guard gives copies of a process different numbers after a notice, and leaves generators with a seed alone.

A copy is a forked child here: without a guard its generators go on with the state of its parent, as in a cloned machine.
"""

import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from wellspring import clone_guard as guard

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


def run(program: str, *words: object, errors: str | None = None) -> list[dict[str, object]]:
    """Runs a program in an interpreter of its own; what it prints is JSON, a line for each copy."""
    command = [sys.executable, "-c", program, *map(str, words)]
    output = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert output.returncode == 0 and errors in (None, output.stderr), output.stderr
    return [json.loads(line) for line in output.stdout.splitlines()]


# Two copies are made; then the number in the page changes, and each copy draws when its guard has healed it.
COPIES = """
import json, os, struct, sys
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
    changed, change = os.pipe()
    child = os.fork()
    if child == 0:
        # After a fork Python reseeds two generators by itself. A clone has the old ones.
        super(random.Random, random._inst).setstate(state)
        names._rng_pid = os.getpid()
        os.write(told, b"x")
        os.read(changed, 1)
        line = json.dumps(draw()) + "\\n"
        os.write(1, line.encode())
        os._exit(0)
    os.read(ready, 1)
    with open(path, "r+b", buffering=0) as file:
        os.pwrite(file.fileno(), struct.pack("<Q", 8 + copy), 104)
    os.write(change, b"x")
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
import numpy, random
from wellspring.random import ChaCha8, Engine
# These have no state to heal.
for one in (Engine(), numpy.random.Generator(Engine()), random.SystemRandom()):
    guard.register(one)
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
    assert run(REGISTERED, page(tmp_path), errors="") == [[[True] * 4, [1, 2]]]


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
import json, os, struct, sys
import wellspring.clone_guard as guard
path = sys.argv[1]
guard.install(path)
import random, ssl, threading, uuid
own = random.Random(5)
ssl_context = ssl.create_default_context()
draws = {
    "random": random.random, "randint": lambda: random.randint(1, 6), "seeded": own.random, "bits": lambda: own.getrandbits(8),
    "RAND_bytes": lambda: ssl.RAND_bytes(8), "uuid1": uuid.uuid1, "check": guard.check,
    "wrap_bio": lambda: ssl_context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="name"),
}
try:
    import numpy
    draws["numpy"] = numpy.random.standard_normal
    draws["numpy's own"] = numpy.random.mtrand._rand.random_sample
except ImportError:
    pass
def notices(call):
    before = guard.status()["notices"]
    call()
    return guard.status()["notices"] - before
def change(number):
    with open(path, "r+b", buffering=0) as file:
        os.pwrite(file.fileno(), struct.pack("<Q", number), 104)
import pickle
assert pickle.loads(pickle.dumps(random.random)) is random.random
before = guard.status()
seen = {}
for number, (name, draw) in enumerate(draws.items(), 8):
    change(number)
    seen[name] = [notices(draw), notices(draw)]
content = bytearray(open(path, "rb").read())
content[104:112] = struct.pack("<Q", 77)
with open(path + ".next", "wb") as file:
    file.write(content)
os.chmod(path + ".next", 0o644)
os.rename(path + ".next", path)
replaced = [notices(random.random), notices(guard.check), notices(guard.check)]
change(7)
replaced.append(notices(random.random))
# Without the descriptor that reads the folder.
descriptors = [os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")]
own_threads = len(os.listdir("/proc/self/task"))
print(json.dumps([before["page"], before["notices"], seen, replaced, own_threads, path in descriptors]))
"""


def test_each_draw_hears_of_a_change_once_and_nothing_else_is_left_in_the_process(tmp_path: Path) -> None:
    [page_is_there, notices, seen, replaced, threads, has_descriptor] = run(WATCHED, page(tmp_path))[0]
    assert (page_is_there, notices) == (True, 0)
    assert {name: value for name, value in seen.items() if value != [1, 0]} == {}
    assert replaced == [0, 1, 0, 1]
    # NumPy's own arithmetic has threads.
    assert threads == 1 or "numpy" in seen
    assert not has_descriptor


# Threads that draw while one heals wait: none of them returns a number of the old state.
THREADS = """
import json, os, struct, sys, threading
import wellspring.clone_guard as guard
path = sys.argv[1]
guard.install(path)
import random
healing, go_on = threading.Event(), threading.Event()
def slow():
    healing.set()
    go_on.wait(60)
guard.register(slow)
stale = random.Random()
stale.setstate(random.getstate())
stale = [stale.random() for _ in range(8)]
with open(path, "r+b", buffering=0) as file:
    os.pwrite(file.fileno(), struct.pack("<Q", 99), 104)
drawn = []
threads = [threading.Thread(target=lambda: drawn.append(random.random())) for _ in range(8)]
threads[0].start()
healing.wait(60)
for thread in threads[1:]:
    thread.start()
early = len(drawn)
go_on.set()
for thread in threads:
    thread.join()
print(json.dumps([early, len(set(drawn)), bool(set(drawn) & set(stale)), guard.status()["notices"]]))
"""


def test_no_thread_draws_from_the_old_state_after_a_change(tmp_path: Path) -> None:
    assert run(THREADS, page(tmp_path)) == [[0, 8, False, 1]]


REPLACED = """
import json, sys
import wellspring.clone_guard as guard
guard.install(sys.argv[1])
import numpy, pickle
saved = pickle.dumps(numpy.random.mtrand._rand)
numpy.random.set_bit_generator(numpy.random.PCG64(5))
expected = numpy.random.RandomState(numpy.random.PCG64(5)).standard_normal()
guard.heal()
print(json.dumps([numpy.random.standard_normal() == expected, b"wellspring" in saved]))
"""


def test_a_bit_generator_that_the_program_gives_to_numpy_is_left_alone(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    assert run(REPLACED, page(tmp_path), errors="") == [[True, False]]


ENDED = """
import json, os, struct, sys
import wellspring.clone_guard as guard
path = sys.argv[1]
guard.install(path)
import random
class Panic(BaseException):
    "As that of a native half: no Exception."
raised = [KeyboardInterrupt(), Panic("one\\nof them")]
def ends():
    if raised:
        raise raised.pop(0)
guard.register(ends)
with open(path, "r+b", buffering=0) as file:
    os.pwrite(file.fileno(), struct.pack("<Q", 99), 104)
try:
    random.random()
except KeyboardInterrupt:
    random.random()
random.random()
print(json.dumps([len(raised), guard.status()["notices"]]))
"""


def test_a_healing_that_the_user_interrupts_is_made_again_and_no_other_error_comes_out_of_a_draw(tmp_path: Path) -> None:
    line = "wellspring.clone_guard: Panic: one of them\n"
    assert run(ENDED, page(tmp_path), errors=line) == [[0, 1]]


WITHOUT_CTYPES = """
import json, sys
import wellspring.clone_guard as guard
sys.modules["_ctypes"] = None
guard._start(sys.argv[1])
import random
print(json.dumps([random.random() < 1, guard.status()["page"]]))
"""


def test_a_python_without_ctypes_is_told_in_one_line(tmp_path: Path) -> None:
    line = "wellspring.clone_guard: steps aside: import of _ctypes halted; None in sys.modules\n"
    assert run(WITHOUT_CTYPES, page(tmp_path), errors=line) == [[True, False]]


FORKING = """
import json, os, struct, sys
import wellspring.clone_guard as guard
path = sys.argv[1]
guard.install(path)
import random
children = []
def forks():
    children.append(os.fork())
    if children[-1] == 0:
        random.random()
        os._exit(len(children))
guard.register(forks)
with open(path, "r+b", buffering=0) as file:
    os.pwrite(file.fileno(), struct.pack("<Q", 99), 104)
random.random()
print(json.dumps([len(children), os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]), guard.status()["notices"]]))
"""


def test_a_child_of_the_healing_goes_on_with_it_and_heals_no_second_time(tmp_path: Path) -> None:
    assert run(FORKING, page(tmp_path)) == [[1, 1, 1]]


# What the guard must leave as it is: a program in an environment for which it was installed.
HARMLESS = {
    "fork": "import os; os.waitpid(os.fork() or os._exit(0), 0)",
    "user namespace": "import ctypes; assert ctypes.CDLL(None).unshare(0x10000000) == 0",
    "interpreter": "import _testcapi; assert _testcapi.run_in_subinterp('import random; random.random()') == 0",
    "closed descriptors": "import os; os.closerange(3, 100); import random; random.random()",
    "chroot": "import os, random, tempfile; os.chroot(tempfile.mkdtemp()); random.random()",
    "saved": """
import copy, pickle, random
generator = random.Random(5)
assert copy.copy(pickle.loads(pickle.dumps(generator))).random() == generator.random()
""",
    "subclass": "import random\nclass R(random.Random):\n def random(self): return 0.5\nassert R().uniform(0, 2) == 1",
    "copies": """
import copy, random
[draw] = copy.deepcopy([random.random])
random.seed(3)
number = draw()
random.seed(3)
assert random.random() == number
""",
    "signatures": "import inspect, ssl; assert 'server_hostname' in inspect.signature(ssl.SSLContext.wrap_bio).parameters",
    "reload": """
import importlib, random
importlib.reload(random).random()
assert random.__spec__.loader is random.__loader__ and type(random.__loader__).__name__ != "_Loader"
""",
    "source": "import inspect, random; assert 'class Random' in inspect.getsource(random)",
    "threads": """
import threading
threads = [threading.Thread(target=__import__, args=[name]) for name in ("random", "ssl", "uuid")]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
""",
    "zip": """
import importlib.util, os, sys, tempfile, zipfile
folder = tempfile.mkdtemp()
archive = os.path.join(folder, "library.zip")
with zipfile.ZipFile(archive, "w") as z:
    z.write(importlib.util.find_spec("uuid").origin, "uuid.py")
    z.writestr("other.py", "value = 1")
sys.modules.pop("uuid", None)
sys.path.insert(0, archive)
import uuid, other
assert archive in uuid.__file__ and uuid.uuid1() and other.value == 1
""",
    "slots": "import random\nclass R(random.Random):\n __slots__ = ()\nR(5).random(), R().seed(7)",
    "recursion": "import random\ndef f(n): return random.random() if n == 0 else f(n - 1)\nf(900)",
    "modules": "import sys; assert not {'random', 'ssl', 'uuid', 'threading', 'ctypes'} & set(sys.modules)",
    "names": "import random; assert random.random.__name__ == 'random'",
    "isolated interpreter": """
import random
try:
    import _interpreters as i
except ImportError:
    import _xxsubinterpreters as i
i.run_string(i.create(), "import random; random.random()")
""",
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the package and the guard, and no page."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=120)
    packages = next(folder.glob("lib/python3*/site-packages"))
    shutil.copytree(Path(guard.__file__).parent, packages / "wellspring")
    python = folder / "bin/python"
    subprocess.run([python, "-m", "wellspring.clone_guard", "install"], check=True, capture_output=True, timeout=120)
    return python


@pytest.mark.parametrize("name", HARMLESS)
def test_a_program_that_did_not_ask_for_the_guard_runs_as_without_it(environment: Path, name: str) -> None:
    def ran(*options: str) -> tuple[int, str]:
        command = [environment, "-W", "error", *options, "-c", HARMLESS[name]]
        result = subprocess.run(command, capture_output=True, text=True, timeout=120)
        return result.returncode, result.stderr

    # -S leaves .pth files out.
    without = ran("-S")
    if without[0] != 0:
        pytest.skip(f"SKIPPED: the program fails without the guard too: {without[1]}")
    status, errors = ran()
    if name == "isolated interpreter":
        # No module with a native half is loaded there: one line says so.
        errors = "".join(line for line in errors.splitlines() if not line.startswith("wellspring.clone_guard steps aside: "))
    assert (status, errors) == without


def test_a_pth_file_that_survives_the_package_is_silent(environment: Path) -> None:
    packages = next(environment.parents[1].glob("lib/python3*/site-packages"))
    (packages / "wellspring").rename(packages / "away")
    try:
        result = subprocess.run([environment, "-c", "print(1)"], capture_output=True, text=True, timeout=120)
        assert (result.returncode, result.stdout, result.stderr) == (0, "1\n", "")
    finally:
        (packages / "away").rename(packages / "wellspring")


def test_a_native_half_that_cannot_be_loaded_is_one_line_of_warning(environment: Path) -> None:
    packages = next(environment.parents[1].glob("lib/python3*/site-packages"))
    native = next(packages.glob("wellspring/_native*.so"))
    library = native.read_bytes()
    try:
        native.unlink()
        native.write_bytes(b"no library")
        result = subprocess.run([environment, "-c", "print(1)"], capture_output=True, text=True, timeout=120)
        assert (result.returncode, result.stdout) == (0, "1\n")
        assert result.stderr.startswith("wellspring.clone_guard steps aside: ") and result.stderr.count("\n") == 1
        # Without a stream for errors, no line of the guard may go to the program's output.
        shell = ["sh", "-c", 'exec "$0" "$@" 2>&-', environment, "-c", "print(1)"]
        assert subprocess.run(shell, capture_output=True, text=True, timeout=120).stdout == "1\n"
    finally:
        native.write_bytes(library)


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
