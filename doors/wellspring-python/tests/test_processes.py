"""Fork, multiprocessing, and other processes."""

import multiprocessing
import os
import subprocess
import sys
import textwrap

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
