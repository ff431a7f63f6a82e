"""Bit generators in the hands of NumPy."""

import concurrent.futures
import copy
import gc
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from wellspring import random as wr

STREAMS = [
    wr.ChaCha8,
    wr.ChaCha12,
    wr.ChaCha20,
    wr.Aes256Ctr,
    wr.Philox4x64,
    wr.Xoshiro256PlusPlus,
    wr.Xoshiro256PlusPlusX16,
    wr.Xorshift128Plus,
]
streams = pytest.mark.parametrize("kind", STREAMS)


@streams
def test_numbers_are_the_words_of_the_stream(kind):
    words = np.frombuffer(kind(5).bytes(8 * 1000), "<u8")
    np.testing.assert_array_equal(kind(5).random_raw(1000), words)
    np.testing.assert_array_equal(np.random.Generator(kind(5)).random(1000), (words >> np.uint64(11)) * 2.0**-53)
    # A number of 32 bits takes half of a word, the lower one first.
    halves = np.frombuffer(words.astype("<u8").tobytes(), "<u4")
    drawn = np.random.Generator(kind(5)).integers(0, 2**32, 2000, dtype=np.uint32)
    np.testing.assert_array_equal(drawn, halves)


@streams
def test_bytes_do_not_depend_on_how_they_are_read(kind):
    whole = kind(5).bytes(20_000)
    bit_generator, position = kind(5), 0
    for length in (3, 8, 0, 1, 1000, 1024, 2048, 7, 5000):
        assert bit_generator.bytes(length) == whole[position : position + length]
        position += length
        assert bit_generator.position == position
        word = int(bit_generator.random_raw())
        assert word == int.from_bytes(whole[position : position + 8], "little")
        position += 8


@streams
def test_a_long_read_is_the_stream(kind):
    length = 5_000_003
    bit_generator = kind(5)
    bit_generator.random_raw(3)
    data = bit_generator.bytes(length)
    for start in (0, 999, 262_140, 2_097_150, length - 100):
        assert data[start : start + 100] == kind(5).at(24 + start).bytes(100)
    assert bit_generator.position == 24 + length
    assert bit_generator.bytes(50) == kind(5).at(24 + length).bytes(50)


@streams
def test_a_pickle_goes_on_where_the_bit_generator_is(kind):
    rng = np.random.Generator(kind(5, path=(1, 2)))
    rng.random(1001)
    rng.integers(0, 9, dtype=np.int32)
    for again in (pickle.loads(pickle.dumps(rng)), copy.deepcopy(rng)):
        other = copy.deepcopy(rng)
        assert type(again.bit_generator) is kind
        np.testing.assert_array_equal(again.integers(0, 9, 7, dtype=np.int32), other.integers(0, 9, 7, dtype=np.int32))
        np.testing.assert_array_equal(again.random(2000), other.random(2000))
        assert again.spawn(1)[0].random() == other.spawn(1)[0].random()


@streams
def test_a_state_is_set_under_the_generators_that_exist(kind):
    bit_generator = kind(5)
    rng = np.random.Generator(bit_generator)
    rng.integers(0, 9, dtype=np.int32)
    state = bit_generator.state
    first = rng.integers(0, 1000, 101, dtype=np.int32), rng.random(1000)
    bit_generator.state = state
    np.testing.assert_array_equal(rng.integers(0, 1000, 101, dtype=np.int32), first[0])
    np.testing.assert_array_equal(rng.random(1000), first[1])
    jumped = bit_generator.jumped(3)
    bit_generator.state = jumped.state
    assert rng.random() == np.random.Generator(jumped).random()


@streams
def test_wrong_states_are_refused_and_change_nothing(kind):
    bit_generator = kind(5)
    good = bit_generator.state
    with pytest.raises(TypeError, match="state"):
        bit_generator.state = 5
    with pytest.raises(ValueError, match="state"):
        bit_generator.state = {**good, "bit_generator": "MT19937"}
    with pytest.raises(ValueError, match="state"):
        bit_generator.state = {"bit_generator": kind.__name__}
    for key, value in (("key", (1, 2)), ("key", "abcd"), ("jumps", -1), ("position", 1 << 128), ("jumps", 1 << 63)):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            bit_generator.state = {**good, "state": {**good["state"], key: value}}
    assert bit_generator.state == good


@streams
def test_advance_at_and_jumped_go_where_they_say(kind):
    whole = kind(5).random_raw(3000)
    assert kind(5).advance(1000).random_raw() == whole[1000]
    assert kind(5).advance(2000).advance(-500).random_raw() == whole[1500]
    reader = kind(5)
    reader.random_raw(10)
    assert reader.at(8 * 77).random_raw() == whole[77]
    assert reader.random_raw() == whole[10]
    jumped = reader.jumped()
    assert jumped.position == reader.position == 88
    assert jumped.bytes(64) != kind(5).at(88).bytes(64)
    assert jumped.bytes(64) == kind(5).jumped(1).at(152).bytes(64)
    assert reader.jumped(2).bytes(64) == reader.jumped(1).jumped(1).bytes(64)
    for wrong in (lambda: reader.jumped(-1), lambda: reader.jumped(1 << 63), lambda: reader.at(-1)):
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(TypeError):
        reader.advance(1.5)


@streams
def test_paths_seeds_and_children_differ(kind):
    names = [(5, ()), (6, ()), (5, (0,)), (5, (1,)), (5, (0, 0)), (5, (0, 1)), (2**127, ())]
    assert len({bytes(kind(seed, path=path).bytes(32)) for seed, path in names}) == len(names)
    assert kind(5, path="0/1").bytes(32) == kind(5, path=(0, 1)).bytes(32)
    assert kind().bytes(32) != kind().bytes(32)
    assert kind([1, 2, 3]).bytes(32) == kind(np.random.SeedSequence([1, 2, 3])).bytes(32)
    assert kind(2**200).bytes(32) != kind(2**200 + 1).bytes(32)
    parent = kind(5)
    first, second = parent.spawn(1)[0], parent.spawn(1)[0]
    assert first.bytes(32) == kind(5, path="0").bytes(32) and second.bytes(32) == kind(5, path="1").bytes(32)


@streams
def test_names_that_are_none_are_refused(kind):
    for seed in (-1, 1.5, "abc"):
        with pytest.raises((TypeError, ValueError)):
            kind(seed)
    for path in ("", "3//1", "a", (1 << 32,), (-1,), 1 << 32, -1):
        with pytest.raises(ValueError, match="path"):
            kind(5, path=path)
    for path in (3.5, (1.5,)):
        with pytest.raises(TypeError, match="path"):
            kind(5, path=path)
    with pytest.raises(TypeError, match="path"):
        kind(np.random.SeedSequence(5), path=(1,))


@streams
def test_the_state_outlives_every_other_reference(kind):
    expected = np.random.Generator(kind(5)).random(5000)
    rng = np.random.Generator(kind(5))
    gc.collect()
    rest = [np.empty(5000) for _ in range(50)]
    np.testing.assert_array_equal(rng.random(5000), expected)
    assert len(rest) == 50


@streams
def test_one_generator_serves_many_threads(kind):
    """Every word is drawn once, by one of the threads."""
    rng = np.random.Generator(kind(5))
    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(lambda _: rng.random(1000), range(64)))
    expected = np.random.Generator(kind(5)).random(64_000)
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.sort(expected))


def test_bytes_and_numbers_of_threads_share_one_stream():
    bit_generator = wr.ChaCha8(5)
    rng = np.random.Generator(bit_generator)

    def draw(task):
        if task % 2:
            return rng.random(1024)
        words = np.frombuffer(bit_generator.bytes(8 * 1024), "<u8")
        return (words >> np.uint64(11)) * 2.0**-53

    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(draw, range(128)))
    expected = np.random.Generator(wr.ChaCha8(5)).random(128 * 1024)
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.sort(expected))


def test_the_c_functions_of_a_stream_work():
    for interface in ("ctypes", "cffi"):
        if interface == "cffi":
            pytest.importorskip("cffi")
        bit_generator, same = wr.ChaCha8(5), wr.ChaCha8(5)
        functions = getattr(bit_generator, interface)
        for _ in range(300):
            assert functions.next_uint64(functions.state) == same.random_raw()
        value = functions.next_double(functions.state)
        assert value == np.random.Generator(same).random()


def test_default_rng_takes_what_numpys_takes():
    assert isinstance(wr.default_rng(5).bit_generator, wr.ChaCha8)
    assert wr.default_rng(5).random() == np.random.Generator(wr.ChaCha8(5)).random()
    assert wr.default_rng(5, path="3/1").random() == np.random.Generator(wr.ChaCha8(5, path=(3, 1))).random()
    rng = wr.default_rng(5)
    assert wr.default_rng(rng) is rng
    bit_generator = wr.Xoshiro256PlusPlus(1)
    assert wr.default_rng(bit_generator).bit_generator is bit_generator
    assert wr.default_rng().random() != wr.default_rng().random()
    assert np.random.default_rng(bit_generator).bit_generator is bit_generator


def test_the_engine_draws_and_has_no_state():
    engine = wr.Engine()
    rng = np.random.Generator(engine)
    values = rng.random(100_000)
    assert ((values >= 0) & (values < 1)).all() and len(np.unique(values)) > 99_990
    assert abs(values.mean() - 0.5) < 0.01
    assert len(set(engine.random_raw(10_000))) == 10_000
    assert engine.ctypes.next_uint64(engine.ctypes.state) != engine.ctypes.next_uint64(engine.ctypes.state)
    assert len(rng.spawn(3)) == 3 and isinstance(engine.spawn(1)[0], wr.Engine)
    assert len(engine.bytes(33)) == 33
    attempts = (
        lambda: engine.state,
        lambda: setattr(engine, "state", {}),
        lambda: engine.seed_seq,
        lambda: pickle.dumps(engine),
        lambda: pickle.dumps(rng),
        lambda: copy.copy(engine),
        lambda: copy.deepcopy(rng),
    )
    for attempt in attempts:
        with pytest.raises(TypeError, match="engine"):
            attempt()
    with pytest.raises(TypeError):
        wr.Engine(5)


def test_a_second_construction_of_a_bit_generator_is_refused_and_changes_nothing():
    """NumPy's would give it another lock, while generators and other threads go on with the first one."""
    bit_generator, same = wr.ChaCha8(1), wr.ChaCha8(1)
    generator, lock, capsule = np.random.Generator(bit_generator), bit_generator.lock, bit_generator.capsule
    for arguments in ((), (2,), (3, "x")):
        with pytest.raises((RuntimeError, TypeError)):
            bit_generator.__init__(*arguments)
    with pytest.raises(RuntimeError, match="made once"):
        bit_generator.__init__(2)
    assert bit_generator.lock is lock and bit_generator.capsule is capsule
    assert generator.bytes(100) == np.random.Generator(same).bytes(100)


def test_of_two_constructions_at_the_same_time_one_is_refused():
    for _ in range(50):
        bit_generator = wr.ChaCha8.__new__(wr.ChaCha8)
        barrier = threading.Barrier(4)

        def construct(bit_generator=bit_generator, barrier=barrier):
            barrier.wait(60)
            try:
                bit_generator.__init__(1)
            except RuntimeError:
                return 0
            return 1

        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            made = [threads.submit(construct) for _ in range(4)]
        assert sum(one.result() for one in made) == 1
        assert bit_generator.bytes(8) == wr.ChaCha8(1).bytes(8)


def test_a_stream_lives_as_long_as_what_reads_it():
    """Whatever becomes of the attribute."""
    bit_generator, same = wr.ChaCha8(1), wr.ChaCha8(1)
    generator = np.random.Generator(bit_generator)
    with pytest.raises(RuntimeError, match="stream"):
        wr.ChaCha8(2)._stream.install(bit_generator.capsule)
    with pytest.raises(TypeError):
        wr.ChaCha8(2)._stream.install(5)
    stream = weakref_count(bit_generator._stream)
    vars(bit_generator).clear()
    del bit_generator
    others = [wr.ChaCha8(2) for _ in range(1000)]
    assert generator.bytes(100_000) == np.random.Generator(same).bytes(100_000)
    assert stream() > 1 and others
    del generator
    assert stream() == 1, "and no longer"


def weakref_count(stream):
    """Return a function that counts the references to a stream. The function keeps one itself."""
    return lambda: sys.getrefcount(stream) - 1


def test_a_bit_generator_whose_construction_failed_has_no_functions_to_call():
    class Seeds(np.random.bit_generator.ISeedSequence):
        def generate_state(self, n_words, dtype=np.uint32):
            return [1, 2, 3]

    for seed in (Seeds(), "text", 1.5):
        bit_generator = wr.ChaCha8.__new__(wr.ChaCha8)
        with pytest.raises(TypeError, match="seed"):
            bit_generator.__init__(seed)
        with pytest.raises((TypeError, ValueError)):
            np.random.Generator(bit_generator)
        bit_generator.__init__(1)
        assert bit_generator.bytes(8) == wr.ChaCha8(1).bytes(8)
