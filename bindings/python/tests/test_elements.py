"""Arrays whose element i depends on the name and on i alone."""

import array
import collections
import pickle
import sys
import threading
import time

import numpy as np
import pytest

from wellspring.random import Elements

ALGORITHMS = ["chacha8", "chacha12", "chacha20", "aes256-ctr", "philox4x64-10"]

# What makes an array of a shape: (elements, shape, keywords).
KINDS = {
    "random": lambda e, size, **k: e.random(size, **k),
    "random float32": lambda e, size, **k: e.random(size, "float32", **k),
    "uniform": lambda e, size, **k: e.uniform(-3, 5, size, **k),
    "standard_normal": lambda e, size, **k: e.standard_normal(size, **k),
    "normal float32": lambda e, size, **k: e.normal(3, 2, size, "float32", **k),
    "exponential": lambda e, size, **k: e.exponential(1.5, size, **k),
    "integers": lambda e, size, **k: e.integers(-5, 1000, size, **k),
    "integers of 64 bits": lambda e, size, **k: e.integers(0, 2**64, size, "uint64", **k),
    "gamma": lambda e, size, **k: e.gamma(0.7, 2, size, **k),
    "lognormal": lambda e, size, **k: e.lognormal(0.5, 0.3, size, **k),
    "poisson": lambda e, size, **k: e.poisson(40, size, **k),
    "integers of 8 bits": lambda e, size, **k: e.integers(0, 6, size, "int8", endpoint=True, **k),
}
kinds = pytest.mark.parametrize("kind", KINDS)


def equal(left, right):
    assert left.dtype == right.dtype and left.shape == right.shape
    assert left.tobytes() == right.tobytes()


@kinds
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_number_of_threads_does_not_matter(kind, algorithm):
    length = 300_001
    whole = KINDS[kind](Elements(5, "1/2", algorithm, threads=1), length)
    for threads in (2, 3, 7, 64):
        equal(KINDS[kind](Elements(5, "1/2", algorithm, threads=threads), length), whole)
    equal(KINDS[kind](Elements(5, "1/2", algorithm), length), whole)


@kinds
def test_the_cut_does_not_matter(kind):
    elements = Elements(5)
    whole = KINDS[kind](elements, 10_000)
    for piece in (1, 7, 64, 999, 4096):
        # Single elements of the first 300 only.
        end = 300 if piece < 7 else 10_000
        parts = [KINDS[kind](elements, min(piece, end - i), first=i) for i in range(0, end, piece)]
        equal(np.concatenate(parts), whole[:end])


@kinds
def test_the_shape_does_not_matter(kind):
    whole = KINDS[kind](Elements(5), 5040)
    for shape in ((5040,), (70, 72), (7, 8, 9, 10), (1, 5040, 1), [60, 84], np.array([60, 84])):
        equal(KINDS[kind](Elements(5), shape), whole.reshape(tuple(shape)))


@kinds
@pytest.mark.parametrize("threads", [1, 5])
def test_a_block_is_the_slice_of_the_whole(kind, threads):
    elements = Elements(5, threads=threads)
    whole = KINDS[kind](elements, (40, 50, 30))
    for at, shape in [
        ((0, 0, 0), (40, 50, 30)),
        ((3, 0, 0), (10, 50, 30)),
        ((3, 7, 0), (10, 20, 30)),
        ((3, 7, 11), (1, 1, 1)),
        ((39, 49, 29), (1, 1, 1)),
        ((0, 10, 5), (40, 3, 25)),
        ((5, 5, 5), (0, 3, 3)),
        ((5, 5, 5), (3, 0, 3)),
    ]:
        slices = tuple(slice(begin, begin + length) for begin, length in zip(at, shape, strict=True))
        equal(KINDS[kind](elements, shape, at=at, of=whole.shape), np.ascontiguousarray(whole[slices]))
    equal(KINDS[kind](elements, (), at=(), of=(), first=7), KINDS[kind](elements, 8)[7].reshape(()))
    large = KINDS[kind](elements, (700, 1000))
    equal(KINDS[kind](elements, (600, 900), at=(50, 60), of=(700, 1000)), large[50:650, 60:960].copy())


@kinds
def test_out_of_every_layout_has_the_same_elements(kind):
    elements = Elements(5)
    whole = KINDS[kind](elements, (60, 84))
    outs = {
        "plain": np.empty((60, 84), whole.dtype),
        "Fortran": np.empty((60, 84), whole.dtype, order="F"),
        "strided": np.empty((120, 168), whole.dtype)[::2, ::2],
        "backwards": np.empty((60, 84), whole.dtype)[::-1, ::-1],
        "transposed": np.empty((84, 60), whole.dtype).T,
        "misaligned": np.frombuffer(bytearray(whole.nbytes + 1), np.uint8)[1:].view(whole.dtype).reshape(60, 84),
    }
    for name, out in outs.items():
        assert KINDS[kind](elements, None, out=out) is out, name
        np.testing.assert_array_equal(out, whole, name)
    around = np.zeros((62, 84), whole.dtype)
    KINDS[kind](elements, None, out=around[1:61])
    assert not around[0].any() and not around[61].any()


@kinds
def test_an_array_without_elements_stays_as_it_is(kind):
    for shape in (0, (0,), (3, 0), (0, 3), (2, 0, 5)):
        assert KINDS[kind](Elements(5), shape).size == 0
        assert KINDS[kind](Elements(5), None, out=KINDS[kind](Elements(5), shape)).size == 0


@kinds
def test_the_last_elements_of_a_name_can_be_reached_and_no_more(kind):
    elements = Elements(5)
    last = KINDS[kind](elements, 3, first=2**64 - 3)
    equal(KINDS[kind](elements, 1, first=2**64 - 1), last[2:])
    for size, first in ((4, 2**64 - 3), (2, 2**64 - 1)):
        with pytest.raises(ValueError, match="2\\^64"):
            KINDS[kind](elements, size, first=first)
    with pytest.raises(ValueError, match="first"):
        KINDS[kind](elements, 1, first=2**64)
    with pytest.raises(ValueError, match="first"):
        KINDS[kind](elements, 1, first=-1)
    corner = KINDS[kind](elements, (2, 2), at=(2**32 - 2, 2**32 - 2), of=(2**32, 2**32))
    equal(corner[1], KINDS[kind](elements, 2, first=2**64 - 2))


def test_single_numbers_are_plain_ones():
    elements = Elements(5)
    assert type(elements.random()) is float and elements.random() == elements.random(1)[0]
    assert type(elements.integers(10)) is int and elements.integers(10) == elements.integers(10, size=1)[0]
    assert elements.standard_normal(first=7) == elements.standard_normal(8)[7]
    assert elements.random(dtype="float32").dtype == np.float32


def test_scaled_numbers_are_those_of_the_plain_formula():
    elements = Elements(5)
    uniform, normal = elements.random(10_000), elements.standard_normal(10_000)
    exponential = elements.exponential(size=10_000)
    equal(elements.uniform(2.5, 7.25, 10_000), 2.5 + (7.25 - 2.5) * uniform)
    equal(elements.normal(2.5, 0.3, 10_000), 2.5 + 0.3 * normal)
    equal(elements.exponential(0.3, 10_000), 0.3 * exponential)
    single = elements.random(10_000, np.float32)
    equal(elements.uniform(-1, 3, 10_000, np.float32), np.float32(-1) + np.float32(4) * single)


def test_fill_gives_the_bytes_of_the_stream():
    elements = Elements(5, "1/2")
    whole = elements.bytes(700_001)
    for threads in (1, 3):
        assert Elements(5, "1/2", threads=threads).bytes(700_001) == whole
    assert elements.bytes(1000, first=12_345) == whole[12_345:13_345]
    out = array.array("I", bytes(4000))
    assert elements.fill(out, first=8) is out and out.tobytes() == whole[8:4008]
    assert elements.bytes(16, first=2**128 - 8)[8:] == whole[:8]
    matrix = np.empty((10, 10))
    assert elements.fill(matrix).tobytes() == whole[:800]


def test_permutations_hold_every_number_once():
    elements = Elements(5)
    for length in (0, 1, 2, 3, 1000, 12_345, 200_000):
        order = elements.permutation(length)
        assert order.dtype == np.int64
        np.testing.assert_array_equal(np.sort(order), np.arange(length))
        equal(Elements(5, threads=1).permutation(length), order)
    order = elements.permutation(1000)
    equal(elements.permutation(1000, 100, first=500), order[500:600])
    equal(elements.permutation(1000, first=990), order[990:])
    out = np.empty(1000, np.int64)
    assert elements.permutation(1000, out=out) is out and (out == order).all()
    assert elements.permutation(2**62, 5, first=2**61).max() < 2**62
    rows = np.arange(3000).reshape(1000, 3)
    equal(elements.permutation(rows), rows[order])
    with pytest.raises(ValueError, match="only 1000 places"):
        elements.permutation(1000, 11, first=990)


def test_names_make_arrays_that_differ():
    names = [(5, ()), (6, ()), (5, (0,)), (5, (1,)), (5, (0, 0)), (2**127, ())]
    assert len({Elements(*name).random(4).tobytes() for name in names}) == len(names)
    assert len({Elements(5, algorithm=algorithm).random(4).tobytes() for algorithm in ALGORITHMS}) == 5
    elements = Elements(5, "1")
    assert elements.child(2, 3) == Elements(5, "1/2/3") != Elements(5, "1/2")
    assert hash(elements.child(2)) == hash(Elements(5, "1/2"))


def test_an_unnamed_array_has_a_seed_that_repeats_it():
    first, second = Elements(), Elements()
    assert first.seed != second.seed
    equal(Elements(first.seed).random(10), first.random(10))


def test_a_pickle_makes_the_same_arrays():
    for elements in (
        Elements(5, "1/2", "philox4x64-10", threads=3),
        Elements(),
        Elements(np.random.SeedSequence(7)),
    ):
        again = pickle.loads(pickle.dumps(elements))
        assert again == elements and repr(again) == repr(elements)
        equal(again.random(100), elements.random(100))


def test_arrays_of_the_standard_library_are_filled():
    elements = Elements(5)
    for code, name in (("d", "float64"), ("f", "float32")):
        out = array.array(code, [0] * 1000)
        assert elements.random(out=out) is out
        assert out.tobytes() == elements.random(1000, name).tobytes()
    for code in "bBhHiIlLqQ":
        out = array.array(code, [0] * 1000)
        elements.integers(100, out=out)
        assert set(out) == set(range(100))


def test_other_threads_run_meanwhile():
    """A long call does not hold the lock of the interpreter, or no other thread would run for 1000 s."""
    elements, out = Elements(5, threads=1), np.empty(2_000_000)
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(None)
            time.sleep(0)

    other = threading.Thread(target=tick)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        other.start()
        before, calls = len(ticks), 0
        # On a busy machine the other thread may have to wait for a processor.
        while len(ticks) == before and calls < 1000:
            elements.standard_normal(out=out)
            calls += 1
        after = len(ticks)
    finally:
        sys.setswitchinterval(interval)
        done.set()
        other.join()
    assert after > before


E = Elements(5, "1/2")
N = 1000


def order(length=N, elements=E):
    numbers = list(range(length))
    assert elements.shuffle(numbers) is None
    return numbers


NUMBERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", ">i4", ">f8", "g"]
OTHERS = ["?", object, "U4", "S3", "M8[s]", "m8[s]", [("a", "i4"), ("b", object)], [("a", "i1"), ("b", "f8")], "V3"]


@pytest.mark.parametrize("dtype", NUMBERS + OTHERS, ids=str)
def test_arrays_of_every_type_and_layout_have_the_order_of_a_list(dtype):
    if isinstance(dtype, list):
        given = np.array([tuple(i % 100 for _ in dtype) for i in range(N)], dtype)
    elif dtype == "V3":
        given = np.frombuffer(bytes(i % 251 for i in range(3 * N)), dtype)
    else:
        given = np.arange(N).astype(dtype if dtype not in ("i1", "u1", "?") else "i8").astype(dtype)
    wanted = given[order()]
    outs = {
        "plain": given.copy(),
        "strided": np.repeat(given, 2)[::2],
        "backwards": given[::-1].copy()[::-1],
        "misaligned": None,
    }
    if given.dtype != object and not given.dtype.hasobject:
        raw = np.zeros(given.nbytes + 1, np.uint8)
        outs["misaligned"] = raw[1:].view(given.dtype)
        outs["misaligned"][...] = given
    for layout, x in outs.items():
        if x is not None:
            assert E.shuffle(x) is None
            assert x.tolist() == wanted.tolist(), layout


def test_rows_are_shuffled_along_an_axis_and_keep_their_contents():
    for shape, axis in [((N, 3), 0), ((3, N), 1), ((3, N), -1), ((2, N, 4), 1), ((2, N, 4), -2)]:
        whole = np.arange(np.prod(shape)).reshape(shape)
        for x in (whole.copy(), whole.copy(order="F"), whole.astype(object)):
            E.shuffle(x, axis=axis)
            np.testing.assert_array_equal(x, np.take(whole, order(), axis=axis))


def test_sequences_of_the_standard_library_have_the_order_of_a_list():
    letters = [chr(97 + i % 26) for i in range(N)]
    wanted = [letters[i] for i in order()]
    x = list(letters)
    E.shuffle(x)
    assert x == wanted
    x = collections.deque(letters)
    E.shuffle(x)
    assert list(x) == wanted
    x = array.array("u", "".join(letters))
    E.shuffle(x)
    assert list(x) == wanted
    for code in "bBhHiIlLqQfd":
        x = array.array(code, [i % 100 for i in range(N)])
        E.shuffle(x)
        assert list(x) == [i % 100 for i in order()], code
    x = bytearray(map(ord, letters))
    E.shuffle(x)
    assert x.decode() == "".join(wanted)
    x = bytearray(2 * N)
    x[::2] = map(ord, letters)
    E.shuffle(memoryview(x)[::2])
    assert x[::2].decode() == "".join(wanted) and not any(x[1::2])


def test_the_order_depends_on_the_name_and_the_length_alone():
    assert order() == order(elements=Elements(5, "1/2", threads=1)) == order(elements=Elements(5, (1, 2), threads=7))
    assert order() != order(elements=Elements(5, "1/3")) and order() != order(elements=Elements(6, "1/2"))
    for length in (0, 1, 2, 3, 255, 256, 257, 70_000):
        assert sorted(order(length)) == list(range(length))


def test_masks_follow_their_numbers():
    x = np.ma.array(np.arange(N), mask=np.arange(N) % 3 == 0)
    E.shuffle(x)
    assert x.data.tolist() == order() and (x.mask == (x.data % 3 == 0)).all()


def test_all_orders_of_four_come_alike():
    """24 orders of 24,000 names: chi-square with 23 degrees of freedom is above 60 once in 30,000 times."""
    counts = collections.Counter(tuple(order(4, Elements(7, (i,)))) for i in range(24_000))
    assert len(counts) == 24
    assert sum((count - 1000) ** 2 / 1000 for count in counts.values()) < 60


READ_ONLY = np.arange(5)
READ_ONLY.flags.writeable = False

REFUSED = [
    (TypeError, "x", lambda: E.shuffle("text")),
    (TypeError, "x", lambda: E.shuffle((1, 2))),
    (TypeError, "x", lambda: E.shuffle({1: 2, 3: 4})),
    (TypeError, "x", lambda: E.shuffle({1, 2})),
    (TypeError, "x", lambda: E.shuffle(5)),
    (TypeError, "x", lambda: E.shuffle(None)),
    (TypeError, "x", lambda: E.shuffle(range(5))),
    (TypeError, "x", lambda: E.shuffle(np.array(5))),
    (TypeError, "x", lambda: E.shuffle(memoryview(bytearray(4)).cast("B", (2, 2)))),
    (ValueError, "x is read-only", lambda: E.shuffle(b"text")),
    (ValueError, "x is read-only", lambda: E.shuffle(READ_ONLY)),
    (ValueError, "x is read-only", lambda: E.shuffle(np.broadcast_to(np.array([[1], [2]]), (2, 3)))),
    (TypeError, "axis", lambda: E.shuffle(np.zeros((2, 2)), 1.5)),
    (TypeError, "axis", lambda: E.shuffle(np.zeros((2, 2)), None)),
    (ValueError, "axis", lambda: E.shuffle(np.zeros((2, 2)), 2)),
    (ValueError, "axis", lambda: E.shuffle(np.zeros((2, 2)), -3)),
    (ValueError, "axis", lambda: E.shuffle([1, 2], 1)),
    (ValueError, "axis", lambda: E.shuffle([1, 2], 1 << 80)),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_what_cannot_be_shuffled_is_refused_by_name(case):
    kind, name, call = REFUSED[case]
    with pytest.raises(kind, match=rf"\b{name}\b"):
        call()
