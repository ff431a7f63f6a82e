"""Makes vectors/pseudo-{philox4x64-10,chacha8,chacha12,chacha20,aes256-ctr}.txt.

    python3 vectors/make-pseudo-counter.py          (needs NumPy and cryptography)

Nothing here comes from the crate wellspring-pseudo. Keys come from NumPy's own SeedSequence. Philox is
NumPy's own generator, and the function is written down again from the paper (Salmon et al. 2011). AES-256 and
ChaCha20 come from the library cryptography, ChaCha with 8 and 12 rounds from the model below, which is
compared with that library at 20 rounds before it is used.
"""

import hashlib
import pathlib
import random
import struct

import numpy
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

HERE = pathlib.Path(__file__).parent
MASK = 2**64 - 1

# The three lines for philox4x64 with 10 rounds of the file kat_vectors of Random123.
RANDOM123 = [
    ((0, 0, 0, 0), (0, 0), "16554d9eca36314c db20fe9d672d0fdc d7e772cee186176b 7e68b68aec7ba23b"),
    ((MASK,) * 4, (MASK,) * 2, "87b092c3013fe90b 438c3c67be8d0224 9cc7d7c69cd777b6 a09caebf594f0ba0"),
    (
        (0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89),
        (0x452821E638D01377, 0xBE5466CF34E90C6C),
        "a528f45403e61d95 38c72dbd566e9788 a5a1610e72fd18b5 57bd43b5e52b7fe6",
    ),
]


def philox(counter, key):
    a, b, c, d = counter
    k0, k1 = key
    for _ in range(10):
        first, second = 0xD2E7470EE14C6C93 * a, 0xCA5A826395121157 * c
        a, b, c, d = second >> 64 ^ b ^ k0, second & MASK, first >> 64 ^ d ^ k1, first & MASK
        k0, k1 = (k0 + 0x9E3779B97F4A7C15) & MASK, (k1 + 0xBB67AE8584CAA73B) & MASK
    return a, b, c, d


class Philox:
    name, pool_words, key_words, block_bytes = "philox4x64-10", 4, 2, 32
    jump_blocks = 2**128
    meaning = """\
#       The key is s.generate_state(2, uint64). Block b of jump J is the block of the counter J * 2^128 + b + 1:
#       the words of numpy.random.Philox(s), as little-endian bytes.
"""

    @staticmethod
    def blocks(key, first, count):
        counter = (first + 1) % 2**256
        by_numpy = numpy.random.Philox(key=numpy.array(key, numpy.uint64), counter=(counter - 1) % 2**256)
        words = by_numpy.random_raw(4 * count)
        model = philox([counter >> shift & MASK for shift in (0, 64, 128, 192)], key)
        assert [int(word) for word in words[:4]] == list(model)
        return words.astype("<u8").tobytes()


class ChaCha:
    pool_words, key_words, block_bytes = 8, 4, 64
    jump_blocks = 2**64
    meaning = """\
#       The key is the 32 little-endian bytes of s.generate_state(4, uint64). Block b of jump J is the ChaCha block
#       whose words 12 to 15 are the number J * 2^64 + b, the lowest word first.
"""

    def __init__(self, rounds):
        self.rounds, self.name = rounds, f"chacha{rounds}"

    def blocks(self, key, first, count):
        key = struct.pack("<4Q", *key)
        if self.rounds != 20:
            return b"".join(chacha_block(key, (first + i) % 2**128, self.rounds) for i in range(count))
        # The library counts 32 bits at most.
        data = b""
        while count:
            now = min(count, 2**32 - first % 2**32)
            nonce = (first % 2**128).to_bytes(16, "little")
            data += Cipher(algorithms.ChaCha20(key, nonce), None).encryptor().update(bytes(64 * now))
            first, count = first + now, count - now
        assert data[:64] == chacha_block(key, (first - len(data) // 64) % 2**128, 20)
        return data


def chacha_block(key, number, rounds):
    initial = struct.unpack("<16I", b"expand 32-byte k" + key + number.to_bytes(16, "little"))
    x = list(initial)

    def quarter(a, b, c, d):
        for p, q, r, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[p] = (x[p] + x[q]) & 0xFFFFFFFF
            y = x[r] ^ x[p]
            x[r] = (y << bits | y >> (32 - bits)) & 0xFFFFFFFF

    for _ in range(rounds // 2):
        for i in range(4):
            quarter(i, i + 4, i + 8, i + 12)
        for i in range(4):
            quarter(i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12)
    return struct.pack("<16I", *((a + b) & 0xFFFFFFFF for a, b in zip(x, initial)))


class Aes256Ctr:
    name, pool_words, key_words, block_bytes = "aes256-ctr", 8, 4, 16
    jump_blocks = 2**64
    meaning = """\
#       The key is the 32 little-endian bytes of s.generate_state(4, uint64). Block b of jump J is AES-256 of the 16
#       little-endian bytes of the number J * 2^64 + b.
"""

    @staticmethod
    def blocks(key, first, count):
        counters = b"".join(((first + i) % 2**128).to_bytes(16, "little") for i in range(count))
        return Cipher(algorithms.AES256(struct.pack("<4Q", *key)), modes.ECB()).encryptor().update(counters)


def name_key(function, seed, path):
    sequence = numpy.random.SeedSequence(seed, spawn_key=path, pool_size=function.pool_words)
    return tuple(int(word) for word in sequence.generate_state(function.key_words, numpy.uint64))


def stream(function, seed, path, jump, position, length):
    """Bytes of a stream; after its last one, number 2^128 - 1, it starts again."""
    key = name_key(function, seed, path)
    data = b""
    while len(data) < length:
        at = (position + len(data)) % 2**128
        block, skip = divmod(at, function.block_bytes)
        bytes_now = min(length - len(data), 2**128 - at)
        count = -(-(skip + bytes_now) // function.block_bytes)
        made = function.blocks(key, jump * function.jump_blocks + block, count)
        data += made[skip : skip + bytes_now]
    return data


def places(function, rng):
    """Seed, path, jump, position and length in bytes of streams."""
    for seed in (0, 1, 12345, 2**32 - 1, 2**32, 2**64 - 1, 2**64, 2**96, 2**128 - 1):
        for path in ((), (0,), (1,), (0, 0), (3, 0, 17), (2**32 - 1,)):
            yield seed, path, 0, 0, 1000
    yield 2026, tuple(range(32)), 0, 0, 1000
    yield 2026, (2**32 - 1,) * 32, 0, 0, 1000
    for length in (1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 511, 512, 513, 4096, 65536, 100_003):
        yield 2026, (3, 0, 17), 0, 0, length
    # The carries of the counter out of 32, 64 and 128 bits, and the end of the stream.
    for bits in (32, 64, 100):
        yield 2026, (1,), 0, 2**bits * function.block_bytes - 300, 2000
    yield 2026, (1,), 0, 2**128 - 300, 2000
    for jump in (1, 2, 2**32 - 1, 2**32, 2**63 - 1):
        yield 2026, (1,), jump, 0, 1000
        yield 2026, (1,), jump, 12345, 1000
    for _ in range(20):
        path = tuple(rng.getrandbits(rng.choice((4, 32))) for _ in range(rng.randrange(6)))
        yield (
            rng.getrandbits(rng.choice((32, 64, 128))),
            path,
            rng.choice((0, rng.getrandbits(40))),
            rng.getrandbits(rng.choice((8, 40, 90, 127))),
            rng.randrange(1, 3000),
        )


HEAD = """\
# Known answers for reproducible streams of {name}.
# Made by vectors/make-pseudo-counter.py with NumPy {numpy}, independently of this project's implementation.
#
# Lines:
{kinds}#  stream seed=HEX path=P jump=J at=A n=N first=HEX last=HEX sha256=HEX
#       s is SeedSequence(seed, spawn_key=P, pool_size={pool_words}) of NumPy. P is decimal numbers separated by /, the root
#       is /. J and A are decimal.
{meaning}#       Of the N bytes from byte A of jump J on: the first and last 32 of them (all, if there are fewer), and the
#       SHA-256 of all. A stream has 2^128 bytes; after the last one it starts again.
# The order of the lines does not matter. There are {counts} lines.
"""

BLOCK_KIND = """\
#  block counter=W,W,W,W key=W,W out=W,W,W,W
#       the function by itself; words are 64-bit numbers in hexadecimal, the lowest first. The first three lines are
#       those of Random123's kat_vectors.
"""


def hex_list(words):
    return ",".join(f"{word:016x}" for word in words)


def block_lines(rng):
    for counter, key, out in RANDOM123:
        assert hex_list(philox(counter, key)).replace(",", " ") == out
        yield counter, key
    for _ in range(20):
        yield tuple(rng.getrandbits(64) for _ in range(4)), tuple(rng.getrandbits(64) for _ in range(2))


def make(function):
    rng = random.Random(function.name)
    blocks = []
    if function.name.startswith("philox"):
        blocks = [
            f"block counter={hex_list(counter)} key={hex_list(key)} out={hex_list(philox(counter, key))}\n"
            for counter, key in block_lines(rng)
        ]
    lines = []
    for seed, path, jump, position, length in places(function, rng):
        data = stream(function, seed, path, jump, position, length)
        lines.append(
            f"stream seed={seed:x} path={'/'.join(map(str, path)) or '/'} jump={jump} at={position} n={length}"
            f" first={data[:32].hex()} last={data[-32:].hex()} sha256={hashlib.sha256(data).hexdigest()}\n"
        )
    counts = f"{len(blocks)} block, {len(lines)} stream" if blocks else f"{len(lines)} stream"
    head = HEAD.format(
        name=function.name,
        numpy=numpy.__version__,
        kinds=BLOCK_KIND if blocks else "",
        pool_words=function.pool_words,
        meaning=function.meaning,
        counts=counts,
    )
    (HERE / f"pseudo-{function.name}.txt").write_text(head + "".join(blocks + lines))


def check_against_numpy():
    """The stream is what a user of NumPy has: spawned, jumped and advanced generators."""
    parent = numpy.random.SeedSequence(2026)
    for index, child in enumerate(parent.spawn(3)):
        generator = numpy.random.Philox(child)
        raw = generator.random_raw(50).astype("<u8").tobytes()
        assert raw == stream(Philox, 2026, (index,), 0, 0, 400)
        raw = numpy.random.Philox(child).jumped(5).random_raw(50).astype("<u8").tobytes()
        assert raw == stream(Philox, 2026, (index,), 5, 0, 400)
        raw = numpy.random.Philox(child).advance(1000).random_raw(50).astype("<u8").tobytes()
        assert raw == stream(Philox, 2026, (index,), 0, 32 * 1000, 400)


if __name__ == "__main__":
    check_against_numpy()
    for function in (Philox, ChaCha(8), ChaCha(12), ChaCha(20), Aes256Ctr):
        make(function)
