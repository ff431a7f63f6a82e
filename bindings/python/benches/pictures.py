"""Draw the pictures for scientists: `python benches/pictures.py FOLDER`. Needs matplotlib."""

import math
import os
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

from wellspring import random as wr  # noqa: E402
from wellspring.random import Elements  # noqa: E402


def distributions(axes):
    """10^7 numbers of each kind beside their densities."""
    elements, n = Elements(2026), 10**7
    for axis, name, numbers, density, interval in (
        (axes[0], "random", elements.random(n), lambda x: np.ones_like(x), (0, 1)),
        (
            axes[1],
            "standard_normal",
            elements.standard_normal(n),
            lambda x: np.exp(-x * x / 2) / math.sqrt(2 * math.pi),
            (-6, 6),
        ),
        (axes[2], "exponential", elements.exponential(size=n), lambda x: np.exp(-x), (0, 16)),
    ):
        heights, edges = np.histogram(numbers, 120, interval, density=True)
        middles = (edges[1:] + edges[:-1]) / 2
        axis.plot(middles, heights, ".", markersize=3, label="10^7 numbers")
        axis.plot(middles, density(middles), linewidth=0.8, label="density")
        if name != "random":
            axis.set_yscale("log")
        else:
            axis.set_ylim(0.98, 1.02)
        axis.set_title(name)
        axis.legend(fontsize=7)


def rank(rows):
    """The rank of a matrix over GF(2), whose rows are integers."""
    rows, result = list(rows), 0
    while rows:
        pivot = rows.pop()
        if pivot:
            result += 1
            lowest = pivot & -pivot
            rows = [row ^ pivot if row & lowest else row for row in rows]
    return result


def ranks(axis):
    """Ranks of 256 by 256 bits of each kind: xorshift128+ stays at rank 128."""
    kinds = (wr.ChaCha8, wr.Philox4x64, wr.Xoshiro256PlusPlus, wr.Xorshift128Plus)
    for place, kind in enumerate(kinds):
        for seed in range(8):
            bits = kind(seed).random_raw(256 * 256) & np.uint64(1)
            matrix = bits.astype(np.uint8).reshape(256, 256)
            axis.plot(place, rank(int("".join(map(str, row)), 2) for row in matrix), "k_", markersize=14)
    axis.set_xticks(range(len(kinds)), [kind.__name__ for kind in kinds], fontsize=7)
    axis.set_ylim(0, 270)
    axis.set_title("rank of 256 x 256 lowest bits, 8 seeds")


def neighbours(axis):
    """The first numbers of path k and of path k + 1."""
    first = np.array([Elements(2026, (path,)).random() for path in range(5000)])
    axis.plot(first[:-1], first[1:], ".", markersize=1)
    axis.set_title("first numbers of the paths k and k + 1")
    axis.set_aspect("equal")


def speed(axis):
    """float64 into 80 MB, from one thread to all cores."""
    out, cores = np.empty(10**7), len(os.sched_getaffinity(0))

    def rate(call):
        times = []
        for _ in range(7):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        return out.nbytes / statistics.median(times) / 1e9

    def zeros(parts):
        list(pool.map(lambda part: part.fill(0), parts))

    threads = range(1, cores + 1)
    for algorithm in ("aes256-ctr", "chacha8", "philox4x64-10"):
        rates = [rate(lambda: Elements(1, (), algorithm, threads=n).random(out=out)) for n in threads]
        axis.plot(threads, rates, "o-", label=f"Elements, {algorithm}")
    rng = np.random.default_rng(1)
    axis.axhline(rate(lambda: rng.random(out=out)), color="gray", label="NumPy, PCG64, one thread")
    # What memory alone allows. NumPy writes without the global lock.
    with ThreadPoolExecutor(cores) as pool:
        rates = [rate(lambda: zeros(np.array_split(out, n))) for n in threads]
    axis.plot(threads, rates, "k:", label="writing zeros")
    axis.set_xlabel("threads")
    axis.set_xticks(threads)
    axis.set_ylabel("GB/s of float64")
    axis.set_ylim(0)
    axis.legend(fontsize=7)


def main(folder):
    """Draw all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw, columns in (
        ("distributions", distributions, 3),
        ("ranks", ranks, 1),
        ("neighbours", neighbours, 1),
        ("speed", speed, 1),
    ):
        figure, axes = plt.subplots(1, columns, figsize=(5 * columns, 4), layout="constrained")
        draw(axes)
        figure.savefig(folder / f"{name}.png", dpi=130)
        print(folder / f"{name}.png")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
