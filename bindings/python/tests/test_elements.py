"""Arrays whose element i depends on the name and on i alone."""

import array
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
