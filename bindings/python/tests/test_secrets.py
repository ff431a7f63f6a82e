"""`wellspring.secrets`, `SystemRandom`, `token_bytes`, `fill`: the semantics of the standard library."""

import array
import copy
import mmap
import pickle
import secrets as standard
import threading

import pytest

import wellspring
from wellspring import secrets


def test_there_is_every_name_of_the_standard_library():
    assert set(standard.__all__) == set(secrets.__all__)
    assert secrets.DEFAULT_ENTROPY == standard.DEFAULT_ENTROPY
    assert secrets.compare_digest is standard.compare_digest


@pytest.mark.parametrize("length", [0, 1, 7, 16, 32, 1000, 65535, 65536, 5_000_001])
def test_tokens_have_their_length_and_do_not_repeat(length):
    first, second = wellspring.token_bytes(length), secrets.token_bytes(length)
    assert type(first) is bytes and len(first) == len(second) == length
    assert length < 7 or first != second
    assert len(secrets.token_hex(length)) == 2 * length
    assert len(secrets.token_urlsafe(length)) == len(standard.token_urlsafe(length))


def test_tokens_have_32_bytes_by_default():
    assert len(secrets.token_bytes()) == len(secrets.token_bytes(None)) == 32
    assert len(secrets.token_hex()) == 64
    assert len(bytes.fromhex(secrets.token_hex(5))) == 5


def test_bits_stay_below_their_number_and_all_of_them_come():
    for k in (1, 2, 7, 8, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000):
        seen_or, seen_and = 0, (1 << k) - 1
        for _ in range(200):
            number = secrets.randbits(k)
            assert 0 <= number < 1 << k
            seen_or |= number
            seen_and &= number
        assert seen_or == (1 << k) - 1 and seen_and == 0, k
    assert secrets.randbits(0) == 0


@pytest.mark.parametrize("bound", [1, 2, 3, 10, 2**32 + 1, 2**63 + 1, 2**64 - 1, 2**64, 2**64 + 1, 10**40])
def test_numbers_stay_below_their_bound(bound):
    numbers = [secrets.randbelow(bound) for _ in range(300)]
    assert all(0 <= number < bound for number in numbers)
    assert bound < 3 or max(numbers) >= bound // 2 > min(numbers) or bound == 3
    if bound <= 10:
        assert set(numbers) == set(range(bound))


@pytest.mark.parametrize(
    ("call", "argument"),
    [("token_bytes", -1), ("randbits", -1), ("randbelow", 0), ("randbelow", -5), ("token_hex", -1)],
)
def test_wrong_values_are_refused_as_in_the_standard_library(call, argument):
    for module in (standard, secrets):
        with pytest.raises(ValueError):
            getattr(module, call)(argument)


@pytest.mark.parametrize("argument", ["8", 8.0, [8]])
def test_wrong_types_are_refused(argument):
    for call in (secrets.token_bytes, secrets.randbits, secrets.randbelow, wellspring.fill):
        with pytest.raises(TypeError):
            call(argument)
    with pytest.raises(IndexError):
        secrets.choice([])


def test_system_random_has_all_methods_of_random():
    rng = wellspring.SystemRandom()
    assert 0 <= rng.random() < 1
    assert rng.randrange(5, 8) in (5, 6, 7) and rng.choice("abc") in "abc"
    assert sorted(rng.sample(range(100), 100)) == list(range(100))
    items = list(range(50))
    rng.shuffle(items)
    assert sorted(items) == list(range(50)) != items
    assert len(rng.randbytes(5)) == 5 and 0 <= rng.getrandbits(70) < 2**70
    assert {rng.randrange(10**30) > 10**29 for _ in range(400)} == {True, False}
    assert isinstance(rng.gauss(0, 1), float) and len(rng.choices("ab", k=4)) == 4
    rng.seed(1)
    first = rng.random()
    rng.seed(1)
    assert rng.random() != first


def test_system_random_has_no_state_and_no_pickle():
    rng = wellspring.SystemRandom()
    for call in (rng.getstate, lambda: rng.setstate(()), lambda: pickle.dumps(rng), lambda: copy.copy(rng)):
        with pytest.raises(NotImplementedError):
            call()
    with pytest.raises(TypeError):
        rng.randbytes(None)


def test_buffers_of_every_kind_are_filled():
    mapped = mmap.mmap(-1, 4096)
    for out in (bytearray(4096), array.array("d", bytes(4096)), memoryview(bytearray(4096)), mapped):
        wellspring.fill(out)
        assert len(set(bytes(memoryview(out).cast("B")))) > 200
    out = bytearray(64)
    wellspring.fill(memoryview(out)[8:16])
    assert out[:8] == bytes(8) and out[16:] == bytes(48) and out[8:16] != bytes(8)
    wellspring.fill(bytearray())


def test_a_buffer_of_many_pieces_is_filled_to_its_last_byte():
    out = bytearray(5_000_003)
    wellspring.fill(out)
    for start in range(0, len(out), 1000):
        assert any(out[start : start + 1000]), start
    assert out[:250_000] != out[262_144 : 262_144 + 250_000]


def test_memory_that_cannot_be_filled_is_refused_by_name():
    with pytest.raises(ValueError, match="out is read-only"):
        wellspring.fill(b"12345678")
    with pytest.raises(ValueError, match="out is not C-contiguous"):
        wellspring.fill(memoryview(bytearray(10))[::2])
    with pytest.raises(TypeError, match="out"):
        wellspring.fill(7)


def test_threads_do_not_repeat_each_other():
    tokens: list[bytes] = []

    def draw():
        tokens.extend([wellspring.token_bytes(16) for _ in range(2000)])

    threads = [threading.Thread(target=draw) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(tokens)) == 16_000


def test_bytes_are_uniform():
    counts = [0] * 256
    for byte in wellspring.token_bytes(1 << 18):
        counts[byte] += 1
    # 255 degrees of freedom: a deviation of 22.6; a wrong alarm in 10^9 runs.
    assert sum((count - 1024) ** 2 / 1024 for count in counts) < 255 + 7 * 22.6
