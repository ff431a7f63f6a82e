"""Identifiers of traces and spans for OpenTelemetry's SDK.

The SDK's own generator draws on the module `random`: clones of a machine give its identifiers again, and so does a program
that seeds `random`. These come from wellspring's engine, which notices both. W3C's flag says that they are random.

Examples
--------
>>> from opentelemetry.sdk.trace import TracerProvider
>>> tracer = TracerProvider(id_generator=IdGenerator()).get_tracer("example")
>>> with tracer.start_as_current_span("work") as span:
...     span.get_span_context().trace_flags.random_trace_id
True
"""

from opentelemetry.sdk.trace import id_generator

from wellspring._native import randbits, token_bytes

__all__ = ["IdGenerator"]


class IdGenerator(id_generator.IdGenerator):
    """An `IdGenerator` of opentelemetry-sdk on wellspring's engine."""

    def generate_trace_id(self) -> int:
        """Return a number of 128 bits that is not 0."""
        # A third of the time that randbits(128) takes, which wipes its bytes: these are no secret.
        while not (number := int.from_bytes(token_bytes(16), "little")):
            pass
        return number

    def generate_span_id(self) -> int:
        """Return a number of 64 bits that is not 0."""
        while not (number := randbits(64)):
            pass
        return number

    def is_trace_id_random(self) -> bool:
        """Return True: all bits are random, as W3C's flag `random-trace-id` asks (opentelemetry-sdk 1.42 and later)."""
        return True
