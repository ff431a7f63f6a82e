#!/usr/bin/env python3
"""Known answers of `wellspring test`, computed from the definitions and not from this project's code.

Prints the lines of statistics.txt beside this file. Needs nothing but Python's standard library; takes some seconds.

The inputs: `good` is SHA-256 of the numbers 0, 1, 2, .. as 8 little-endian bytes, joined and cut to N bytes.
`echo` is `good` with every fifth byte replaced by the byte before it.
"""

import hashlib
import math


def good(n):
    hashes = (hashlib.sha256(i.to_bytes(8, "little")).digest() for i in range(n // 32 + 1))
    return b"".join(hashes)[:n]


def echo(n):
    data = bytearray(good(n))
    for i in range(5, n, 5):
        data[i] = data[i - 1]
    return bytes(data)


def gamma_q(a, x):
    """The upper regularized incomplete gamma function, by the series of the lower one."""
    term = total = 1 / a
    k = a
    while term > total * 1e-17:
        k += 1
        term *= x / k
        total += term
    return 1 - total * math.exp(a * math.log(x) - x - math.lgamma(a))


def fips(data):
    """Blocks, and those that failed any, monobit, poker, runs, long run, continuous run."""
    limits = [(2315, 2685), (1114, 1386), (527, 723), (240, 384), (103, 209), (103, 209)]
    found = [0] * 7
    for start in range(4, len(data) - 2499, 2500):
        block = data[start : start + 2500]
        bits = "".join(f"{byte:08b}" for byte in block)
        ones = bits.count("1")
        nibbles = [0] * 16
        for digit in block.hex():
            nibbles[int(digit, 16)] += 1
        poker = 16 / 5000 * sum(count * count for count in nibbles) - 5000
        runs = bits.replace("01", "0 1").replace("10", "1 0").split()
        lengths = {(bit, length): 0 for bit in "01" for length in range(1, 7)}
        for run in runs:
            lengths[run[0], min(len(run), 6)] += 1
        words = [data[i : i + 4] for i in range(start - 4, start + 2500, 4)]
        failed = [
            not 9725 < ones < 10275,
            not 2.16 < poker < 46.17,
            any(not limits[k - 1][0] <= count <= limits[k - 1][1] for (_, k), count in lengths.items()),
            max(map(len, runs)) >= 26,
            any(one == other for one, other in zip(words, words[1:])),
        ]
        found[0] += 1
        found[1] += any(failed)
        for i, fails in enumerate(failed):
            found[2 + i] += fails
    return found


def distances(data):
    bits = "".join(f"{byte:08b}" for byte in data)
    # The blocks of whole groups of 3 bytes.
    bits = bits[: len(data) // 3 * 24]
    blocks = [int(bits[i : i + 6], 2) for i in range(0, len(bits), 6)]
    places = {}
    found = []
    for i, block in enumerate(blocks, 1):
        if i > 1000:
            found.append(i - places.get(block, 0))
        places[block] = i
    return found


def compression(found):
    """SP 800-90B 6.3.4, step by step."""
    v = len(found)
    logs = [math.log2(d) for d in found]
    mean = sum(logs) / v
    deviation = 0.5907 * math.sqrt(sum(x * x for x in logs) / (v - 1) - mean * mean)
    bound = mean - 2.576 * deviation / math.sqrt(v)
    k = v + 1000

    def g(z):
        total = 0.0
        inner = 0.0  # over u < t
        for t in range(1, k + 1):
            if t > 1000:
                total += inner + math.log2(t) * z * (1 - z) ** (t - 1)
            inner += math.log2(t) * z * z * (1 - z) ** (t - 1)
        return total / v

    low, high = 1 / 64, 1.0
    if bound >= g(low) * 64:
        return 1.0
    for _ in range(36):
        p = (low + high) / 2
        if g(p) + 63 * g((1 - p) / 63) > bound:
            low = p
        else:
            high = p
    return -math.log2(low) / 6


def answers(name, data):
    n = len(data)
    bits = "".join(f"{byte:08b}" for byte in data)
    counts = [data.count(value) for value in range(256)]
    ones = bits.count("1")
    runs = 1 + bits.count("01") + bits.count("10")
    chi_square = sum((count - n / 256) ** 2 / (n / 256) for count in counts)
    total = sum(data)
    squares = sum(byte * byte for byte in data)
    products = sum(one * other for one, other in zip(data, data[1:] + data[:1]))
    points = [(int.from_bytes(data[i : i + 3], "big"), int.from_bytes(data[i + 3 : i + 6], "big"))
              for i in range(0, n - 5, 6)]
    inside = sum(x * x + y * y <= (2**24 - 1) ** 2 for x, y in points)
    found = distances(data)
    most = max(counts) / n
    normal = lambda value, mean, deviation: math.erfc(abs(value - mean) / deviation / math.sqrt(2))
    mean_of_distances = sum(map(math.log2, found)) / len(found)
    pi = math.pi + (4 - 2 * math.pi) / (2**24 - 1)
    correlation = (n * products - total**2) / (n * squares - total**2)
    values = {
        "monobit": (ones / (8 * n), normal(ones, 4 * n, math.sqrt(2 * n))),
        "runs": (runs, normal(runs, (8 * n - 1) / 2 + 1, math.sqrt(8 * n - 1) / 2)),
        "chi-square": (chi_square, gamma_q(127.5, chi_square / 2)),
        "mean": (total / n, normal(total / n, 127.5, math.sqrt(65535 / 12 / n))),
        "serial correlation": (correlation, normal(correlation, -1 / (n - 1), 1 / math.sqrt(n))),
        "Monte Carlo pi": (
            4 * inside / len(points),
            normal(4 * inside / len(points), pi, math.sqrt(pi * (4 - pi) / len(points))),
        ),
        "compression": (
            mean_of_distances,
            normal(mean_of_distances, 5.217705249861304,
                   0.5907 * math.sqrt(2.9540323993818944 / len(found))),
        ),
    }
    print(f"input {name} {n}")
    for test, (value, p_value) in values.items():
        print(f"test {test} = {value:.12g} {p_value:.9g}")
    print("fips =", *fips(data))
    print(f"entropy = {-sum(c / n * math.log2(c / n) for c in counts if c):.12g}")
    bound = min(1, most + 2.576 * math.sqrt(most * (1 - most) / (n - 1)))
    print(f"most common value = {-math.log2(bound):.12g}")
    print(f"compression estimate = {compression(found):.9g}")


answers("good", good(100_003))
answers("echo", echo(60_000))
