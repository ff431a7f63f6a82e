"""Wrong arguments: the error has the type that NumPy users expect, and names the argument; nothing is changed."""

import array
import collections
import ctypes
import mmap
import pickle
import subprocess
import sys

import numpy as np
import pytest

import wellspring
from wellspring import random
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
    ("scale", lambda: E.exponential(["a"])),
    ("n must be integers", lambda: E.binomial([1.5], 0.5)),
    ("low must be integers", lambda: E.integers([1.5], 5)),
    ("p must be numbers", lambda: E.choice(2, p=["a", "b"])),
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
    ("scale", lambda: E.normal(0, [1, 2, -1])),
    ("loc", lambda: E.normal([0, float("nan")], 1)),
    ("high - low", lambda: E.uniform([0, 3], [1, 2])),
    ("size", lambda: E.normal([0, 1], 1, 3)),
    ("size", lambda: E.normal([0, 1], 1, out=np.empty(3))),
    ("not go together", lambda: E.normal([0, 1], [1, 2, 3])),
    ("low >= high", lambda: E.integers([0, 5], [5, 5])),
    ("low > high", lambda: E.integers([0, 5], [5, 4], endpoint=True)),
    ("high is out of bounds for uint8", lambda: E.integers([0, 5], [257, 5], dtype="uint8")),
    ("low is out of bounds for uint8", lambda: E.integers([-1, 5], 6, dtype="uint8")),
    ("lam", lambda: E.poisson([1.0, -1.0])),
    ("left > mode", lambda: E.triangular([0, 2], 1, 3)),
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


BIG = 1 << 80

# Everything that writes raw bytes.
FILLS = {
    "wellspring.fill": wellspring.fill,
    "Elements.fill": E.fill,
    "Engine.fill": lambda out: random.Engine().fill(out),
    "ChaCha8.fill": lambda out: random.ChaCha8(1).fill(out),
    "Xoshiro256PlusPlus.fill": lambda out: random.Xoshiro256PlusPlus(1).fill(out),
}
fills = pytest.mark.parametrize("fill", FILLS.values(), ids=FILLS)


class Structure(ctypes.Structure):
    _fields_ = (("a", ctypes.c_int), ("b", ctypes.py_object))


class Union(ctypes.Union):
    _fields_ = (("a", ctypes.c_int), ("b", ctypes.py_object))


class Numbers(ctypes.Structure):
    _fields_ = (("Oz", ctypes.c_int * 9), ("O", ctypes.c_double))


class Colons(ctypes.Structure):
    """Its format hides the object in what looks like the name of a field: T{<l:a:<O:b:}."""

    _fields_ = (("a:<l", ctypes.c_long), ("b", ctypes.py_object))


class Colon(ctypes.Structure):
    _fields_ = (("a:", ctypes.c_long), (":b", ctypes.py_object))


class Nested(ctypes.Structure):
    _fields_ = (("a", Colons * 2),)


def padding():
    """A part of records whose other bytes, pointers to objects, are padding in its format."""
    records = np.zeros(3, [("a", "i8"), ("b", object)])
    records["b"] = [[1], [2], [3]]
    return records[["a"]]


# Memory in which not all bits are a value.
NOT_NUMBERS = {
    "objects": lambda: np.array([{}, []], object),
    "objects in records": lambda: np.zeros(3, [("a", "i4"), ("b", object)]),
    "objects in records in records": lambda: np.zeros(3, [("a", [("b", object)])]),
    "arrays of objects in records": lambda: np.zeros(3, [("a", object, (2, 2))]),
    "booleans": lambda: np.zeros(5, bool),
    "booleans in records": lambda: np.zeros(3, [("a", "i4"), ("b", bool)]),
    "text": lambda: np.array(["abc", "d"]),
    "text of the standard library": lambda: array.array("u", "abc"),
    "dates": lambda: np.zeros(3, "M8[s]"),
    "pointers to objects": lambda: memoryview((ctypes.py_object * 3)(1, 2, 3)),
    "pointers to text": lambda: memoryview((ctypes.c_char_p * 3)(b"a", b"b", b"c")),
    "pointers to wide text": lambda: memoryview((ctypes.c_wchar_p * 3)("a", "b", "c")),
    "pointers": lambda: memoryview((ctypes.c_void_p * 3)(1, 2, 3)),
    "pointers to numbers": lambda: memoryview((ctypes.POINTER(ctypes.c_int) * 3)()),
    "pointers to functions": lambda: memoryview((ctypes.CFUNCTYPE(None) * 3)()),
    "C structures with an object": lambda: memoryview((Structure * 3)((1, "x"), (2, "y"), (3, "z"))),
    "C unions with an object": lambda: memoryview((Union * 3)()),
    "C structures with an object and colons": lambda: memoryview((Colons * 3)((1, "x"), (2, "y"), (3, "z"))),
    "C structures with an object between colons": lambda: memoryview((Colon * 3)((1, "x"), (2, "y"), (3, "z"))),
    "C structures in structures with colons": lambda: memoryview((Nested * 3)()),
    "C structures of numbers": lambda: memoryview((Numbers * 3)()),
    "C structures alone": lambda: memoryview(Colons(1, "x")),
    "C booleans": lambda: memoryview((ctypes.c_bool * 3)()),
    "records of numbers": lambda: np.zeros(100, [("a", "i4"), ("b", "f8", (2,)), ("c c", "S3"), ("d", [("e", "c16")])]),
    "records without their objects": padding,
    "bytes without a type": lambda: np.zeros(100, "V5"),
    "C structures without a view": lambda: (Structure * 3)((1, "x"), (2, "y"), (3, "z")),
}

NUMBERS = {
    "records of numbers as bytes": lambda: np.zeros(100, [("a", "i4"), ("b", "f8", (2,))]).view(np.uint8),
    "complex numbers": lambda: np.zeros(100, complex),
    "numbers in foreign order": lambda: np.zeros(100, ">i4"),
    "half floats": lambda: np.zeros(100, "f2"),
    "bytes": lambda: np.zeros(100, "S7"),
    "long floats": lambda: np.zeros(100, "g"),
    "complex numbers of long floats": lambda: np.zeros(100, "G"),
    "all numbers of C": lambda: np.zeros(100, "l"),
    "unsigned numbers in foreign order": lambda: np.zeros(100, ">u8"),
    "bytearray": lambda: bytearray(100),
    "memoryview": lambda: memoryview(bytearray(100)).cast("I"),
    "mmap": lambda: mmap.mmap(-1, 100),
    "C numbers": lambda: memoryview((ctypes.c_double * 20)()),
    "C numbers in foreign order": lambda: memoryview((ctypes.c_double.__ctype_be__ * 20)()),
    "C numbers in two dimensions": lambda: memoryview((ctypes.c_long * 3 * 2)()),
    "two dimensions": lambda: np.zeros((10, 10), np.uint8),
    "matrix": lambda: np.asmatrix(np.zeros((10, 10))),
    "masked": lambda: np.ma.zeros(100),
}


@fills
@pytest.mark.parametrize("make", NOT_NUMBERS.values(), ids=NOT_NUMBERS)
def test_memory_in_which_not_all_bits_are_a_value_is_refused_and_untouched(fill, make):
    out = make()
    before = contents(out)
    with pytest.raises(TypeError, match=r"\bout\b"):
        fill(out)
    assert contents(out) == before


def contents(out):
    return repr(out) if isinstance(out, np.ndarray) else memoryview(out).tobytes()


@fills
@pytest.mark.parametrize("make", NUMBERS.values(), ids=NUMBERS)
def test_memory_in_which_all_bits_are_a_value_is_filled(fill, make):
    out = make()
    fill(out)
    assert any(np.asarray(out).tobytes() if isinstance(out, np.ndarray) else memoryview(out).tobytes())


def test_a_refused_array_of_objects_can_still_be_used():
    """In a process of its own: without the refusal it ends with a signal."""
    program = """
import numpy as np, wellspring
from wellspring.random import ChaCha8, Elements
out = np.array([{}, [], "abc"] * 100, object)
for call in (wellspring.fill, Elements(1).fill, ChaCha8(1).fill):
    try:
        call(out)
    except TypeError as error:
        assert "out" in str(error)
assert repr(out.tolist()) == repr([{}, [], "abc"] * 100)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (result.returncode, result.stderr) == (0, "")


class Odd(np.ndarray):
    """An array that says something else of itself than its memory does."""

    dtype = np.dtype("f8")
    shape = (1000,)


def odd():
    return np.array([{}, []] * 4, object).view(Odd)


HOSTILE_TYPES = [
    ("dtype", lambda: E.random(5, "no such type")),
    ("dtype", lambda: E.random(5, 5)),
    ("dtype", lambda: E.random(5, object)),
    ("dtype", lambda: E.random(5, [("a", "f8")])),
    ("dtype", lambda: E.random(5, "M8[s]")),
    ("dtype", lambda: E.integers(5, size=5, dtype="m8[s]")),
    ("dtype", lambda: E.random(out=np.empty(5), dtype="no such type")),
    ("out", lambda: E.random(out=odd())),
    ("out", lambda: E.random(out=np.empty(5, "M8[s]"))),
    ("out", lambda: E.random(out=np.empty(5, [("a", "f8")]))),
    ("out", lambda: E.random(out=np.empty(5, "S8"))),
    ("out", lambda: E.random(out=np.empty(5, "V8"))),
    ("out", lambda: E.random(out=(ctypes.c_void_p * 3)())),
    ("out", lambda: E.integers(5, out=(ctypes.py_object * 3)())),
    ("out", lambda: E.permutation(5, out=np.empty(5, object))),
    ("out", lambda: E.permutation(5, out=np.empty(5, "m8[s]"))),
    ("out", lambda: E.random(out="text")),
    ("out", lambda: E.random(out=type)),
    ("length", lambda: E.bytes(1.5)),
    ("length", lambda: E.bytes(None)),
    ("length", lambda: E.bytes("5")),
    ("length", lambda: random.ChaCha8(1).bytes("abc")),
    ("length", lambda: random.ChaCha8(1).bytes([1, 2, 3])),
    ("length", lambda: random.ChaCha8(1).bytes(b"abc")),
    ("length", lambda: random.Engine().bytes(1.5)),
    ("delta", lambda: random.ChaCha8(1).advance("1")),
    ("position", lambda: random.ChaCha8(1).at(1.5)),
    ("jumps", lambda: random.ChaCha8(1).jumped(None)),
    ("seed", lambda: Elements(np.random.SeedSequence)),
    ("seed", lambda: random.ChaCha8(np.random.SeedSequence)),
    ("seed", lambda: Elements(type("Seeds", (), {"generate_state": 5})())),
    ("seed", lambda: Elements(type("Seeds", (), {"generate_state": lambda *_: [1, 2, 3]})())),
    ("seed", lambda: Elements(type("Seeds", (), {"generate_state": lambda *_: [1, 2, 3, BIG]})())),
    ("seed", lambda: Elements(type("Seeds", (), {"generate_state": lambda *_: "abcd"})())),
    ("path", lambda: Elements(1, b"12")),
    ("path", lambda: Elements(1, {3, 1})),
    ("path", lambda: Elements(1, {3: 1})),
    ("path", lambda: Elements(1, None)),
    ("loc", lambda: E.normal("1.5")),
    ("loc", lambda: E.normal(b"1.5")),
    ("scale", lambda: E.normal(0, None)),
    ("scale", lambda: E.normal(0, 1j)),
    ("scale", lambda: E.exponential(np.array(["1.0"]))),
    ("low", lambda: E.uniform(np.array([[1j]]), 2)),
    ("first", lambda: E.random(5, first=None)),
    ("size", lambda: E.random(size={2: 3}.keys, out=None)),
    ("threads", lambda: Elements(1, threads="2")),
]

HOSTILE_VALUES = [
    ("threads", lambda: Elements(1, threads=BIG)),
    ("size", lambda: E.random(BIG)),
    ("size", lambda: E.random((BIG, 0))),
    ("size", lambda: E.random((1,) * 100)),
    ("size", lambda: E.permutation(2**62, BIG)),
    ("x", lambda: E.permutation(BIG)),
    ("x", lambda: E.permutation(5, 6)),
    ("length", lambda: E.bytes(BIG)),
    ("length", lambda: random.ChaCha8(1).bytes(-1)),
    ("length", lambda: random.ChaCha8(1).bytes(BIG)),
    ("jumps", lambda: random.ChaCha8(1).jumped(BIG)),
    ("jumps", lambda: random.ChaCha8(1).jumped(-1)),
    ("position", lambda: random.ChaCha8(1).at(-1)),
    ("out", lambda: E.random(out=released())),
    ("out", lambda: E.fill(released())),
    ("out", lambda: E.permutation(5, out=np.broadcast_to(np.int64(1), 5))),
    ("at", lambda: E.random(5, at=BIG, of=10)),
    ("of", lambda: E.random(5, at=0, of=BIG)),
    ("first", lambda: E.random(5, first=BIG)),
    ("loc", lambda: E.normal(float("-inf"))),
    ("loc", lambda: E.normal(10**400)),
    ("scale", lambda: E.normal(0, float("nan"))),
    ("scale", lambda: E.exponential(10**400)),
    ("scale", lambda: E.exponential(1e39, 5, "float32")),
    ("scale", lambda: E.exponential(1e39, out=array.array("f", [0]))),
    ("scale", lambda: E.normal(0, 1e39, 5, "float32")),
    ("loc", lambda: E.normal(1e39, 1, 5, "float32")),
    ("low", lambda: E.uniform(-1e39, 0, 5, "float32")),
    ("high - low", lambda: E.uniform(0, 1e39, 5, "float32")),
    ("high - low", lambda: E.uniform(-3e38, 3e38, 5, "float32")),
]


def released():
    view = memoryview(bytearray(8))
    view.release()
    return view


@pytest.mark.parametrize("case", range(len(HOSTILE_TYPES)))
def test_a_hostile_type_is_a_type_error_that_names_the_argument(case):
    name, call = HOSTILE_TYPES[case]
    with pytest.raises(TypeError, match=rf"\b{name}\b"):
        call()


@pytest.mark.parametrize("case", range(len(HOSTILE_VALUES)))
def test_a_hostile_value_is_a_value_error_that_names_the_argument(case):
    name, call = HOSTILE_VALUES[case]
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: E.bytes(1 << 62),
        lambda: random.ChaCha8(1).bytes(1 << 62),
        lambda: E.random(1 << 58),
        lambda: E.integers(5, size=1 << 60, dtype="int8"),
        lambda: E.permutation(1 << 58),
    ],
)
def test_more_memory_than_any_machine_has_is_a_memory_error(call):
    with pytest.raises(MemoryError):
        call()


STATES = {
    "no state": lambda state: state.pop("state"),
    "no half": lambda state: (state.update(has_uint32=1), state.pop("uinteger")),
    "state of another type": lambda state: state.update(state=5),
    "short key": lambda state: state["state"].update(key=(1, 2, 3)),
    "large key": lambda state: state["state"].update(key=(1, 2, 3, BIG)),
    "key as text": lambda state: state["state"].update(key="abcd"),
    "negative position": lambda state: state["state"].update(position=-1),
    "large position": lambda state: state["state"].update(position=1 << 128),
    "position as text": lambda state: state["state"].update(position="1"),
    "large jumps": lambda state: state["state"].update(jumps=BIG),
    "more jumps than there are": lambda state: state["state"].update(jumps=1 << 63),
    "large half": lambda state: state.update(has_uint32=1, uinteger=1 << 32),
}


@pytest.mark.parametrize("damage", STATES.values(), ids=STATES)
def test_a_damaged_state_is_a_value_error_and_changes_nothing(damage):
    generator, same = random.ChaCha8(1), random.ChaCha8(1)
    state = generator.state
    damage(state)
    with pytest.raises(ValueError, match=r"\b(state|jumps)\b"):
        generator.state = state
    assert generator.bytes(100) == same.bytes(100)


def test_an_array_of_one_number_and_of_no_dimension_is_filled():
    out = np.zeros(())
    assert E.random(out=out) is out and out == E.random()
    one = np.zeros((1, 1, 1))
    assert E.random(out=one) is one and one == E.random()
    for scalar in (ctypes.c_double(), np.zeros(())):
        with pytest.raises(TypeError, match=r"\bout\b"):
            E.fill(scalar)


def test_subclasses_of_arrays_get_the_same_elements():
    plain = E.random(100)
    masked = np.ma.array(np.zeros(100), mask=[True, False] * 50)
    assert E.random(out=masked) is masked
    assert (masked.data == plain).all() and masked.mask.sum() == 50
    strided = np.ma.array(np.zeros(200), mask=[True, True, False, False] * 50)[::2]
    assert E.random(out=strided) is strided
    assert (strided.data == plain).all() and strided.mask.sum() == 50
    matrix = np.asmatrix(np.zeros((10, 10)))
    assert E.random(out=matrix) is matrix and (np.asarray(matrix).ravel() == plain).all()
    record = np.zeros(100, [("a", "i4"), ("b", "f8")]).view(np.recarray)
    E.random(out=record.b)
    assert (record.b == plain).all() and not record.a.any()


def test_collections_are_no_memory():
    for out in (collections.deque([1]), {}, {1}, range(3), iter([])):
        with pytest.raises(TypeError, match=r"\bout\b"):
            E.fill(out)
        with pytest.raises(TypeError, match=r"\bout\b"):
            E.random(out=out)


def test_an_empty_array_takes_no_elements_wherever_its_memory_is():
    # The module array gives an odd address.
    for kind in ("d", "f"):
        E.random(out=array.array(kind))
    for kind in ("b", "h", "i", "q"):
        E.integers(5, out=array.array(kind))


def test_an_integer_that_lies_about_itself_is_taken_for_its_value():
    program = """
from wellspring import secrets
class Lies(int):
    def __le__(self, other): return False
    def __gt__(self, other): return False
    def __lt__(self, other): return True
    def __index__(self): return -1
    def bit_length(self): return 3
assert 0 <= secrets.randbelow(Lies(10)) < 10
assert 0 <= secrets.randbelow(Lies(1 << 80)) < 1 << 80
assert max(secrets.randbelow(Lies(1 << 80)) for _ in range(100)) > 1 << 70
for number in (0, -5):
    try:
        secrets.randbelow(Lies(number))
    except ValueError:
        continue
    raise SystemExit(f"{number} is a bound")
"""
    ended = subprocess.run([sys.executable, "-c", program], timeout=60, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
