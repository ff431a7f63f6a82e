"""Answers each line with a number of every kind: of Python, or of the C library if an argument says so."""

import os

if os.environ.get("GUARD"):
    import wellspring.clone_guard

    wellspring.clone_guard.install()

import ctypes
import random
import ssl
import sys
import tempfile

libc = ctypes.CDLL(None)
libc.drand48.restype = ctypes.c_double
instance = random.Random()
names = tempfile._get_candidate_names()


def draw() -> dict[str, object]:
    if sys.argv[1:] == ["libc"]:
        # Two of each: one has 31 bits.
        return {"rand": f"{libc.rand()}-{libc.rand()}", "drand48": libc.drand48()}
    return {"random": random.random(), "Random()": instance.random(), "tempfile": next(names), "ssl": ssl.RAND_bytes(8).hex()}


draw()
for line in sys.stdin:
    print(*(f"{name}={value}" for name, value in draw().items()), flush=True)
