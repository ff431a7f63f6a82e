"""Known answers, which NumPy, Random123 and models in Python made."""

import hashlib

import numpy as np
import pytest
from conftest import lines

from wellspring import random as wr
from wellspring.random import Elements

KINDS = {
    "xoshiro256++": wr.Xoshiro256PlusPlus,
    "xoshiro256++x16": wr.Xoshiro256PlusPlusX16,
    "xorshift128+": wr.Xorshift128Plus,
    "philox4x64-10": wr.Philox4x64,
    "chacha8": wr.ChaCha8,
    "chacha12": wr.ChaCha12,
    "chacha20": wr.ChaCha20,
    "aes256-ctr": wr.Aes256Ctr,
}


def name(fields):
    return int(fields["seed"], 16), fields["path"]


@pytest.mark.parametrize("algorithm", KINDS)
def test_every_stream_has_its_known_bytes(algorithm):
    streams = [fields for word, fields in lines(f"pseudo-{algorithm}.txt") if word == "stream"]
    assert len(streams) > 20
    for fields in streams:
        seed, path = name(fields)
        stream = KINDS[algorithm](seed, path=path).jumped(int(fields.get("jump", 0)))
        data = stream.at(int(fields.get("at", 0))).bytes(int(fields["n"]))
        if "sha256" in fields:
            assert hashlib.sha256(data).hexdigest() == fields["sha256"], fields
        if "first" in fields:
            first = bytes.fromhex(fields["first"])
            assert data[: len(first)] == first, fields
        assert "sha256" in fields or "first" in fields


def made(word, fields):
    elements = Elements(*name(fields), fields["algorithm"])
    first, n = int(fields["first"]), int(fields["n"])
    if word == "array":
        kind, dtype = fields["kind"].rsplit("-f", 1)
        method = {"uniform": elements.random, "normal": elements.standard_normal, "exponential": elements.exponential}
        return method[kind](size=n, dtype=f"float{dtype}", first=first)
    if word == "integers":
        dtype = fields["type"].replace("i", "int").replace("u", "uint")
        return elements.integers(int(fields["low"]), int(fields["high"]), n, dtype, endpoint=True, first=first)
    if word == "shuffle":
        order = np.arange(n, dtype=np.uint64)
        elements.shuffle(order)
        return order
    return elements.permutation(int(fields["length"]), n, first=first)


def test_every_array_has_its_known_elements():
    kinds = set()
    for word, fields in lines("pseudo-elements.txt"):
        # The permutations of Python are int64.
        if int(fields.get("length", 0)) >= 1 << 63:
            continue
        kinds.add(word)
        array = made(word, fields)
        data = array.astype(array.dtype.newbyteorder("<")).tobytes()
        assert hashlib.sha256(data).hexdigest() == fields["sha256"], fields
    assert kinds == {"array", "integers", "shuffle", "permutation"}


@pytest.mark.parametrize(("seed", "path"), [(0, ()), (2026, (3, 0, 17)), (2**100 + 1, (2**32 - 1,))])
def test_philox_is_that_of_numpy_in_every_method(seed, path):
    ours = np.random.Generator(wr.Philox4x64(seed, path=path))
    theirs = np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=path)))
    for draw in (
        lambda rng: rng.bit_generator.random_raw(777),
        lambda rng: rng.random(1001),
        lambda rng: rng.random(1001, dtype=np.float32),
        lambda rng: rng.integers(0, 1000, 1001, dtype=np.int32),
        lambda rng: rng.integers(-5, 10**15, 1001),
        lambda rng: rng.standard_normal(1001),
        lambda rng: rng.bytes(1003),
        lambda rng: rng.permutation(1001),
        lambda rng: rng.poisson(3.5, 1001),
    ):
        np.testing.assert_array_equal(draw(ours), draw(theirs))
    children = zip(ours.spawn(3), theirs.spawn(3), strict=True)
    for our_child, their_child in children:
        np.testing.assert_array_equal(our_child.random(100), their_child.random(100))


def test_jumps_of_philox_are_those_of_numpy():
    seed = np.random.SeedSequence(7)
    for jumps in (1, 2, 1000):
        ours, theirs = wr.Philox4x64(seed).jumped(jumps), np.random.Philox(seed).jumped(jumps)
        np.testing.assert_array_equal(ours.random_raw(100), theirs.random_raw(100))


def test_uniform_elements_are_the_numbers_of_numpy_over_the_same_stream():
    seed = np.random.SeedSequence(2026, spawn_key=(3, 0, 17))
    elements = Elements(2026, (3, 0, 17), "philox4x64-10")
    np.testing.assert_array_equal(
        elements.random(10_000), np.random.Generator(np.random.Philox(seed)).random(10_000)
    )
    np.testing.assert_array_equal(
        elements.random(10_001, np.float32),
        np.random.Generator(np.random.Philox(seed)).random(10_001, np.float32),
    )


@pytest.mark.parametrize("algorithm", KINDS)
def test_a_seed_sequence_names_the_stream_of_its_seed_and_path(algorithm):
    seed = np.random.SeedSequence(2026, spawn_key=(3, 1))
    assert KINDS[algorithm](seed).bytes(100) == KINDS[algorithm](2026, path="3/1").bytes(100)
    parent = KINDS[algorithm](2026, path="3")
    assert parent.spawn(2)[1].bytes(100) == KINDS[algorithm](2026, path="3/1").bytes(100)


def test_elements_of_a_seed_sequence_are_those_of_its_seed_and_path():
    seed = np.random.SeedSequence(2026, spawn_key=(3, 1))
    for algorithm in ("chacha8", "philox4x64-10"):
        from_sequence, named = Elements(seed, algorithm=algorithm), Elements(2026, "3/1", algorithm)
        assert from_sequence.bytes(1000, first=7) == named.bytes(1000, first=7)
        np.testing.assert_array_equal(from_sequence.standard_normal(1000), named.standard_normal(1000))
        assert named.bytes(1000) == KINDS[algorithm](seed).bytes(1000)
