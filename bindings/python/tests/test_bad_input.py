"""Wrong arguments: the error has the type that NumPy users expect, and names the argument."""

import array
import pickle

import numpy as np
import pytest

from wellspring.random import ChaCha8, Elements, default_rng

E = Elements(5)
READ_ONLY = np.empty(10)
READ_ONLY.flags.writeable = False

TYPE_ERRORS = [
    ("seed", lambda: Elements("abc")),
    ("seed", lambda: Elements(1.5)),
    ("seed", lambda: Elements([1, 2])),
    ("path", lambda: Elements(1, 5.0)),
    ("path", lambda: Elements(1, (1.5,))),
    ("path", lambda: Elements(np.random.SeedSequence(1), "1")),
    ("path", lambda: default_rng(np.random.default_rng(1), path="3")),
    ("path", lambda: default_rng(ChaCha8(1), path=(3,))),
    ("path", lambda: default_rng(np.random.PCG64(1), path=np.array([3]))),
    ("algorithm", lambda: Elements(1, (), 5)),
    ("threads", lambda: Elements(1, threads=1.5)),
    ("size", lambda: E.random("abc")),
    ("size", lambda: E.random(1.5)),
    ("size", lambda: E.random((1, 1.5))),
    ("dtype", lambda: E.random(5, "int64")),
    ("dtype", lambda: E.random(5, "float16")),
    ("dtype", lambda: E.random(5, ">f8")),
    ("dtype", lambda: E.integers(5, size=5, dtype="float64")),
    ("dtype", lambda: E.integers(5, size=5, dtype=bool)),
    ("dtype", lambda: E.random(out=np.empty(5), dtype="float32")),
    ("dtype", lambda: E.random(out=array.array("d", [0]), dtype="float64")),
    ("first", lambda: E.random(5, first=1.5)),
    ("at", lambda: E.random(5, at=1.5, of=10)),
    ("of", lambda: E.random(5, at=1, of="x")),
    ("out", lambda: E.random(out=5)),
    ("out", lambda: E.random(out=[1.0, 2.0])),
    ("out", lambda: E.random(out=np.empty(5, int))),
    ("out", lambda: E.random(out=np.empty(5, ">f8"))),
    ("out", lambda: E.random(out=np.empty(5, complex))),
    ("out", lambda: E.random(out=np.empty(5, object))),
    ("out", lambda: E.random(out=bytearray(8))),
    ("out", lambda: E.random(out=array.array("q", [0]))),
    ("out", lambda: E.integers(5, out=np.empty(5))),
    ("out", lambda: E.integers(5, out=np.empty(5, bool))),
    ("out", lambda: E.permutation(5, out=np.empty(5, np.uint64))),
    ("out", lambda: E.fill(5)),
    ("low", lambda: E.uniform("a", 2)),
    ("high", lambda: E.uniform(1, None)),
    ("low", lambda: E.integers(1.5)),
    ("high", lambda: E.integers(1, 2.5)),
    ("loc", lambda: E.normal("a")),
    ("scale", lambda: E.exponential([1])),
    ("x", lambda: E.permutation(1.5)),
    ("size", lambda: E.permutation(np.arange(5), 3)),
    ("child", lambda: Elements(np.random.SeedSequence(1)).child(1)),
]

VALUE_ERRORS = [
    ("seed", lambda: Elements(-1)),
    ("seed", lambda: Elements(1 << 128)),
    ("path", lambda: Elements(1, "")),
    ("path", lambda: Elements(1, "1//2")),
    ("path", lambda: Elements(1, (1 << 32,))),
    ("path", lambda: Elements(1, (-1,))),
    ("algorithm", lambda: Elements(1, (), "chacha9")),
    ("algorithm 'xoshiro256[+][+]': arrays need a function of a counter", lambda: Elements(1, (), "xoshiro256++")),
    ("threads", lambda: Elements(1, threads=0)),
    ("size", lambda: E.random(-1)),
    ("size", lambda: E.random((2, -1))),
    ("size", lambda: E.random(4, out=np.empty(5))),
    ("size", lambda: E.random((5, 1), out=np.empty(5))),
    ("size", lambda: E.random(4, out=array.array("d", [0]))),
    ("first", lambda: E.random(5, first=-1)),
    ("first", lambda: E.fill(bytearray(5), first=1 << 128)),
    ("first", lambda: E.random(5, first=2**64 - 2)),
    ("first", lambda: E.integers(5, size=(2, 2), first=2**64 - 3)),
    ("at and of", lambda: E.random(5, at=3)),
    ("at and of", lambda: E.random(5, of=3)),
    ("at, of", lambda: E.random(5, at=(1, 1), of=(10, 10))),
    ("not inside", lambda: E.random(5, at=6, of=10)),
    ("of", lambda: E.random((1, 1), at=(0, 0), of=(2**33, 2**33))),
    ("out is read-only", lambda: E.random(out=READ_ONLY)),
    ("out is read-only", lambda: E.random(out=np.broadcast_to(np.empty(1), 5))),
    ("out is read-only", lambda: E.fill(b"123")),
    ("out is read-only", lambda: E.integers(5, out=memoryview(b"12345"))),
    ("out is not C-contiguous", lambda: E.fill(memoryview(bytearray(10))[::2])),
    ("out is not C-contiguous", lambda: E.random(out=memoryview(array.array("d", [0] * 10))[::2])),
    ("out is not aligned", lambda: E.random(out=memoryview(bytearray(17))[1:].cast("d"))),
    ("low >= high", lambda: E.integers(0)),
    ("low >= high", lambda: E.integers(5, 5, 3)),
    ("low > high", lambda: E.integers(5, 4, 3, endpoint=True)),
    ("high is out of bounds for int8", lambda: E.integers(0, 129, 3, "int8")),
    ("low is out of bounds for uint16", lambda: E.integers(-1, 5, 3, "uint16")),
    ("high is out of bounds for int64", lambda: E.integers(0, 2**63 + 1, 3)),
    ("high is out of bounds", lambda: E.integers(0, 2**64 + 1, 3, "uint64")),
    ("low is out of bounds", lambda: E.integers(-(2**63) - 1, 5, 3)),
    ("low", lambda: E.uniform(float("nan"), 2)),
    ("high", lambda: E.uniform(1, float("inf"))),
    ("scale", lambda: E.normal(0, -1)),
    ("scale", lambda: E.exponential(-0.5)),
    ("scale", lambda: E.exponential(float("nan"))),
    ("x", lambda: E.permutation(-1)),
    ("x must be from", lambda: E.permutation(2**63, 5)),
    ("length", lambda: E.bytes(-1)),
]


@pytest.mark.parametrize("case", range(len(TYPE_ERRORS)))
def test_a_wrong_type_is_a_type_error_that_names_the_argument(case):
    name, call = TYPE_ERRORS[case]
    with pytest.raises(TypeError, match=rf"\b{name}\b"):
        call()


@pytest.mark.parametrize("case", range(len(VALUE_ERRORS)))
def test_a_wrong_value_is_a_value_error_that_names_the_argument(case):
    name, call = VALUE_ERRORS[case]
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        call()


def test_a_range_without_a_finite_width_is_refused():
    with pytest.raises(OverflowError, match="high - low"):
        E.uniform(-1.7e308, 1.7e308, 3)


def test_a_refused_out_is_untouched():
    out = np.full(5, 7.0)
    calls = (
        lambda: E.random(4, out=out),
        lambda: E.random(out=out, first=2**64 - 2),
        lambda: E.integers(5, out=out),
    )
    for call in calls:
        with pytest.raises((TypeError, ValueError)):
            call()
    assert (out == 7).all()


def test_more_memory_than_there_is_is_a_memory_error():
    with pytest.raises(MemoryError):
        E.random(1 << 58)
    with pytest.raises((MemoryError, OverflowError, ValueError)):
        E.random((1 << 40, 1 << 40))


def test_a_damaged_pickle_is_an_error():
    data = pickle.dumps(E).replace(b"chacha8", b"chacha9")
    with pytest.raises(ValueError, match="algorithm"):
        pickle.loads(data)
