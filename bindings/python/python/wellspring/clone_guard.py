"""Gives the generators of this process new state when its machine was cloned or restored.

A machine that is restored twice from one snapshot has two copies of every generator: `random.random()` gives the same
numbers in both. The guard compares the generation page (`clones/generation-page.md` of the project), which the host service
or `wellspring generation serve` changes after a clone, at each draw of

- `random`: the module's functions, and every `random.Random`;
- NumPy's global generator, if the guard is older than it;
- `ssl` (`RAND_bytes`, and each new connection) and `uuid.uuid1`.

After a change it gives new state to all of them, and to what the program has given to `register`. A generator with a seed,
or whose state was set, keeps its sequence. A generator that is older than the guard keeps its sequence unless it is
registered: the guard cannot see whether it has a seed. The guard starts no thread, keeps no descriptor of its own, and
makes no system call at a draw.

    import wellspring.clone_guard
    wellspring.clone_guard.install()                    # before others import `random` and `numpy.random`

    python -m wellspring.clone_guard install            # for all programs of this environment, by a .pth file

Until the page changes, both copies draw the same numbers.
"""

from __future__ import annotations

import os
import sys
import weakref
from _thread import RLock, get_ident

from wellspring._native import diverge_from_clones, token_bytes

# As in the package: an import of `typing` would take longer than all others.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["check", "heal", "install", "register", "status"]

DEFAULT_PAGE = "/run/wellspring/generation"
_PAGE_BYTES = 4096
_COUNTER = 104
_PTH = "wellspring_clone_guard.pth"
# One line, as a .pth file needs it. It may survive the package: then it does nothing. `site` reads it twice in a virtual
# environment, and the second try must not say the same again.
_PTH_PROGRAM = """try:
 from wellspring.clone_guard import _start
except ModuleNotFoundError:
 pass
except ImportError as error:
 sys.modules["wellspring.clone_guard"] = None
 sys.stderr and print("wellspring.clone_guard steps aside:", error, file=sys.stderr)
else:
 _start()"""


def _map(path: str) -> tuple[int, Any] | None:
    """Maps a page whose file this process may believe. Returns its inode, and memory whose element 0 is the number."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        import ctypes
        import stat
        import struct

        status = os.fstat(file)
        is_file = stat.S_ISREG(status.st_mode) and status.st_size == _PAGE_BYTES
        is_safe = status.st_uid in (0, os.geteuid()) and not status.st_mode & 0o022
        head = os.pread(file, 32, 0)
        if not (is_file and is_safe and len(head) == 32):
            return None
        magic, size, version, flags = struct.unpack("<4sIH14xQ", head)
        if magic != b"VCLK" or version != 1 or size < _COUNTER + 8 or not flags & 1 << 8:
            return None
        # Python's own mmap keeps a descriptor.
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        prot_read, map_shared = 1, 1
        address = libc.mmap(None, _PAGE_BYTES, prot_read, map_shared, file, 0)
        if address in (None, ctypes.c_void_p(-1).value):
            return None
        # A replaced page stays mapped: another thread may be reading it.
        number = (ctypes.c_char * 8).from_address(address + _COUNTER)
        return status.st_ino, memoryview(number).cast("B").cast("Q")
    except OSError:
        return None
    finally:
        os.close(file)


class _Guard:
    """The watched page, and the generators and functions that heal."""

    def __init__(self) -> None:
        self.path = DEFAULT_PAGE
        self.inode = 0
        # Without a page this never differs from what was handled.
        self.page: Any = [0]
        self.handled = 0
        self.notices = 0
        self.last_ms = 0.0
        self.is_installed = False
        self.healer = 0
        # Guards what follows, and the healing. Reentrant: a finalizer may make a generator while this thread holds it.
        self.lock = RLock()
        self.unseeded: dict[int, weakref.ref[Any]] = {}
        self.registered: list[Any] = []
        self.functions: list[Callable[[], object]] = []
        self.reseed_random: Callable[[Any, int], None] | None = None
        self.is_numpy_seeded = True
        self.numpy_generator: Any = None

    # -- which generators have no seed, and when they draw

    def note(self, generator: Any, has_seed: bool) -> None:
        key = id(generator)
        with self.lock:
            if has_seed:
                self.unseeded.pop(key, None)
            else:
                self.unseeded[key] = weakref.ref(generator, lambda _: self.unseeded.pop(key, None))

    def check_before(self, owner: Any, name: str) -> None:
        """Has a function compare the page first."""
        call = getattr(owner, name)

        def checked(*args: Any, **keywords: Any) -> Any:
            if self.page[0] != self.handled:
                self.notice()
            return call(*args, **keywords)

        setattr(owner, name, _named(checked, call))

    def watch_random(self, module: Any, is_older: bool) -> None:
        kind = module.Random
        seed, setstate = kind.seed, kind.setstate
        self.reseed_random = seed

        def noted_seed(generator: Any, a: Any = None, version: int = 2) -> None:
            seed(generator, a, version)
            self.note(generator, a is not None)

        def noted_setstate(generator: Any, state: Any) -> None:
            setstate(generator, state)
            self.note(generator, True)

        noted_seed.__doc__, noted_setstate.__doc__ = seed.__doc__, setstate.__doc__
        kind.seed, kind.setstate = noted_seed, noted_setstate
        draw, draw_bits = kind.random, kind.getrandbits

        # All other methods call these two. By `check_before` they would take twice the time.
        def random(generator: Any) -> float:
            if self.page[0] != self.handled:
                self.notice()
            number: float = draw(generator)
            return number

        def getrandbits(generator: Any, k: int) -> int:
            if self.page[0] != self.handled:
                self.notice()
            bits: int = draw_bits(generator, k)
            return bits

        kind.random, kind.getrandbits = _named(random, draw), _named(getrandbits, draw_bits)
        shared = module._inst
        module.seed, module.setstate = shared.seed, shared.setstate
        # No methods: copy.deepcopy copies the generator of a method, and of these it never did.
        module.random = _named(lambda: random(shared), draw)
        module.getrandbits = _named(lambda k: getrandbits(shared, k), draw_bits)
        for function in (module.random, module.getrandbits):
            function.__module__, function.__qualname__ = module.__name__, function.__name__
        if not is_older:
            self.note(shared, False)

    def watch_numpy(self, module: Any) -> None:
        if not hasattr(module, "set_bit_generator"):
            return
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
        # Each draw of the global generator, by whatever name, takes the lock of its bit generator.
        self.numpy_generator = _watched_numpy(module.MT19937)()
        module.set_bit_generator(self.numpy_generator)
        self.is_numpy_seeded = False

    def watch_ssl(self, module: Any) -> None:
        self.check_before(module, "RAND_bytes")
        self.check_before(module.SSLContext, "wrap_socket")
        self.check_before(module.SSLContext, "wrap_bio")

    def watch_uuid(self, module: Any) -> None:
        self.check_before(module, "uuid1")

    # -- healing

    def look(self) -> None:
        """Maps the page, if it is new."""
        try:
            inode = os.stat(self.path).st_ino
        except OSError:
            return
        if inode != self.inode and (mapped := _map(self.path)) is not None:
            had_page, (self.inode, page) = self.inode != 0, mapped
            # The state of this process is older than a page that came later.
            if not had_page:
                self.handled = page[0]
            self.page = page

    def notice(self) -> bool:
        """Heals if the number has changed. Other threads that draw wait for it."""
        with self.lock:
            number = self.page[0]
            if number == self.handled or self.healer == get_ident():
                return False
            self.healer = get_ident()
            try:
                self.heal()
                self.handled = number
            finally:
                self.healer = 0
            return True

    def heal(self) -> None:
        from time import perf_counter

        began = perf_counter()
        with self.lock:
            # The engine compares the page at the default path alone, and a program that calls this may have none.
            actions: list[tuple[Callable[..., object], Any]] = [(diverge_from_clones, None)]
            # A copy: a generator that ends meanwhile takes its entry away.
            generators = [one() for one in list(self.unseeded.values())]
            actions += [(self.reseed, one) for one in generators if one is not None]
            actions += [(self.reseed, one) for one in self.registered]
            actions += [(function, None) for function in self.functions]
        if self.numpy_generator is not None and not self.is_numpy_seeded:
            shared = sys.modules["numpy.random.mtrand"]._rand
            # The program may have replaced it.
            if shared._bit_generator is self.numpy_generator:
                actions.append((_reseed_legacy, shared))
        if (uuid := sys.modules.get("uuid")) is not None:
            actions.append((_heal_uuid, uuid))
        if (ssl := sys.modules.get("ssl")) is not None:
            actions.append((lambda ssl: ssl.RAND_add(token_bytes(32), 32.0), ssl))
        for action, argument in actions:
            try:
                action() if argument is None else action(argument)
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:  # One generator must not keep the others as they were, nor end the program.
                _say(f"{type(error).__name__}: {error}")
        self.notices += 1
        self.last_ms = 1e3 * (perf_counter() - began)

    def reseed(self, generator: Any) -> None:
        """Gives a generator of the standard library or of NumPy new state, in place."""
        bit_generators = sys.modules.get("wellspring.random._bit_generators")
        if bit_generators is not None and isinstance(generator, bit_generators.Engine):
            return
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

    def after_fork(self) -> None:
        self.lock = RLock()
        # Another thread that healed is not in the child, which heals at its next draw. This one goes on with it.
        if self.healer != get_ident():
            self.healer = 0
        # Python has reseeded its shared generator in the child.
        if (random := sys.modules.get("random")) is not None:
            self.note(random._inst, False)


def _say(text: str) -> None:
    """One line. A program may have no stream for errors."""
    try:
        if sys.stderr is not None:
            print("wellspring.clone_guard:", *text.split(), file=sys.stderr)
    except (OSError, ValueError):
        pass


def _named(function: Any, original: Any) -> Any:
    """Gives a function the name of the function that it calls, for documentation and for pickle."""
    function.__doc__, function.__name__ = original.__doc__, original.__name__
    function.__qualname__ = getattr(original, "__qualname__", original.__name__)
    function.__module__ = getattr(original, "__module__", None)
    function.__wrapped__ = original
    return function


def _fresh() -> int:
    """256 bits from the engine."""
    return int.from_bytes(token_bytes(32), "little")


def _reseed_legacy(generator: Any) -> None:
    number = _fresh()
    generator.seed([number >> shift & 0xFFFF_FFFF for shift in range(0, 256, 32)])


def _heal_uuid(uuid: Any) -> None:
    # A node that is not an address of a network card was drawn at random: RFC 9562, section 6.10.
    if (uuid._node or 0) & 1 << 40:
        uuid._node = None
    uuid._last_timestamp = None
    for name in ("_last_timestamp_v6", "_last_timestamp_v7", "_last_counter_v7"):
        if hasattr(uuid, name):
            setattr(uuid, name, 0 if name.startswith("_last_counter") else None)


def _watched_numpy(kind: Any) -> Any:
    """NumPy's MT19937, whose lock compares the page when a generator takes it."""

    class Lock:
        def __init__(self, lock: Any) -> None:
            self.acquire, self.release = lock.acquire, lock.release

        def __enter__(self) -> bool:
            if _guard.page[0] != _guard.handled:
                _guard.notice()
            acquired: bool = self.acquire()
            return acquired

        def __exit__(self, *_: object) -> None:
            self.release()

    class MT19937(kind):  # type: ignore[misc]
        __doc__ = kind.__doc__

        def __init__(self, seed: Any = None) -> None:
            super().__init__(seed)
            self._lock = Lock(super().lock)

        @property
        def lock(self) -> Any:
            return self._lock

        # What is saved needs no guard to be loaded.
        def __reduce__(self) -> tuple[Any, ...]:
            make, (name, *more), *rest = super().__reduce__()
            return make, (kind if isinstance(name, type) else name, *more), *rest

    return MT19937


class _Finder:
    """The first of the finders: has another one find a module, and shows it to the guard when the program imports it."""

    _WATCHED = ("random", "numpy.random", "ssl", "uuid")

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name not in self._WATCHED:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = find and find(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(name, spec.loader)
                return spec
        return None


class _Loader:
    """Loads a module as its own loader does, which may serve others too, and has the guard watch it."""

    def __init__(self, name: str, loader: Any) -> None:
        self.name = name
        self.loader = loader

    def create_module(self, spec: Any) -> Any:
        return self.loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        _watch(self.name, module, is_older=False)


def _watch(name: str, module: Any, is_older: bool) -> None:
    try:
        if name == "random":
            _guard.watch_random(module, is_older)
        elif name == "ssl":
            _guard.watch_ssl(module)
        elif name == "uuid":
            _guard.watch_uuid(module)
        elif not is_older:
            _guard.watch_numpy(module)
    except Exception as error:  # The program's import must not fail for it.
        _say(f"this {name} is not known: {type(error).__name__}: {error}")


_guard = _Guard()


def install(page: str = DEFAULT_PAGE) -> None:
    """Installs the guard. A second call does nothing.

    Call it before other modules import `random` and `numpy.random`: it cannot see whether older generators have a
    seed, and leaves them alone.
    """
    with _guard.lock:
        if _guard.is_installed:
            return
        _guard.is_installed = True
    _guard.path = page
    _guard.look()
    for name in _Finder._WATCHED:
        if (module := sys.modules.get(name)) is not None:
            _watch(name, module, is_older=True)
    sys.meta_path.insert(0, _Finder())
    os.register_at_fork(after_in_child=_guard.after_fork)


def _start(page: str = DEFAULT_PAGE) -> None:
    """Installs the guard in a program that did not ask for it. An error, such as a Python without ctypes, does not end it."""
    try:
        install(page)
    except Exception as error:
        _say(f"steps aside: {error}")


def register(generator: Any) -> None:
    """Marks a generator whose numbers need not repeat: it gets new state at a notice, whatever seed it had.

    Takes a `numpy.random.Generator`, `BitGenerator` or `RandomState`, a `random.Random`, or a function, which is then
    called. Draws of NumPy's generators do not compare the page: call `check` before a task that draws on them alone. The
    guard keeps it alive: NumPy's generators cannot be referred to weakly.

    Raises `TypeError` for anything else.
    """
    kind = type(generator)
    has_state = any(hasattr(kind, name) for name in ("bit_generator", "_bit_generator", "state", "setstate"))
    with _guard.lock:
        if has_state:
            _guard.registered.append(generator)
        elif callable(generator):
            _guard.functions.append(generator)
        else:
            raise TypeError(f"not a generator and not a function: {type(generator).__name__}")


def check() -> bool:
    """Compares the page now, even if it appeared or was replaced since the last look. Returns whether it had changed."""
    _guard.look()
    return _guard.notice()


def heal() -> None:
    """Does what a notice does: for a program that restores its own checkpoint and knows of it."""
    _guard.heal()


def status() -> dict[str, Any]:
    """What the guard watches: `page` (whether one is mapped), `notices`, `last_ms` (how long the last one took)."""
    return {"page": _guard.inode != 0, "notices": _guard.notices, "last_ms": _guard.last_ms}


def _main(words: list[str]) -> int:
    import site

    file = os.path.join(site.getsitepackages()[0], _PTH)
    try:
        if words == ["install"]:
            with open(file, "w") as target:
                target.write(f"import sys; exec({_PTH_PROGRAM!r})\n")
            print(f"every program of this environment has the guard now, by {file}")
        elif words == ["uninstall"]:
            os.remove(file)
        else:
            print("usage: python -m wellspring.clone_guard install | uninstall", file=sys.stderr)
            return 2
    except OSError as error:
        print(f"wellspring.clone_guard: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
