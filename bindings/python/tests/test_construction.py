"""Bit generators that are made twice, by several threads, or not to the end: what generators read stays where it is."""

import concurrent.futures
import sys
import threading

import numpy as np
import pytest

from wellspring import random


def test_a_second_construction_of_a_bit_generator_is_refused_and_changes_nothing():
    """NumPy's would give it another lock, while generators and other threads go on with the first one."""
    bit_generator, same = random.ChaCha8(1), random.ChaCha8(1)
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
        bit_generator = random.ChaCha8.__new__(random.ChaCha8)
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
        assert bit_generator.bytes(8) == random.ChaCha8(1).bytes(8)


def test_a_stream_lives_as_long_as_what_reads_it():
    """Whatever becomes of the attribute."""
    bit_generator, same = random.ChaCha8(1), random.ChaCha8(1)
    generator = np.random.Generator(bit_generator)
    with pytest.raises(RuntimeError, match="stream"):
        random.ChaCha8(2)._stream.install(bit_generator.capsule)
    with pytest.raises(TypeError):
        random.ChaCha8(2)._stream.install(5)
    stream = weakref_count(bit_generator._stream)
    vars(bit_generator).clear()
    del bit_generator
    others = [random.ChaCha8(2) for _ in range(1000)]
    assert generator.bytes(100_000) == np.random.Generator(same).bytes(100_000)
    assert stream() > 1 and others
    del generator
    assert stream() == 1, "and no longer"


def weakref_count(stream):
    """Return what counts the references to a stream, one of which it keeps."""
    return lambda: sys.getrefcount(stream) - 1


def test_a_bit_generator_whose_construction_failed_has_no_functions_to_call():
    class Seeds(np.random.bit_generator.ISeedSequence):
        def generate_state(self, n_words, dtype=np.uint32):
            return [1, 2, 3]

    for seed in (Seeds(), "text", 1.5):
        bit_generator = random.ChaCha8.__new__(random.ChaCha8)
        with pytest.raises(TypeError, match="seed"):
            bit_generator.__init__(seed)
        with pytest.raises((TypeError, ValueError)):
            np.random.Generator(bit_generator)
        bit_generator.__init__(1)
        assert bit_generator.bytes(8) == random.ChaCha8(1).bytes(8)
