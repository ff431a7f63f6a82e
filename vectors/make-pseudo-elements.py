"""Makes vectors/pseudo-elements.txt.

    python3 vectors/make-pseudo-elements.py          (needs NumPy and cryptography)

Nothing here comes from the crate wellspring-pseudo. The blocks come from make-pseudo-counter.py. Uniform
floats over Philox are compared with NumPy's Generator. The rest is the definition of each kind, written in
Python floats, which are IEEE 754 doubles: the additions, subtractions, multiplications and divisions below,
in this order, give the same bits everywhere.
"""

import hashlib
import importlib.util
import math
import pathlib
import random
import struct

import numpy

HERE = pathlib.Path(__file__).parent
spec = importlib.util.spec_from_file_location("counter", HERE / "make-pseudo-counter.py")
counter = importlib.util.module_from_spec(spec)
spec.loader.exec_module(counter)

FUNCTIONS = (counter.Philox, counter.ChaCha(8), counter.ChaCha(12), counter.ChaCha(20), counter.Aes256Ctr)
MASK = 2**64 - 1

# The rows of blocks: a stream is row 0, each kind has 2^56 rows.
INTEGERS_32, INTEGERS_64, NORMAL, EXPONENTIAL, SHUFFLE, PERMUTATION = (2**63 + (kind << 56) for kind in range(1, 7))


class Name:
    def __init__(self, function, seed, path):
        self.function = function
        self.key = counter.name_key(function, seed, path)

    def words(self, row, first, count, word_bytes):
        """The words of elements `first` to `first + count - 1`."""
        block, skip = divmod(first * word_bytes, self.function.block_bytes)
        blocks = -(-(skip + count * word_bytes) // self.function.block_bytes)
        data = self.function.blocks(self.key, row * self.function.jump_blocks + block, blocks)
        data = data[skip : skip + count * word_bytes]
        return [int.from_bytes(data[i : i + word_bytes], "little") for i in range(0, len(data), word_bytes)]

    def retries(self, row, index):
        """The words of one element beyond its first: block `index` of the rows after `row`."""
        while True:
            row += 1
            block = self.function.blocks(self.key, row * self.function.jump_blocks + index, 1)
            yield from struct.unpack(f"<{len(block) // 8}Q", block)


def uniform(word):
    return (word >> 11) * 2.0**-53


# Elementary functions.

LN_2_HIGH = struct.unpack("<d", struct.pack("<Q", 0x3FE62E4200000000))[0]
LN_2_LOW = 4.7493250390316726e-07


def exp(x):
    n = int(x / (LN_2_HIGH + LN_2_LOW) - 0.5)
    r = (x - n * LN_2_HIGH) - n * LN_2_LOW
    total = 1.0
    for i in range(14, 0, -1):
        total = 1.0 + total * r / i
    return math.ldexp(total, n)


def ln(x):
    mantissa, exponent = math.frexp(x)
    mantissa, exponent = mantissa * 2.0, exponent - 1
    if mantissa > math.sqrt(2.0):
        mantissa, exponent = mantissa * 0.5, exponent + 1
    s = (mantissa - 1.0) / (mantissa + 1.0)
    total = 0.0
    for i in range(23, 1, -2):
        total = (total + 1.0 / i) * (s * s)
    return exponent * LN_2_HIGH + (exponent * LN_2_LOW + 2.0 * s * (1.0 + total))


# Ziggurats.


class Normal:
    row, tail_start, area, signed = NORMAL, 4.038849846109505, 0.0012263246463530882, True

    @staticmethod
    def density(x):
        return exp(-0.5 * x * x)

    @staticmethod
    def inverse(y):
        return math.sqrt(-2.0 * ln(y))

    @staticmethod
    def tail(words):
        while True:
            beyond = exponential(words) / Normal.tail_start
            if 2.0 * exponential(words) > beyond * beyond:
                return Normal.tail_start + beyond


class Exponential:
    row, tail_start, area, signed = EXPONENTIAL, 9.256164544265544, 0.0009796789906020209, False

    @staticmethod
    def density(x):
        return exp(-x)

    @staticmethod
    def inverse(y):
        return -ln(y)

    @staticmethod
    def tail(words):
        return Exponential.tail_start + exponential(words)


def exponential(words):
    return -ln(1.0 - uniform(next(words)))


def edges(kind):
    result = [kind.area / kind.density(kind.tail_start), kind.tail_start]
    while len(result) < 1024:
        result.append(kind.inverse(kind.density(result[-1]) + kind.area / result[-1]))
    return [*result, 0.0]


for kind in (Normal, Exponential):
    kind.edges = edges(kind)


def ziggurat(kind, word, words):
    while True:
        layer = word % 1024
        sign = -1.0 if kind.signed and word >> 10 & 1 else 1.0
        x = uniform(word) * kind.edges[layer]
        if x < kind.edges[layer + 1]:
            return sign * x
        if layer == 0:
            return sign * kind.tail(words)
        below, above = kind.density(kind.edges[layer]), kind.density(kind.edges[layer + 1])
        if below + uniform(next(words)) * (above - below) < kind.density(x):
            return sign * x
        word = next(words)


# Integers and orders.


def integer(word, bits, bound, words):
    """Below `bound`, unbiased; a word of `bits` bits first, then 64 bits."""
    while word * bound % 2**bits < 2**bits % bound:
        word, bits = next(words), 64
    return word * bound >> bits


def splitmix64(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def permutation(name, length, first, count):
    bits = max((length - 1).bit_length(), 10)
    left_mask, right_mask = 2 ** (bits // 2) - 1, 2 ** (bits - bits // 2) - 1
    words = name.retries(PERMUTATION, length)
    keys = [next(words) for _ in range(12)]
    result = []
    for number in range(first, first + count):
        while True:
            left, right = divmod(number, right_mask + 1)
            for i in range(0, 12, 2):
                left ^= splitmix64(right ^ keys[i]) & left_mask
                right ^= splitmix64(left ^ keys[i + 1]) & right_mask
            number = left * (right_mask + 1) + right
            if number < length:
                break
        result.append(number)
    return result


# The kinds, as little-endian bytes of the elements.


def floats(kind, name, first, count, code):
    words = name.words(kind.row, first, count, 8)
    made = [ziggurat(kind, word, name.retries(kind.row, first + i)) for i, word in enumerate(words)]
    return struct.pack(f"<{count}{code}", *made)


def integers(name, first, count, code, low, high):
    size = struct.calcsize(code)
    bits, row = (64, INTEGERS_64) if size == 8 else (32, INTEGERS_32)
    words = name.words(row, first, count, bits // 8)
    made = [
        low + integer(word, bits, high - low + 1, name.retries(row, first + i)) for i, word in enumerate(words)
    ]
    return struct.pack(f"<{count}{code}", *made)


def uniform_f64(name, first, count):
    return struct.pack(f"<{count}d", *map(uniform, name.words(0, first, count, 8)))


def uniform_f32(name, first, count):
    return struct.pack(f"<{count}f", *((word >> 8) * 2.0**-24 for word in name.words(0, first, count, 4)))


def shuffle(name, count):
    items = list(range(count))
    for i, word in enumerate(name.words(SHUFFLE, 0, count, 8)):
        j = integer(word, 64, i + 1, name.retries(SHUFFLE, i))
        items[i], items[j] = items[j], items[i]
    return struct.pack(f"<{count}Q", *items)


RANGES = {
    "u8": ("B", [(1, 6), (0, 255)]),
    "i16": ("h", [(-(2**15), 2**15 - 1), (-3, 1000)]),
    "u32": ("I", [(0, 999), (7, 3 * 2**30), (0, 2**32 - 1)]),
    "i32": ("i", [(-(2**31), 2**31 - 1), (-(2**30), 2**30)]),
    "i64": ("q", [(0, 999), (-5, 2**63 - 1), (-(2**63), 2**63 - 1)]),
    "u64": ("Q", [(1, 6), (0, 3 * 2**62), (0, 2**64 - 1)]),
}

HEAD = """\
# Known answers for arrays whose element i depends on the name and on i alone.
# Made by vectors/make-pseudo-elements.py with NumPy {numpy}, independently of this project's implementation.
#
# Lines:
#  array kind=K algorithm=A seed=HEX path=P first=I n=N head=HEX,.. sha256=HEX
#       Elements I to I + N - 1. K is uniform, normal or exponential, with -f64 or -f32. P is decimal numbers separated
#       by /, the root is /. head is the first four elements as bits in hexadecimal; sha256 is that of all elements as
#       little-endian bytes.
#  integers type=T low=L high=H ..     integers from L to H, both included; T is u8, i16, u32, i32, i64 or u64
#  shuffle ..                          the numbers 0 to N - 1 (u64), shuffled
#  permutation length=M ..             elements I to I + N - 1 of a permutation of 0 to M - 1 (u64)
# The order of the lines does not matter. There are {count} lines.
"""


def line(kind, function, seed, path, first, count, data):
    size = len(data) // count
    head = ",".join(data[i : i + size][::-1].hex() for i in range(0, min(4, count) * size, size))
    return (
        f"{kind} algorithm={function.name} seed={seed:x} path={'/'.join(map(str, path)) or '/'} first={first}"
        f" n={count} head={head} sha256={hashlib.sha256(data).hexdigest()}\n"
    )


def lines(function):
    rng = random.Random(function.name)
    for seed, path, first, count in (
        (0, (), 0, 4000),
        (2026, (3, 0, 17), 0, 4000),
        (2026, (3, 0, 17), 1001, 3000),
        (2**128 - 1, (2**32 - 1,), 2**61 - 1000, 2000),
        (rng.getrandbits(100), (rng.getrandbits(32),), rng.getrandbits(60), 2000),
        (1, (), 2**64 - 7, 7),
    ):
        name = Name(function, seed, path)

        def made(kind, data):
            return line(kind, function, seed, path, first, count, data)

        yield made("array kind=uniform-f64", uniform_f64(name, first, count))
        yield made("array kind=uniform-f32", uniform_f32(name, first, count))
        for code, size in (("d", 64), ("f", 32)):
            yield made(f"array kind=normal-f{size}", floats(Normal, name, first, count, code))
            yield made(f"array kind=exponential-f{size}", floats(Exponential, name, first, count, code))
        for type_name, (code, ranges) in RANGES.items():
            for low, high in ranges:
                data = integers(name, first, count, code, low, high)
                yield made(f"integers type={type_name} low={low} high={high}", data)
    for seed, path, count in ((0, (), 1), (2026, (1,), 2), (2026, (3, 0, 17), 3000)):
        data = shuffle(Name(function, seed, path), count)
        yield line("shuffle", function, seed, path, 0, count, data)
    for length, first, count in ((1, 0, 1), (6, 0, 6), (1000, 0, 1000), (2**40 + 1, 2**40 - 99, 100), (2**64 - 1, 5, 9)):
        name = Name(function, 2026, (3, 0, 17))
        data = struct.pack(f"<{count}Q", *permutation(name, length, first, count))
        yield line(f"permutation length={length}", function, 2026, (3, 0, 17), first, count, data)


def check_against_numpy():
    for path in ((), (1,), (3, 0, 17)):
        name = Name(counter.Philox, 2026, path)
        sequence = numpy.random.SeedSequence(2026, spawn_key=path)
        generator = numpy.random.Generator(numpy.random.Philox(sequence))
        assert generator.random(1000).astype("<f8").tobytes() == uniform_f64(name, 0, 1000)
        generator = numpy.random.Generator(numpy.random.Philox(sequence))
        assert generator.random(1000, dtype=numpy.float32).astype("<f4").tobytes() == uniform_f32(name, 0, 1000)


if __name__ == "__main__":
    check_against_numpy()
    made = [made for function in FUNCTIONS for made in lines(function)]
    (HERE / "pseudo-elements.txt").write_text(
        HEAD.format(numpy=numpy.__version__, count=len(made)) + "".join(made)
    )
