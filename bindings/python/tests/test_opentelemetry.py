"""The identifiers of OpenTelemetry's SDK."""

import os
import random

import pytest

trace = pytest.importorskip("opentelemetry.sdk.trace")

from wellspring.opentelemetry import IdGenerator  # noqa: E402


def spans(count):
    """The identifiers of so many traces of one span, and W3C's flag of each."""
    tracer = trace.TracerProvider(id_generator=IdGenerator()).get_tracer("test")
    contexts = [tracer.start_span("work").get_span_context() for _ in range(count)]
    assert all(context.is_valid for context in contexts)
    return [(context.trace_id, context.span_id, context.trace_flags.random_trace_id) for context in contexts]


def test_no_identifier_comes_twice_and_the_flag_says_that_they_are_random():
    made = spans(1000)
    assert len({trace_id for trace_id, _, _ in made}) == len({span_id for _, span_id, _ in made}) == 1000
    assert all(flag for _, _, flag in made)
    # Every bit is used.
    assert max(trace_id for trace_id, _, _ in made) >> 127 and max(span_id for _, span_id, _ in made) >> 63


def test_neither_a_seed_nor_a_fork_repeats_them():
    random.seed(1)
    first = spans(10)
    random.seed(1)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, repr(spans(10)).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        of_child = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    of_parent = repr(spans(10))
    assert len({of_child, of_parent, repr(first)}) == 3
