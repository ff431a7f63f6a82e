#!/usr/bin/env python3
"""An independent model of Fortuna as random(4) of FreeBSD runs it.

    python3 vectors/model.py --check vectors/fortuna-freebsd.txt     compares every answer; exit status 1 if one differs
    python3 vectors/model.py vectors/fortuna-freebsd.txt             prints the file with the model's answers

Needs Python 3.9 or later and nothing else; takes about 10 seconds. Written from the text of the algorithm (Ferguson,
Schneier and Kohno, "Cryptography Engineering", chapter 9; random(4); FIPS 197; RFC 8439), not from any code of this
project or of FreeBSD, and without a thought for speed.
"""

import argparse
import hashlib
import struct
import sys

POOLS = 32
MIN_POOL_BYTES = 64
# A canonical read makes at most this many bytes under one key: a page of FreeBSD.
CHUNK_BYTES = 4096
# A concurrent read makes at most this many bytes under one AES key: 2^20 (FS&K 9.4).
AES_KEY_LIMIT_BYTES = 1 << 20
# Reads up to this length are printed whole.
MAX_SHOWN_BYTES = 300
WORD = 0xFFFFFFFF


# AES-256: FIPS 197.

def double(a):
    """The product of a and x in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1 (FIPS 197, 4.2)."""
    return (a << 1) ^ (0x11B if a & 0x80 else 0)


def make_sbox():
    """The inverse in GF(2^8), then the affine map of FIPS 197, 5.1.1."""
    powers, a = [], 1
    for _ in range(255):
        powers.append(a)
        a ^= double(a)  # times 3, which generates all elements but 0
    logs = {power: log for log, power in enumerate(powers)}
    sbox = []
    for value in range(256):
        inverse = powers[-logs[value] % 255] if value else 0
        bits = inverse | inverse << 8
        mapped = inverse ^ bits >> 7 ^ bits >> 6 ^ bits >> 5 ^ bits >> 4
        sbox.append(mapped & 0xFF ^ 0x63)
    return sbox


SBOX = make_sbox()
# What SubBytes and MixColumns make of one byte of a column, for each of the four rows.
COLUMNS = []
for row in range(4):
    table = []
    for byte in SBOX:
        column = [double(byte), byte, byte, double(byte) ^ byte]
        column = column[-row:] + column[:-row] if row else column
        table.append(int.from_bytes(bytes(column), "big"))
    COLUMNS.append(table)


class Aes256:
    name, block_bytes = "aes", 16

    def __init__(self, key):
        """KeyExpansion (FIPS 197, 5.2): 60 words for 14 rounds."""
        words = list(struct.unpack(">8I", key))
        constant = 1
        for i in range(8, 60):
            word = words[-1]
            if i % 8 == 0:
                word = (word << 8 | word >> 24) & WORD
            if i % 4 == 0:
                word = int.from_bytes(bytes(SBOX[byte] for byte in word.to_bytes(4, "big")), "big")
            if i % 8 == 0:
                word ^= constant << 24
                constant = double(constant)
            words.append(words[-8] ^ word)
        self.rounds = [words[i:i + 4] for i in range(0, 60, 4)]

    def block(self, counter):
        """E(K, C), with C as 16 little-endian bytes."""
        first, *middle, last = self.rounds
        t0, t1, t2, t3 = COLUMNS
        a, b, c, d = (word ^ key for word, key in zip(struct.unpack(">4I", counter.to_bytes(16, "little")), first))
        for k0, k1, k2, k3 in middle:
            a, b, c, d = (
                t0[a >> 24] ^ t1[b >> 16 & 255] ^ t2[c >> 8 & 255] ^ t3[d & 255] ^ k0,
                t0[b >> 24] ^ t1[c >> 16 & 255] ^ t2[d >> 8 & 255] ^ t3[a & 255] ^ k1,
                t0[c >> 24] ^ t1[d >> 16 & 255] ^ t2[a >> 8 & 255] ^ t3[b & 255] ^ k2,
                t0[d >> 24] ^ t1[a >> 16 & 255] ^ t2[b >> 8 & 255] ^ t3[c & 255] ^ k3,
            )
        rows = ((a, b, c, d), (b, c, d, a), (c, d, a, b), (d, a, b, c))
        words = (
            SBOX[p >> 24] << 24 | SBOX[q >> 16 & 255] << 16 | SBOX[r >> 8 & 255] << 8 | SBOX[s & 255]
            for p, q, r, s in rows
        )
        return struct.pack(">4I", *(word ^ key for word, key in zip(words, last)))


# ChaCha20: RFC 8439, 2.1 to 2.3, with a counter of 128 bits in words 12 to 15.

QUARTERS = (
    (0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
    (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14),
)


class ChaCha20:
    name, block_bytes = "chacha", 64

    def __init__(self, key):
        self.start = struct.unpack("<4I", b"expand 32-byte k") + struct.unpack("<8I", key)

    def block(self, counter):
        start = self.start + struct.unpack("<4I", counter.to_bytes(16, "little"))
        x = list(start)
        for _ in range(10):
            for i, j, k, l in QUARTERS:
                a, b, c, d = x[i], x[j], x[k], x[l]
                a = (a + b) & WORD
                d ^= a
                d = (d << 16 | d >> 16) & WORD
                c = (c + d) & WORD
                b ^= c
                b = (b << 12 | b >> 20) & WORD
                a = (a + b) & WORD
                d ^= a
                d = (d << 8 | d >> 24) & WORD
                c = (c + d) & WORD
                b ^= c
                b = (b << 7 | b >> 25) & WORD
                x[i], x[j], x[k], x[l] = a, b, c, d
        return struct.pack("<16I", *((word + first) & WORD for word, first in zip(x, start)))


CIPHERS = {cipher.name: cipher for cipher in (Aes256, ChaCha20)}


def check_ciphers():
    """FIPS 197 C.3, and RFC 8439 2.3.2, whose counter and nonce are the 128 bits of C."""
    plain = int.from_bytes(bytes.fromhex("00112233445566778899aabbccddeeff"), "little")
    assert Aes256(bytes(range(32))).block(plain).hex() == "8ea2b7ca516745bfeafc49904b496089"
    counter = int.from_bytes(bytes.fromhex("01000000000000090000004a00000000"), "little")
    assert ChaCha20(bytes(range(32))).block(counter).hex().startswith("10f1e7e4d13b5915500fdd1fa32071c4")


# Fortuna.

def sha_d256(data):
    return hashlib.sha256(hashlib.sha256(data).digest()).digest()


class Generator:
    """FS&K's (K, C). C = 0 says that there was no seed so far."""

    def __init__(self, cipher, key=bytes(32), counter=0):
        self.cipher, self.key, self.counter = cipher, key, counter

    def blocks(self, length):
        """So many bytes of keystream. A partial block costs a whole step, and C wraps at 2^128."""
        cipher, blocks = self.cipher(self.key), []
        for _ in range(-(-length // cipher.block_bytes)):
            blocks.append(cipher.block(self.counter))
            self.counter = (self.counter + 1) % 2**128
        return b"".join(blocks)[:length]

    def rekey(self):
        self.key = self.blocks(32)

    def reseed(self, seed):
        """FS&K 9.4.2; as in FreeBSD the hash starts with 64 zeros, and has the old key only if there is one."""
        old_key = self.key if self.counter else b""
        self.key = sha_d256(bytes(64) + old_key + seed)
        self.counter = (self.counter + 1) % 2**128

    def read_canonical(self, length):
        """FS&K 9.4.4: a new key after each chunk. Under AES the part after the last whole block is a chunk."""
        output = b""
        while True:
            chunk = min(length - len(output), CHUNK_BYTES)
            if self.cipher is Aes256 and chunk >= 16:
                chunk -= chunk % 16
            output += self.blocks(chunk)
            self.rekey()
            if len(output) == length:
                return output

    def read_concurrent(self, length):
        """random(4) with concurrent_read: the shared state steps over what the reader's copy will use, and rekeys."""
        copy = Generator(self.cipher, self.key, self.counter)
        steps = -(-length // self.cipher.block_bytes)
        if self.cipher is Aes256:
            steps += 2 * (steps * 16 // AES_KEY_LIMIT_BYTES)
        self.counter = (self.counter + steps) % 2**128
        self.rekey()
        limit = AES_KEY_LIMIT_BYTES if self.cipher is Aes256 else length
        output = b""
        while len(output) < length:
            if output:
                copy.rekey()
            output += copy.blocks(min(length - len(output), limit))
        return output


class Fortuna:
    """The 32 pools and the generator, without a clock: a reseed depends on pool 0 alone."""

    def __init__(self, cipher, concurrent):
        self.generator = Generator(cipher)
        self.concurrent = concurrent
        self.pools = [b""] * POOLS
        self.reseeds = 0

    def absorb(self, counter, data, pool):
        self.pools[pool % POOLS] += struct.pack("<I", counter) + data

    def reseed_if_due(self):
        """FS&K 9.5.5: reseed r uses pool i if 2^i divides r."""
        if len(self.pools[0]) < MIN_POOL_BYTES:
            return
        self.reseeds += 1
        seed = b""
        for i in range(POOLS):
            if self.reseeds % 2**i:
                break
            seed += sha_d256(self.pools[i])
            self.pools[i] = b""
        self.generator.reseed(seed)

    def read(self, length):
        if self.concurrent:
            return self.generator.read_concurrent(length)
        return self.generator.read_canonical(length)

    def state(self):
        key = self.generator.key
        return {
            "reseeds": str(self.reseeds),
            "len0": str(len(self.pools[0])),
            "C": self.generator.counter.to_bytes(16, "little").hex(),
            "K": "none" if key == bytes(32) and not self.reseeds else key.hex(),
        }


# The lines of a vector file.

def fields_of(words):
    return dict(word.split("=", 1) for word in words if "=" in word)


def unhex(text):
    return b"" if text == "-" else bytes.fromhex(text)


def show_output(output, asked):
    whole = {"out": output.hex() or "-"}
    digest = {
        "sha256": hashlib.sha256(output).hexdigest(),
        "first": output[:32].hex() or "-",
        "last": output[-32:].hex() or "-",
    }
    if asked.keys() & digest.keys():
        return digest
    return whole if "out" in asked or len(output) <= MAX_SHOWN_BYTES else digest


class Replay:
    """Runs the lines of a file, one after the other."""

    def __init__(self):
        self.fortuna = None

    def line(self, line):
        """The fields that the model answers with; None for a line without an answer."""
        word, *words = line.split() or ["#"]
        fields = fields_of(words)
        if word.startswith("#") or word == "end":
            return None
        if word in ("begin", "gen"):
            self.fortuna = Fortuna(CIPHERS[fields["cipher"]], fields["concurrent"] == "1")
            if word == "gen":
                self.fortuna.generator.key = bytes.fromhex(fields["K"])
                self.fortuna.generator.counter = int.from_bytes(bytes.fromhex(fields["C"]), "little")
            return None
        if word == "ev":
            pool = 0 if fields["src"] == "vmgenid" else int(fields["dest"])
            self.fortuna.absorb(int(fields["ctr"], 16), unhex(fields["data"])[:int(fields["size"])], pool)
            return None
        if word == "pre":
            self.fortuna.reseed_if_due()
            return self.fortuna.state()
        if word == "after":
            return self.fortuna.state()
        if word == "read":
            return show_output(self.fortuna.read(int(fields["n"])), fields)
        raise ValueError(f"unknown kind of line: {word}")


def main():
    parser = argparse.ArgumentParser(description="An independent model of FreeBSD's Fortuna.")
    parser.add_argument("--check", action="store_true", help="compare the answers, and print those that differ")
    parser.add_argument("file", help="a vector file, such as vectors/fortuna-freebsd.txt")
    arguments = parser.parse_args()
    check_ciphers()
    replay, same, different, missing = Replay(), 0, 0, 0
    try:
        file = open(arguments.file, encoding="utf-8")
    except OSError as error:
        sys.exit(f"{arguments.file}: {error.strerror}")
    with file:
        for number, line in enumerate(file, 1):
            try:
                answer = replay.line(line)
            except (AttributeError, KeyError, ValueError) as error:
                sys.exit(f"{arguments.file}:{number}: cannot be replayed: {error!r}")
            given = fields_of(line.split())
            given.pop("n", None)
            if answer is None:
                shown = line.rstrip("\n")
            else:
                start = line.split("=")[0].rsplit(" ", 1)[0] if "=" in line else line.rstrip("\n")
                length = [word for word in line.split() if word.startswith("n=")]
                shown = " ".join([start, *length, *(f"{name}={value}" for name, value in answer.items())])
                if not given:
                    missing += 1
                elif all(answer.get(name) == value.lower() for name, value in given.items()):
                    same += 1
                else:
                    different += 1
                    if arguments.check:
                        print(f"{arguments.file}:{number}: the file says  {line.strip()}")
                        print(f"{arguments.file}:{number}: the model says {shown.strip()}")
            if not arguments.check:
                print(shown)
    if arguments.check:
        print(f"{arguments.file}: {same} answers the same, {different} different, {missing} not given")
        # A file without answers was not checked at all.
        sys.exit(different > 0 or same == 0)


if __name__ == "__main__":
    main()
