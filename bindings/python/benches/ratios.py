"""How many times as fast as NumPy and the standard library: `python benches/ratios.py [--rounds N]`.

Both sides run in turn, N times. A ratio is the median of the ratios of all rounds, so that other work on the machine
hits both sides alike. The times are medians as well: processor time of one thread; in the rows "all cores" and in the
last table time that passed, which only an idle machine shows well.
"""

import argparse
import functools
import os
import secrets
import statistics
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import wellspring
from wellspring import random as wr
from wellspring.random import Elements

# 800 kB of float64 stay in the second cache: memory is not what is measured.
N = 10**5

# Calls between two looks at the clock, which costs up to a microsecond.
CALLS = 10

TARGETS = {
    "bytes, 100 kB": 10,
    "bytes, 16 MB, all cores": 10,
    "random, float64": 3,
    "standard_normal, float64": 2,
    "token_bytes(16)": 2,
}


def seconds(call, repeats, clock=time.thread_time):
    """The processor time of a call on this thread. Other programs that run meanwhile do not count."""
    start = clock()
    for _ in range(repeats):
        call()
    return (clock() - start) / repeats


def compare(name, theirs, ours, rounds, per_call, unit, repeats=CALLS, clock=time.thread_time, target=None):
    """Print a row of the table."""
    pairs = [(seconds(theirs, repeats, clock), seconds(ours, repeats, clock)) for _ in range(rounds)]
    ratio = statistics.median(theirs / ours for theirs, ours in pairs)
    their_time, our_time = (statistics.median(column) / per_call * 1e9 for column in zip(*pairs, strict=True))
    target = target or next((factor for start, factor in TARGETS.items() if name.startswith(start)), None)
    wanted = f"{target} x" if target else ""
    print(f"| {name} | {their_time:.3g} | {our_time:.3g} | {unit} | {ratio:.2f} x | {wanted} |")


def arrays(rounds):
    """Arrays of 10^5 numbers into given memory, on one core."""
    rng = np.random.default_rng(1)
    for algorithm in ("aes256-ctr", "chacha8", "philox4x64-10"):
        elements = Elements(1, algorithm=algorithm, threads=1)
        for dtype in ("float64", "float32"):
            out = np.empty(N, dtype)
            rows = {
                "random": (lambda: rng.random(out=out, dtype=dtype), lambda: elements.random(out=out)),
                "standard_normal": (
                    lambda: rng.standard_normal(out=out, dtype=dtype),
                    lambda: elements.standard_normal(out=out),
                ),
                "exponential": (
                    lambda: rng.standard_exponential(out=out, dtype=dtype),
                    lambda: elements.exponential(out=out),
                ),
            }
            for name, (theirs, ours) in rows.items():
                compare(f"{name}, {dtype}, {algorithm}", theirs, ours, rounds, N, "ns a number")
        compare(
            f"integers below 1000, int64, {algorithm}",
            lambda: rng.integers(1000, size=N),
            lambda: elements.integers(1000, size=N),
            rounds,
            N,
            "ns a number",
        )
        compare(f"bytes, 100 kB, {algorithm}", lambda: rng.bytes(N), lambda: elements.bytes(N), rounds, N, "ns a byte")


def distributions(rounds):
    """Arrays of 10^5 numbers of distributions with parameters, on one core, and rows of 3 or 10 numbers."""
    rng, weights = np.random.default_rng(1), np.arange(1, 1001) / 500_500
    numbers = [
        ("lognormal", (0, 1)),
        ("weibull", (1.5,)),
        ("standard_cauchy", ()),
        ("gamma", (2.5,)),
        ("gamma", (0.5,)),
        ("chisquare", (3,)),
        ("beta", (2, 5)),
        ("beta", (0.5, 0.5)),
        ("standard_t", (5,)),
        ("geometric", (0.1,)),
        ("binomial", (20, 0.3)),
        ("binomial", (1000, 0.3)),
        ("poisson", (3,)),
        ("poisson", (100,)),
        ("triangular", (-1, 0, 1)),
        ("hypergeometric", (30, 20, 10)),
        ("hypergeometric", (3000, 2000, 500)),
        ("vonmises", (0, 2)),
        ("zipf", (2.0,)),
        ("logseries", (0.5,)),
        ("negative_binomial", (5, 0.3)),
        ("wald", (1, 2)),
        ("f", (3, 5)),
        ("noncentral_f", (3, 5, 1)),
        ("noncentral_chisquare", (3, 1)),
        ("laplace", ()),
        ("gumbel", ()),
        ("logistic", ()),
        ("rayleigh", ()),
        ("pareto", (3,)),
        ("power", (3,)),
        ("choice", (1000, N, True, weights)),
    ]
    rows = [
        ("dirichlet", ([1, 2, 5],)),
        ("multinomial", (100, [0.1] * 10)),
        ("multinomial", (10_000, [0.1] * 10)),
        ("multivariate_hypergeometric", ([16, 8, 4], 6)),
        ("multivariate_normal", ([0] * 3, np.eye(3) + 1)),
    ]
    for algorithm in ("chacha8", "aes256-ctr"):
        elements = Elements(1, algorithm=algorithm, threads=1)
        for method, parameters in numbers + rows:
            is_row = method in ("dirichlet", "multinomial", "multivariate_hypergeometric", "multivariate_normal")
            count = N // 10 if is_row else N
            size = {} if method == "choice" else {"size": count}
            theirs = functools.partial(getattr(rng, method), *parameters, **size)
            ours = functools.partial(getattr(elements, method), *parameters, **size)
            trials = f" of {parameters[0]}" if method == "multinomial" else ""
            said = f" rows{trials}" if is_row else " of 1000 weights" if method == "choice" else parameters
            name = f"{method}{said}, {algorithm}"
            compare(name, theirs, ours, rounds, count, "ns an element", 1, target=1.25)


def columns(rounds):
    """10^6 numbers whose parameters are arrays, on one core, beside the same call with single numbers."""
    rng, count, elements = np.random.default_rng(1), 10**6, Elements(1, threads=1)

    def around(value):
        return value * rng.uniform(0.8, 1.2, count)

    methods = [
        ("uniform", (0.0, 1.0), (around(-1.0), around(1.0))),
        ("normal", (0.0, 1.0), (around(1.0), around(1.0))),
        ("exponential", (1.5,), (around(1.5),)),
        ("gamma", (2.5, 1.0), (around(2.5), around(1.0))),
        ("beta", (2.0, 5.0), (around(2.0), around(5.0))),
        ("poisson", (4.0,), (around(4.0),)),
        ("poisson", (40.0,), (around(40.0),)),
        ("binomial", (20, 0.3), (np.full(count, 20), around(0.3))),
        ("integers", (0, 1000), (np.zeros(count, np.int64), rng.integers(900, 1100, count))),
        ("triangular", (-1.0, 0.0, 1.0), (around(-1.0), around(0.0), around(1.0))),
        ("geometric", (0.1,), (around(0.1),)),
        ("hypergeometric", (30, 20, 10), (rng.integers(25, 36, count), rng.integers(15, 26, count), np.full(count, 10))),
    ]
    for method, single, several in methods:
        call = getattr(elements, method)
        plain, arrays = functools.partial(call, *single, size=count), functools.partial(call, *several)
        name = f"{method}{single}, arrays beside single numbers"
        compare(name, plain, arrays, rounds, count, "ns a number", 1, target=0.5)


def bytes_of_engines(rounds):
    """Bytes of the kinds that have no arrays, and bytes without new memory."""
    rng = np.random.default_rng(1)
    for kind in (wr.Xoshiro256PlusPlusX16, wr.Xoshiro256PlusPlus):
        ours = kind(1)
        name = f"bytes, 100 kB, {ours.algorithm}"
        compare(name, lambda: rng.bytes(N), lambda: ours.bytes(N), rounds, N, "ns a byte")
    ours, memory = Elements(1, algorithm="aes256-ctr", threads=1), bytearray(N)
    name = "bytes, 100 kB, aes256-ctr into memory that exists"
    compare(name, lambda: rng.bytes(N), lambda: ours.fill(memory), rounds, N, "ns a byte")


def bytes_on_all_cores(rounds):
    """4 MB into memory that exists, where NumPy takes new memory, as `Elements` makes them if nothing is said about threads."""
    rng, memory = np.random.default_rng(1), bytearray(4 * 10**6)
    for algorithm in ("aes256-ctr", "chacha8"):
        ours = Elements(1, algorithm=algorithm)
        name = f"bytes, 4 MB, all cores into memory that exists, {algorithm}"
        calls = functools.partial(rng.bytes, len(memory)), functools.partial(ours.fill, memory)
        compare(name, *calls, rounds, len(memory), "ns a byte", 1, time.perf_counter)


def zeros(memory, pool, threads):
    """Write zeros with as many threads: what memory alone takes. NumPy writes without the global lock."""
    if threads == 1:
        memory.fill(0)
    else:
        list(pool.map(lambda part: part.fill(0), np.array_split(memory, threads)))


def large(rounds):
    """16 MB of new memory, on one core and on all. NumPy has one core in both rows.

    The rows "zeros" are the limit: the memory is written once, and nothing is computed.
    """
    rng, length, all_cores = np.random.default_rng(1), 16 * 10**6, len(os.sched_getaffinity(0))
    with ThreadPoolExecutor(all_cores) as pool:
        for threads, where, clock in ((1, "one core", time.thread_time), (all_cores, "all cores", time.perf_counter)):
            compare(
                f"zeros, 16 MB, {where}, beside bytes",
                lambda: rng.bytes(length),
                lambda: zeros(np.empty(length, np.uint8), pool, threads),
                rounds,
                length,
                "ns a byte",
                1,
                clock,
            )
            for algorithm in ("aes256-ctr", "chacha8"):
                ours = Elements(1, algorithm=algorithm, threads=threads)
                count = length // 8
                rows = {
                    "bytes": (lambda: rng.bytes(length), lambda: ours.bytes(length), length, "ns a byte"),
                    "random": (lambda: rng.random(count), lambda: ours.random(count), count, "ns a number"),
                }
                for name, (theirs, call, per_call, unit) in rows.items():
                    # The calls use this turn's values of the loop's variables: compare at once.
                    name = f"{name}, 16 MB, {where}, {algorithm}"
                    compare(name, theirs, call, rounds, per_call, unit, 1, clock)


def generators(rounds):
    """NumPy's Generator over bit generators of both sides; Philox also beside NumPy's Philox, which gives the same numbers."""
    rng, out = np.random.default_rng(1), np.empty(N)
    philox, same = np.random.Generator(np.random.Philox(1)), np.random.Generator(wr.Philox4x64(1))
    elements = Elements(1, algorithm="philox4x64-10", threads=1)
    name, unit = "random, float64, against NumPy's Philox", "ns a number"
    compare(f"Generator(Philox4x64).{name}", lambda: philox.random(out=out), lambda: same.random(out=out), rounds, N, unit)
    compare(f"Elements.{name}", lambda: philox.random(out=out), lambda: elements.random(out=out), rounds, N, unit)
    name = "bytes, 100 kB, against NumPy's Philox"
    compare(f"Elements.{name}", lambda: philox.bytes(N), lambda: elements.bytes(N), rounds, N, "ns a byte")
    for kind in (wr.ChaCha8, wr.Aes256Ctr, wr.Xoshiro256PlusPlusX16, wr.Xoshiro256PlusPlus, wr.Philox4x64):
        other = np.random.Generator(kind(1))
        name = f"Generator({kind.__name__}).random"
        compare(name, lambda: rng.random(out=out), lambda: other.random(out=out), rounds, N, "ns a number")


def tokens(rounds):
    """Secrets."""
    for length in (16, 32):
        compare(
            f"token_bytes({length})",
            lambda: secrets.token_bytes(length),
            lambda: wellspring.token_bytes(length),
            rounds,
            1,
            "ns a call",
            2000,
        )
    system, ours = secrets.SystemRandom(), wellspring.SystemRandom()
    compare("SystemRandom().random()", system.random, ours.random, rounds, 1, "ns a call", 2000)
    compare(
        "randbelow(10**6)",
        lambda: secrets.randbelow(10**6),
        lambda: wellspring.secrets.randbelow(10**6),
        rounds,
        1,
        "ns a call",
        2000,
    )
    for name, theirs, call in (
        ("uuid4()", uuid.uuid4, wellspring.ids.uuid4),
        ("the text of uuid4()", lambda: str(uuid.uuid4()), wellspring.ids.uuid4_text),
    ):
        compare(name, theirs, call, rounds, 1, "ns a call", 2000)
    compare("bytes fit for keys, 100 kB", lambda: os.urandom(N), lambda: wellspring.token_bytes(N), rounds, N, "ns a byte")


def cores(rounds):
    """More threads, into 80 MB that exist: up to where memory is the limit, which is what zeros take."""
    out, available = np.empty(10**7), len(os.sched_getaffinity(0))
    counts = sorted(count for count in {1, 2, 4, 8, 16, 32, available} if count <= available)
    print("\n| threads | zeros, GB/s | bytes, GB/s | random, GB/s | normal, GB/s |")
    print("|---|---|---|---|---|")
    with ThreadPoolExecutor(available) as pool:
        for threads in counts:
            elements = Elements(1, algorithm="aes256-ctr", threads=threads)
            calls = (
                lambda: zeros(out, pool, threads),
                lambda: elements.fill(out),
                lambda: elements.random(out=out),
                lambda: elements.standard_normal(out=out),
            )
            times = [[seconds(call, 1, time.perf_counter) for call in calls] for _ in range(rounds)]
            rates = (out.nbytes / statistics.median(column) / 1e9 for column in zip(*times, strict=True))
            print(f"| {threads} | {' | '.join(f'{rate:.3g}' for rate in rates)} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    print(f"NumPy {np.__version__}, {len(os.sched_getaffinity(0))} cores, medians of {rounds} rounds\n")
    print("| what | NumPy or standard library | wellspring | | ratio | wanted |\n|---|---|---|---|---|---|")
    arrays(rounds)
    distributions(rounds)
    columns(rounds)
    bytes_of_engines(rounds)
    bytes_on_all_cores(rounds)
    large(rounds)
    generators(rounds)
    tokens(rounds)
    cores(rounds)
