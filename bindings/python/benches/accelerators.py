"""Float32 numbers of JAX, PyTorch, NumPy and wellspring on this CPU: `python benches/accelerators.py [--rounds N]`.

All run in turn, N times. The times are processor time of all threads, since other work on the machine then counts less; a
figure is the median of all rounds, in ns a number. What is compiled was compiled and run before.
"""

import argparse
import statistics
import time

import jax
import jax.numpy as jnp
import numpy as np
import torch

from wellspring import jax as wj
from wellspring import torch as wt
from wellspring.random import Elements

N = 1 << 20

# Arrays that `vmap` makes of one call.
MAPPED = 16


def of_jax(draw):
    """A compiled function that waits for its result. The index is an argument, so that nothing is known beforehand."""
    compiled = jax.jit(draw)
    return lambda i: compiled(np.int32(i)).block_until_ready()


def of_vmap(draw):
    """The same for a function that draws one of `MAPPED` arrays."""
    several = jax.vmap(draw)
    return of_jax(lambda i: several(i * MAPPED + jnp.arange(MAPPED)))


def rows():
    """What is drawn, by whom, and how."""
    pcg, cpu, on_jax, on_torch = np.random.default_rng(1), Elements(1, threads=1), wj.Elements(1), wt.Elements(1)
    out = np.empty(N, "float32")
    threefry, rbg = jax.random.key(1), jax.random.key(1, impl="rbg")
    return {
        ("uniform", "NumPy, PCG64"): lambda _: pcg.random(out=out, dtype="float32"),
        ("uniform", "wellspring.random, one thread"): lambda _: cpu.random(out=out),
        ("uniform", "jax.random, threefry"): of_jax(lambda i: jax.random.uniform(jax.random.fold_in(threefry, i), (N,))),
        ("uniform", "jax.random, rbg"): of_jax(lambda i: jax.random.uniform(jax.random.fold_in(rbg, i), (N,))),
        ("uniform", "wellspring.jax"): of_jax(lambda i: on_jax.random(N, first=i * 16)),
        ("uniform", "jax.random, threefry, vmap"): of_vmap(
            lambda i: jax.random.uniform(jax.random.fold_in(threefry, i), (N // MAPPED,))
        ),
        ("uniform", "wellspring.jax, vmap"): of_vmap(lambda i: on_jax.random(N // MAPPED, first=i * 16)),
        ("uniform", "torch.rand"): lambda _: torch.rand(N),
        ("uniform", "wellspring.torch"): lambda _: on_torch.random(N),
        ("normal", "NumPy, PCG64"): lambda _: pcg.standard_normal(out=out, dtype="float32"),
        ("normal", "wellspring.random, one thread"): lambda _: cpu.standard_normal(out=out),
        ("normal", "jax.random, threefry"): of_jax(lambda i: jax.random.normal(jax.random.fold_in(threefry, i), (N,))),
        ("normal", "jax.random, rbg"): of_jax(lambda i: jax.random.normal(jax.random.fold_in(rbg, i), (N,))),
        ("normal", "wellspring.jax"): of_jax(lambda i: on_jax.standard_normal(N, first=i * 16)),
        ("normal", "jax.random, threefry, vmap"): of_vmap(
            lambda i: jax.random.normal(jax.random.fold_in(threefry, i), (N // MAPPED,))
        ),
        ("normal", "wellspring.jax, vmap"): of_vmap(lambda i: on_jax.standard_normal(N // MAPPED, first=i * 16)),
        ("normal", "torch.randn"): lambda _: torch.randn(N),
        ("normal", "wellspring.torch"): lambda _: on_torch.standard_normal(N),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    draws = rows()
    times = {name: [] for name in draws}
    for turn in range(rounds + 2):
        for name, draw in draws.items():
            start = time.process_time()
            draw(turn)
            times[name].append(time.process_time() - start)
    print("| float32 | of | ns a number |\n|---|---|---:|")
    for (kind, of), all_times in times.items():
        # The first two rounds compile.
        print(f"| {kind} | {of} | {statistics.median(all_times[2:]) / N * 1e9:.2f} |")
