"""Gives the generators of this process new state when its machine was cloned or restored.

A machine that is restored twice from one snapshot has two copies of every generator: `random.random()` gives the same
numbers in both. The guard watches the generation page (`docs/generation-page.md` of the project), which the host service
or `wellspring generation serve` changes after a clone. A thread waits for the change, and then reseeds:

- the generator of the module `random`, and every `random.Random()` without a seed, with those of `tempfile`;
- NumPy's global generator, if the program has not seeded it;
- what the program has given to `register`, and OpenSSL's generator, by `ssl.RAND_add`;
- the node and the last time stamp of `uuid.uuid1`, if the node was a random one.

A generator with a seed, or whose state was set, keeps its sequence. So does one that is older than this package, unless it
is registered: whether it has a seed is not known.

    import wellspring.clone_guard
    wellspring.clone_guard.install()                    # before others import `random` and `numpy.random`

    python -m wellspring.clone_guard install            # for all programs of this environment, by a .pth file

What is drawn between the restore and the notice is the same in both copies.
"""

from __future__ import annotations

import ctypes
import importlib.abc
import importlib.util
import os
import stat
import struct
import sys
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import wellspring
from wellspring._native import diverge_from_clones, token_bytes

__all__ = ["heal", "install", "register", "status"]

DEFAULT_PAGE = "/run/wellspring/generation"
_PAGE_BYTES = 4096
_COUNTER = 104
# The longest sleep: a writer may not wake those who wait, and a page may appear or be replaced.
_LOOK_S = 1.0
_FUTEX = {"x86_64": 202, "aarch64": 98, "riscv64": 98, "s390x": 238}.get(os.uname().machine)
_FUTEX_WAIT = 0

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class _Page:
    """A mapped page, whose file this process may believe."""

    def __init__(self, file: int, inode: int) -> None:
        prot_read, map_shared = 1, 1
        address = _libc.mmap(None, _PAGE_BYTES, prot_read, map_shared, file, 0)
        if address in (None, ctypes.c_void_p(-1).value):
            raise OSError(ctypes.get_errno(), "mmap")
        self.address: int = address
        self.inode = inode

    @staticmethod
    def open(path: str) -> _Page | None:
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return None
        try:
            status = os.fstat(file)
            is_file = stat.S_ISREG(status.st_mode) and status.st_size == _PAGE_BYTES
            is_safe = status.st_uid in (0, os.geteuid()) and not status.st_mode & 0o022
            head = os.pread(file, 32, 0)
            if not (is_file and is_safe and len(head) == 32):
                return None
            magic, size, version, flags = struct.unpack("<4sIH14xQ", head)
            if magic != b"VCLK" or version != 1 or size < _COUNTER + 8 or not flags & 1 << 8:
                return None
            return _Page(file, status.st_ino)
        except OSError:
            return None
        finally:
            os.close(file)

    def number(self) -> int:
        return ctypes.c_uint64.from_address(self.address + _COUNTER).value

    def wait(self, number: int) -> None:
        """Sleeps until the number may be another one, at most `_LOOK_S`."""
        lower = 4 if sys.byteorder == "big" else 0
        expected = ctypes.c_uint32(number & 0xFFFF_FFFF)
        limit = (ctypes.c_long * 2)(int(_LOOK_S), int(_LOOK_S % 1 * 1e9))
        word = ctypes.c_void_p(self.address + _COUNTER + lower)
        if _FUTEX is None or ctypes.sizeof(ctypes.c_long) != 8:
            time.sleep(_LOOK_S / 10)
        else:
            _libc.syscall(ctypes.c_long(_FUTEX), word, _FUTEX_WAIT, expected, limit, None, 0)

    def close(self) -> None:
        _libc.munmap(self.address, _PAGE_BYTES)


class _Guard:
    """What is watched, and what is healed."""

    def __init__(self) -> None:
        self.path = DEFAULT_PAGE
        self.page: _Page | None = None
        self.handled = 0
        self.notices = 0
        self.last_ms = 0.0
        self.is_installed = False
        self.has_page = False
        # Guards the three below. Reentrant: a finalizer may make a generator while this thread holds it.
        self.lock = threading.RLock()
        self.unseeded: dict[int, weakref.ref[Any]] = {}
        self.registered: list[Any] = []
        self.functions: list[Callable[[], object]] = []
        self.reseed_random: Callable[[Any, int], None] | None = None
        self.is_numpy_seeded = True

    # -- which generators have no seed

    def note(self, generator: Any, has_seed: bool) -> None:
        key = id(generator)
        with self.lock:
            if has_seed:
                self.unseeded.pop(key, None)
            else:
                self.unseeded[key] = weakref.ref(generator, lambda _: self.unseeded.pop(key, None))

    def watch_random(self) -> None:
        import random


        seed, setstate = random.Random.seed, random.Random.setstate
        self.reseed_random = seed

        def noted_seed(generator: Any, a: Any = None, version: int = 2) -> None:
            seed(generator, a, version)
            self.note(generator, a is not None)

        def noted_setstate(generator: Any, state: Any) -> None:
            setstate(generator, state)
            self.note(generator, True)

        noted_seed.__doc__, noted_setstate.__doc__ = seed.__doc__, setstate.__doc__
        setattr(random.Random, "seed", noted_seed)
        setattr(random.Random, "setstate", noted_setstate)
        shared = random._inst
        random.seed, random.setstate = shared.seed, shared.setstate
        if not wellspring._random_is_older:
            self.note(shared, False)

    def watch_numpy(self, module: Any) -> None:
        seed, set_state = module.seed, module.set_state

        def noted_seed(value: Any = None) -> None:
            seed(value)
            self.is_numpy_seeded = value is not None

        def noted_set_state(state: Any) -> None:
            set_state(state)
            self.is_numpy_seeded = True

        noted_seed.__doc__, noted_set_state.__doc__ = seed.__doc__, set_state.__doc__
        for where in (module, module.mtrand):
            where.seed, where.set_state = noted_seed, noted_set_state
        self.is_numpy_seeded = False

    # -- healing

    def heal(self) -> None:
        began = time.perf_counter()
        # The engine compares the page at the default path alone, and a program that calls this may have none.
        diverge_from_clones()
        with self.lock:
            # A copy: a generator that ends meanwhile takes its entry away.
            generators = [one() for one in list(self.unseeded.values())]
            actions: list[Callable[[], object]] = [partial(self.reseed, one) for one in generators if one is not None]
            actions += [partial(self.reseed, one) for one in self.registered]
            actions += self.functions
        numpy_random = sys.modules.get("numpy.random")
        if numpy_random is not None and not self.is_numpy_seeded:
            actions.append(partial(_reseed_legacy, numpy_random.mtrand._rand))
        if (uuid := sys.modules.get("uuid")) is not None:
            actions.append(partial(_heal_uuid, uuid))
        if (ssl := sys.modules.get("ssl")) is not None:
            actions.append(lambda: ssl.RAND_add(token_bytes(32), 32.0))
        for action in actions:
            try:
                action()
            except Exception as error:  # One generator must not keep the others as they were.
                sys.excepthook(type(error), error, error.__traceback__)
        self.notices += 1
        self.last_ms = 1e3 * (time.perf_counter() - began)

    def reseed(self, generator: Any) -> None:
        """Gives a generator of the standard library or of NumPy new state, in place."""
        if hasattr(generator, "bit_generator"):
            self.reseed(generator.bit_generator)
        elif hasattr(generator, "_bit_generator"):
            _reseed_legacy(generator)
        elif hasattr(generator, "lock") and hasattr(generator, "state"):
            state = type(generator)(_fresh()).state
            with generator.lock:
                generator.state = state
        else:
            seed = self.reseed_random or type(generator).seed
            seed(generator, _fresh())

    # -- the thread

    def look(self) -> None:
        """Maps a page that is new, and heals if the number is another one."""
        try:
            inode = os.stat(self.path).st_ino
        except OSError:
            inode = 0
        if inode and (self.page is None or inode != self.page.inode):
            page = _Page.open(self.path)
            if page is not None:
                old, self.page = self.page, page
                if old is not None:
                    old.close()
                # The state of this process is older than a page that came later.
                if not self.has_page:
                    self.handled = page.number()
                self.has_page = True
        if self.page is not None and (number := self.page.number()) != self.handled:
            self.handled = number
            self.heal()

    def run(self) -> None:
        while True:
            self.look()
            if self.page is None:
                time.sleep(_LOOK_S)
            else:
                self.page.wait(self.handled)

    def start(self) -> None:
        threading.Thread(target=self.run, name="wellspring-clone-guard", daemon=True).start()

    def after_fork(self) -> None:
        # Python has reseeded its shared generator in the child.
        self.lock = threading.RLock()
        self.note(sys.modules["random"]._inst, False)
        self.start()


def _fresh() -> int:
    """256 bits from the engine."""
    return int.from_bytes(token_bytes(32), "little")


def _reseed_legacy(generator: Any) -> None:
    generator.seed(list(struct.unpack("<8I", token_bytes(32))))


def _heal_uuid(uuid: Any) -> None:
    # A node that is no address of a network card was drawn at random: RFC 9562, section 6.10.
    if (uuid._node or 0) & 1 << 40:
        uuid._node = None
    uuid._last_timestamp = None
    for name in ("_last_timestamp_v6", "_last_timestamp_v7", "_last_counter_v7"):
        if hasattr(uuid, name):
            setattr(uuid, name, 0 if name.startswith("_last_counter") else None)


class _NumpyFinder(importlib.abc.MetaPathFinder):
    """Lets the guard see whether the program seeds NumPy's global generator."""

    is_searching = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "numpy.random" or self.is_searching:
            return None
        self.is_searching = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.is_searching = False
        if spec is None or spec.loader is None:
            return None
        loader, execute = spec.loader, spec.loader.exec_module

        def watched(module: Any) -> None:
            execute(module)
            _guard.watch_numpy(module)

        loader.exec_module = watched  # type: ignore[method-assign]
        return spec


_guard = _Guard()


def install(page: str = DEFAULT_PAGE) -> None:
    """Starts the guard: a thread that sleeps until the page changes. A second call does nothing.

    Call it before other modules import `random` and `numpy.random`: of generators that are older it does not know
    whether they have a seed, and leaves them alone.
    """
    with _guard.lock:
        if _guard.is_installed:
            return
        _guard.is_installed = True
    _guard.path = page
    _guard.watch_random()
    if "numpy.random" not in sys.modules:
        sys.meta_path.insert(0, _NumpyFinder())
    _guard.look()
    _guard.start()
    os.register_at_fork(after_in_child=_guard.after_fork)


def register(generator: Any) -> None:
    """Marks a generator as one whose numbers need not repeat: it gets new state at a notice, whatever seed it had.

    Takes a `numpy.random.Generator`, `BitGenerator` or `RandomState`, a `random.Random`, or a function, which is then
    called. The guard keeps it alive: NumPy's generators cannot be referred to weakly.

    Raises `TypeError` for anything else.
    """
    has_state = any(hasattr(generator, name) for name in ("bit_generator", "_bit_generator", "state", "setstate"))
    with _guard.lock:
        if has_state:
            _guard.registered.append(generator)
        elif callable(generator):
            _guard.functions.append(generator)
        else:
            raise TypeError(f"not a generator and not a function: {type(generator).__name__}")


def heal() -> None:
    """Does what a notice does: for a program that restores its own checkpoint and knows of it."""
    _guard.heal()


def status() -> dict[str, Any]:
    """What the guard watches: `page` (whether one is mapped), `notices`, `last_ms` (how long the last one took)."""
    return {"page": _guard.page is not None, "notices": _guard.notices, "last_ms": _guard.last_ms}


def _main(words: list[str]) -> int:
    import site

    file = os.path.join(site.getsitepackages()[0], "wellspring_clone_guard.pth")
    if words == ["install"]:
        with open(file, "w") as target:
            target.write("import wellspring.clone_guard; wellspring.clone_guard.install()\n")
        print(f"every program of this environment has the guard now, by {file}")
    elif words == ["uninstall"]:
        os.remove(file)
    else:
        print("usage: python -m wellspring.clone_guard install | uninstall", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
