"""NumPy's default generator, on command: for each line "NAME BYTES REQUESTS" it answers with the nanoseconds that took."""

import sys
import time

import numpy

generator = numpy.random.default_rng()
for line in sys.stdin:
    _, length, requests = line.split()
    length, requests = int(length), range(int(requests))
    start = time.perf_counter_ns()
    for _ in requests:
        generator.bytes(length)
    print(time.perf_counter_ns() - start, flush=True)
