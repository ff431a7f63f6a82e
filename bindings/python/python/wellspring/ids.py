"""Identifiers: UUIDs of versions 4 and 7 (RFC 9562), ULIDs and trace ids.

`uuid4` and `uuid7` return `uuid.UUID`, as the functions of these names in the standard library do. Functions with `_text`
and `_bytes` return the text or 16 bytes at once. UUIDs of version 7 and ULIDs begin with the time in milliseconds. A thread
makes them in ascending order, even if the clock goes back. They do not repeat in threads and in children after a fork.
"""

from uuid import UUID, SafeUUID

from wellspring._native import trace_id, ulid, uuid4_bytes, uuid4_text, uuid7_bytes, uuid7_text

__all__ = ["trace_id", "ulid", "uuid4", "uuid4_bytes", "uuid4_text", "uuid7", "uuid7_bytes", "uuid7_text"]

_new = UUID.__new__
# The class refuses an assignment. Its constructor sets the same two after 0.5 microseconds of checks, and by a function that
# looks each up.
_set_int, _set_is_safe = (vars(UUID)[name].__set__ for name in ("int", "is_safe"))
_number = int.from_bytes
_UNKNOWN = SafeUUID.unknown


def _uuid(made: bytes) -> UUID:
    uuid = _new(UUID)
    _set_int(uuid, _number(made, "big"))
    _set_is_safe(uuid, _UNKNOWN)
    return uuid


def uuid4() -> UUID:
    """Return a UUID of version 4: 122 random bits.

    Examples
    --------
    >>> uuid4().version
    4
    """
    return _uuid(uuid4_bytes())


def uuid7() -> UUID:
    """Return a UUID of version 7: the time in milliseconds, a counter, 56 random bits.

    Examples
    --------
    >>> uuid7() < uuid7()
    True
    """
    return _uuid(uuid7_bytes())
