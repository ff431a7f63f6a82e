"""Shuffles in place: the order depends on the name and the number of elements alone."""

import array
import collections

import numpy as np
import pytest

from wellspring.random import Elements

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
