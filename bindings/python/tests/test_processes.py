"""Fork, multiprocessing, and other processes."""

import json
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import textwrap
from functools import partial

import numpy as np
import pytest

import wellspring
from wellspring import random as wr
from wellspring.random import Elements


def in_child(call):
    """What call returns, as bytes, in a child process made by fork."""
    read, write = os.pipe()
    process = os.fork()
    if process == 0:
        status = 1
        try:
            os.close(read)
            with os.fdopen(write, "wb") as pipe:
                pipe.write(call())
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    assert os.waitpid(process, 0)[1] == 0
    return data


def test_secrets_do_not_repeat_in_a_child():
    engine = np.random.Generator(wr.Engine())
    system_random = wellspring.SystemRandom()
    draws = {
        "token_bytes": lambda: wellspring.token_bytes(16),
        "randbits": lambda: wellspring.secrets.randbits(128).to_bytes(16, "little"),
        "SystemRandom": lambda: system_random.randbytes(16),
        "random": lambda: np.array([system_random.random() for _ in range(4)]).tobytes(),
        "Engine": lambda: engine.random(4).tobytes(),
        "Engine of 32 bits": lambda: engine.integers(0, 2**32, 4, dtype=np.uint32).tobytes(),
    }
    for name, draw in draws.items():
        draw()
        seen = {in_child(draw), in_child(draw), draw(), draw()}
        assert len(seen) == 4, name
        assert all(len(data) >= 16 for data in seen), name


# Methods that draw, each with arguments under which two draws are the same once in 2^40 or less.
RANDOM = {
    "betavariate": (2, 3), "binomialvariate": (10**15, 0.4), "choice": (range(2**60),), "choices": (range(2**60),),
    "expovariate": (1.0,), "gammavariate": (2, 3), "gauss": (0, 1), "getrandbits": (60,), "lognormvariate": (0, 1),
    "normalvariate": (0, 1), "paretovariate": (3,), "randbytes": (8,), "randint": (0, 2**60), "random": (),
    "randrange": (2**60,), "sample": (range(2**60), 2), "triangular": (0, 1), "uniform": (0, 1),
    "vonmisesvariate": (0, 1), "weibullvariate": (1, 2),
}  # fmt: skip


def drawn(generator, name, arguments, times=3):
    """Two calls leave a second number behind, if the first call of a pair does."""
    return [repr(getattr(generator, name)(*arguments)) for _ in range(times)]


def test_no_method_of_system_random_gives_a_child_what_it_gives_its_parent():
    public = {name for name in dir(random.Random) if not name.startswith("_") and callable(getattr(random.Random, name))}
    assert public - {"getstate", "setstate", "seed", "shuffle", "binomialvariate"} == RANDOM.keys() - {"binomialvariate"}

    class Mine(wellspring.SystemRandom):
        def lognormvariate(self, mu=0.0, sigma=1.0):
            return super().lognormvariate(mu, sigma) + 1

    def shuffled(generator):
        items = list(range(100))
        generator.shuffle(items)
        return repr(items)

    for generator in (wellspring.SystemRandom(), Mine(), wellspring.secrets._system_random):
        for name in public & RANDOM.keys():
            drawn(generator, name, RANDOM[name], 1)
            draw = partial(drawn, generator, name, RANDOM[name])
            seen = [*json.loads(in_child(lambda draw=draw: json.dumps(draw()).encode())), *draw()]
            assert len(set(seen)) == 6, (name, seen)
        shuffled(generator)
        assert in_child(lambda generator=generator: shuffled(generator).encode()) != shuffled(generator).encode()
        random.Random.gauss(generator, 0, 1)
        # A number that is kept can be drawn twice by threads and after any kind of copy, too.
        assert [value for value in vars(generator).values() if value is not None] == []


GENERATOR = {
    "beta": (2, 3), "bytes": (8,), "chisquare": (3,), "dirichlet": ([1, 2],), "exponential": (), "f": (3, 4), "gamma": (2,),
    "gumbel": (), "integers": (2**60,), "laplace": (), "logistic": (), "lognormal": (), "multivariate_normal": ([0], [[1]]),
    "noncentral_chisquare": (3, 1), "noncentral_f": (3, 4, 1), "normal": (), "pareto": (3,), "permutation": (100,),
    "power": (3,), "random": (), "rayleigh": (), "standard_cauchy": (), "standard_exponential": (), "standard_gamma": (2,),
    "standard_normal": (), "standard_t": (3,), "triangular": (0, 1, 2), "uniform": (), "vonmises": (0, 1), "wald": (1, 1),
    "weibull": (2,), "choice": (2**60,), "permuted": (range(100),), "binomial": (10**15, 0.4), "poisson": (1e15,),
    "multinomial": (10**15, [0.5, 0.5]), "negative_binomial": (10**9, 1e-6),
    "multivariate_hypergeometric": ([10**8, 10**8], 10**8),
}  # fmt: skip


def test_no_method_of_a_generator_over_the_engine_gives_a_child_what_it_gives_its_parent():
    generator = np.random.Generator(wr.Engine())
    for name, arguments in GENERATOR.items():
        drawn(generator, name, arguments, 1)
        draw = partial(drawn, generator, name, arguments)
        seen = [*json.loads(in_child(lambda draw=draw: json.dumps(draw()).encode())), *draw()]
        assert len(set(seen)) >= 5, (name, seen)
    # Numbers of 8, 16 and 32 bits: a half of a word must not wait for the next call.
    for dtype in (bool, np.uint8, np.int16, np.uint32):
        one = partial(generator.integers, 0, 2, 1, dtype=dtype)
        draw = lambda one=one: b"".join(one().tobytes() for _ in range(128))
        one()
        assert in_child(draw) != draw()


def test_the_number_that_numpys_random_state_keeps_is_the_one_that_the_documentation_names():
    legacy = np.random.RandomState(wr.Engine())
    legacy.standard_normal()
    draw = lambda: legacy.standard_normal(2).tobytes()
    child, parent = in_child(draw), draw()
    assert child[:8] == parent[:8] and child[8:] != parent[8:]
    assert in_child(lambda: legacy.random_sample(2).tobytes()) != legacy.random_sample(2).tobytes()


def test_streams_repeat_in_a_child_as_those_of_numpy_do():
    bit_generator = wr.ChaCha8(5)
    bit_generator.random_raw(3)
    assert in_child(lambda: bytes(bit_generator.bytes(64))) == bit_generator.bytes(64)


def test_arrays_are_the_same_in_a_child_that_starts_threads():
    Elements(5, threads=4).random(1_000_000)
    expected = Elements(5).random(1_000_000)
    assert in_child(lambda: Elements(5, threads=4).random(1_000_000).tobytes()) == expected.tobytes()


def part_of_elements(first):
    return Elements(5, "1/2").standard_normal(1000, first=first)


def numbers_of_child(bit_generator):
    return np.random.Generator(bit_generator).random(100)


def token(_):
    return wellspring.token_bytes(16)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_pools_of_processes(method):
    context = multiprocessing.get_context(method)
    with context.Pool(3) as pool:
        parts = pool.map(part_of_elements, range(0, 10_000, 1000), chunksize=1)
        np.testing.assert_array_equal(np.concatenate(parts), Elements(5, "1/2").standard_normal(10_000))
        children = wr.ChaCha8(5).spawn(6)
        numbers = pool.map(numbers_of_child, children, chunksize=1)
        for path, row in enumerate(numbers):
            np.testing.assert_array_equal(row, numbers_of_child(wr.ChaCha8(5, path=(path,))))
        assert len(set(pool.map(token, range(100), chunksize=1))) == 100


def run(code, *options):
    command = [sys.executable, *options, "-c", textwrap.dedent(code)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_the_package_works_without_numpy():
    result = run(
        """
        import sys
        sys.modules["numpy"] = None  # An import of it fails.
        import array
        import wellspring
        import wellspring.random
        from wellspring.random import Elements
        assert len(wellspring.token_bytes()) == 32 and 0 <= wellspring.SystemRandom().random() < 1
        elements = Elements(5, "1/2")
        out = elements.standard_normal(out=array.array("d", bytes(80)))
        assert len(set(out)) == 10 and elements.standard_normal() == out[0]
        assert elements.integers(10, out=bytearray(100)) and len(elements.bytes(7)) == 7
        view = memoryview(array.array("f", bytes(48))).cast("B").cast("f", (3, 4))
        assert elements.random(out=view, at=(1, 1), of=(10, 10)) is view
        for call in (lambda: elements.random(5), lambda: wellspring.random.ChaCha8, lambda: wellspring.random.default_rng):
            try:
                call()
            except ImportError as error:
                assert "NumPy" in str(error)
            else:
                raise AssertionError("no ImportError")
        print("fine")
        """
    )
    assert result.stdout == "fine\n", result.stderr


def test_an_import_loads_no_numpy_and_few_modules():
    result = run("import sys, wellspring, wellspring.random; print('numpy' in sys.modules)")
    assert result.stdout == "False\n", result.stderr


def test_the_standard_library_is_not_hidden():
    result = run("import random, secrets, wellspring.secrets; print(random.__file__ != wellspring.secrets.__file__)")
    assert result.stdout == "True\n", result.stderr


def test_the_end_of_the_interpreter_while_threads_draw_is_quiet():
    result = run(
        """
        import threading, time
        from wellspring.random import Elements, default_rng
        rng = default_rng(5)
        def draw():
            while True:
                Elements(5).standard_normal(300_000)
                rng.random(1000)
        for _ in range(4):
            threading.Thread(target=draw, daemon=True).start()
        time.sleep(0.3)
        """
    )
    assert result.returncode == 0 and result.stderr == "", result.stderr


# Preloaded: each thread takes a second to end after its work.
SLOW_ENDS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct work { void *(*run)(void *); void *argument; };

static void *run_and_wait(void *start) {
    struct work work = *(struct work *)start;
    free(start);
    void *result = work.run(work.argument);
    sleep(1);
    return result;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
    struct work *work = malloc(sizeof *work);
    *work = (struct work){run, argument};
    return create(thread, attributes, run_and_wait, work);
}
"""


def test_threads_of_an_array_have_ended_when_the_call_returns(tmp_path, monkeypatch):
    # fork(2) and unshare(2) still count a thread that is ending: Python 3.12 warns of the fork, and unshare fails.
    if shutil.which("cc") is None:
        pytest.skip("SKIPPED: cc is not installed")
    source, library = tmp_path / "slow.c", tmp_path / "slow.so"
    source.write_text(SLOW_ENDS)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    result = run(
        """
        import os
        from wellspring.random import Elements
        name = Elements(5, threads=8)
        print(min(len(os.listdir("/proc/self/task")) for _ in range(5) if name.bytes(4_000_000)))
        """
    )
    # The kernel itself may list a thread for a moment after its end, and not five times.
    assert result.stdout == "1\n", (result.stdout, result.stderr)
