"""Makes vectors/pseudo-*.txt and vectors/seed-sequence.txt.

    python3 vectors/make-pseudo.py          (needs NumPy)

Nothing here comes from the crate wellspring-pseudo. States come from NumPy's own SeedSequence. The
linear generators are written again from the papers (Vigna 2014, Blackman & Vigna 2021). Jumps are powers
of the generator's matrix over GF(2), by repeated squaring: no published jump polynomial is used.
"""

import hashlib
import pathlib
import random

import numpy

HERE = pathlib.Path(__file__).parent
MASK = 2**64 - 1


def rotate_left(x, k):
    return (x << k | x >> (64 - k)) & MASK


class Engine:
    outputs_shown = 16
    # Of streams, in bytes, besides the lengths that all linear generators have.
    lengths = ()
    words_meaning = "      the first outputs of the engine from that state"
    state_meaning = "the state"

    @classmethod
    def outputs(cls, state, count):
        for _ in range(count):
            yield cls.output(state)
            state = cls.step(state)


class Xorshift128Plus(Engine):
    name, words = "xorshift128+", 2
    jumps = {"jump": 64}

    @staticmethod
    def step(s):
        s1, s0 = s
        s1 ^= (s1 << 23) & MASK
        return (s0, s1 ^ s0 ^ (s1 >> 18) ^ (s0 >> 5))

    @staticmethod
    def output(s):
        return (s[0] + s[1]) & MASK


class Xoshiro256PlusPlus(Engine):
    name, words = "xoshiro256++", 4
    jumps = {"jump": 128, "long-jump": 192}

    @staticmethod
    def step(s):
        s = list(s)
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotate_left(s[3], 45)
        return tuple(s)

    @staticmethod
    def output(s):
        return (rotate_left((s[0] + s[3]) & MASK, 23) + s[0]) & MASK


class Xoshiro256PlusPlusX16(Xoshiro256PlusPlus):
    name = "xoshiro256++x16"
    jumps = {}
    lanes = 16
    outputs_shown = 3 * lanes
    lengths = (120, 127, 128, 129, 135, 136, 255, 256, 2048, 65536)
    words_meaning = """
#       the first outputs of 16 lanes of xoshiro256++: lane 0 begins in that state, lane i begins 2^128 steps
#       ahead of lane i - 1 (i jumps ahead of lane 0), and output k is output k div 16 of lane k mod 16"""
    state_meaning = "the state of lane 0"

    @classmethod
    def outputs(cls, state, count):
        lanes = []
        for _ in range(cls.lanes):
            lanes.append(Xoshiro256PlusPlus.outputs(state, count))
            state = jump_2_128(state)
        for k in range(count):
            yield next(lanes[k % cls.lanes])


def jumper(engine, doublings):
    """The map 2**doublings steps ahead, as the images of the state's bits."""

    def pack(state):
        return sum(word << 64 * i for i, word in enumerate(state))

    def unpack(bits):
        return tuple(bits >> 64 * i & MASK for i in range(engine.words))

    def apply(images, bits):
        result = 0
        while bits:
            low = bits & -bits
            result ^= images[low.bit_length() - 1]
            bits ^= low
        return result

    images = [pack(engine.step(unpack(1 << i))) for i in range(64 * engine.words)]
    for _ in range(doublings):
        images = [apply(images, image) for image in images]
    return lambda state: unpack(apply(images, pack(state)))


jump_2_128 = jumper(Xoshiro256PlusPlus, 128)


def hex_list(values, digits):
    return ",".join(f"{int(value):0{digits}x}" for value in values)


def states(engine, rng):
    yield tuple(range(1, engine.words + 1))
    yield (MASK,) * engine.words
    for i in range(engine.words):
        yield tuple(1 << 63 if i == j else 0 for j in range(engine.words))
    for _ in range(4):
        yield tuple(rng.getrandbits(64) for _ in range(engine.words))


def names(engine, rng):
    """Seed, path and length in bytes of streams."""
    for seed in (0, 1, 12345, 2**32 - 1, 2**32, 2**64 - 1, 2**64, 2**96, 2**128 - 1):
        for path in ((), (0,), (1,), (0, 0), (3, 0, 17), (2**32 - 1,)):
            yield seed, path, 1000
    yield 2026, tuple(range(32)), 1000
    yield 2026, (2**32 - 1,) * 32, 1000
    for length in (1, 7, 8, 9, 63, 64, 65, 4096, 1_000_003, *engine.lengths):
        yield 2026, (3, 0, 17), length
    for _ in range(20):
        path = tuple(rng.getrandbits(rng.choice((4, 32))) for _ in range(rng.randrange(6)))
        yield rng.getrandbits(rng.choice((32, 64, 128))), path, rng.randrange(1, 3000)


PSEUDO_HEAD = """\
# Known answers for {name}, by itself and as reproducible streams.
# Made by vectors/make-pseudo.py with NumPy {numpy}, independently of this project's implementation.
#
# Lines; state words and out words are 64-bit numbers in hexadecimal:
{kinds}#  stream seed=HEX path=P n=N first=HEX last=HEX sha256=HEX
#       {state_meaning} is SeedSequence(seed, spawn_key=P).generate_state({words}, uint64) of NumPy; the stream is the
#       outputs as little-endian bytes. P is decimal numbers separated by /, the root is /. Of the first N bytes:
#       the first and last 32 of them (all, if there are fewer), and the SHA-256 of all.
# The order of the lines does not matter. There are {counts} lines.
"""

KINDS = {
    "words": "#  words state=W,.. out=W,..{words_meaning}\n",
    "jump": "#  jump state=W,.. after=W,..     the state 2^{steps} steps ahead\n",
    "long-jump": "#  long-jump state=W,.. after=W,..  the state 2^{steps} steps ahead\n",
}


def make_pseudo(engine):
    rng = random.Random(engine.name)
    lines = {"words": [], "stream": []}
    for state in states(engine, rng):
        out = hex_list(engine.outputs(state, engine.outputs_shown), 16)
        lines["words"].append(f"words state={hex_list(state, 16)} out={out}")
    for kind, doublings in engine.jumps.items():
        jump = jumper(engine, doublings)
        lines[kind] = [
            f"{kind} state={hex_list(state, 16)} after={hex_list(jump(state), 16)}"
            for state in states(engine, rng)
        ]
    for seed, path, length in names(engine, rng):
        sequence = numpy.random.SeedSequence(seed, spawn_key=path)
        state = tuple(int(word) for word in sequence.generate_state(engine.words, numpy.uint64))
        words = engine.outputs(state, -(-length // 8))
        data = b"".join(word.to_bytes(8, "little") for word in words)[:length]
        lines["stream"].append(
            f"stream seed={seed:x} path={'/'.join(map(str, path)) or '/'} n={length}"
            f" first={data[:32].hex()} last={data[-32:].hex()} sha256={hashlib.sha256(data).hexdigest()}"
        )
    kinds = "".join(
        meaning.format(words_meaning=engine.words_meaning, steps=engine.jumps.get(kind))
        for kind, meaning in KINDS.items()
        if kind in lines
    )
    head = PSEUDO_HEAD.format(
        name=engine.name,
        numpy=numpy.__version__,
        words=engine.words,
        kinds=kinds,
        state_meaning=engine.state_meaning,
        counts=", ".join(f"{len(lines[kind])} {kind}" for kind in [*KINDS, "stream"] if kind in lines),
    )
    text = head + "".join(line + "\n" for kind in lines.values() for line in kind)
    (HERE / f"pseudo-{engine.name}.txt").write_text(text)


def sequences(rng):
    """Entropy (one number, or several) and spawn key."""
    edges = [0, 1, 12345, 2**32 - 1, 2**32, 2**64, 2**96, 2**127, 2**128 - 1, 2**128, 2**160 + 5, 2**512 - 1]
    keys = [(), (0,), (1,), (0, 0), (1, 0), (0, 1), (2**32 - 1,), (2**32,), (2**32 + 5,), (5, 1), (2**128,), (7,) * 40]
    for entropy in edges:
        for key in keys:
            yield [entropy], key
    for entropy in ([], [0, 0], [1, 2], [2**32, 1], [1, 2, 3, 4], [1, 2, 3, 4, 5], [0] * 9):
        yield entropy, ()
        yield entropy, (3,)
    for _ in range(200):
        entropy = [rng.getrandbits(rng.randrange(1, 300)) for _ in range(rng.choice((1, 1, 1, 2, 5)))]
        key = tuple(rng.getrandbits(rng.choice((3, 32, 40, 70))) for _ in range(rng.choice((0, 1, 2, 3, 9))))
        yield entropy, key


SEQUENCE_HEAD = """\
# Known answers for NumPy's SeedSequence with its default pool of 4 words.
# Made by vectors/make-pseudo.py: every output is what NumPy {numpy} gives. NEP 19 freezes the algorithm.
#
# Lines; all numbers are in hexadecimal, - is an empty list:
#  sequence entropy=E,.. key=K,.. u32=W,.. u64=W,..
#       s = SeedSequence(E, spawn_key=(K, ..)), where several E, or none, are a list of integers;
#       u32 is s.generate_state(10, uint32), u64 is s.generate_state(5, uint64).
#       NumPy breaks each E and each K into 32-bit words, the lowest first, one word at least.
# There are {cases} lines.
"""


def make_seed_sequence():
    lines = []
    for entropy, key in sequences(random.Random("seed-sequence")):
        given = entropy[0] if len(entropy) == 1 else entropy
        sequence = numpy.random.SeedSequence(given, spawn_key=key)
        u32 = hex_list(sequence.generate_state(10, numpy.uint32), 8)
        u64 = hex_list(sequence.generate_state(5, numpy.uint64), 16)
        lines.append(
            f"sequence entropy={hex_list(entropy, 1) or '-'} key={hex_list(key, 1) or '-'} u32={u32} u64={u64}\n"
        )
    head = SEQUENCE_HEAD.format(numpy=numpy.__version__, cases=len(lines))
    (HERE / "seed-sequence.txt").write_text(head + "".join(lines))


if __name__ == "__main__":
    make_pseudo(Xorshift128Plus)
    make_pseudo(Xoshiro256PlusPlus)
    make_pseudo(Xoshiro256PlusPlusX16)
    make_seed_sequence()
