#!/usr/bin/env python3
"""Writes the cutoffs of the adaptive proportion test (SP 800-90B 4.4.2): python3 vectors/make-cutoffs.py [--check]

A source with H bits of min-entropy a symbol yields no value with a chance above p = 2^-H. In a window of W symbols the
count of the first one is then binomial at worst, and the cutoff for a false alarm of alpha is the least C with
P(X >= C) <= alpha, X ~ B(W, p): 1 + critbinom(W, p, 1 - alpha) in the standard's words.

p is irrational. All numbers here are whole multiples of 2^-F; each rounds down, and the sum of everything lost is below
2^(W + 32 - F). Where alpha is not further from a sum than that, the program stops instead of guessing. With F = 2 W + 256
it happens for full windows alone, whose chance 2^(-H W) is a power of two and may be alpha itself; those are compared by
their exponents.
"""

import sys
from math import comb, isqrt
from pathlib import Path

TABLE = Path(__file__).parent.parent / "engine/core/src/health/table.rs"
ALPHA_EXPONENTS = [30, 60]  # -log2 of alpha for the intermittent and the permanent grade
PARTS = 256  # a claim is in 256ths of a bit

HEAD = """\
//! The cutoffs of the adaptive proportion test, for each claim from 1/256 of a bit up. Written by
//! `vectors/make-cutoffs.py`, which says how.
//!
//! A higher claim never has a higher cutoff. So a table holds steps, from the lowest bit of the first word on: a 1
//! lowers the cutoff by one, a 0 ends a claim. The first cutoff, for a claim of nothing, is the window plus one.
//! Stored as numbers, the tables would take eleven times as much space in every program.
"""


def powers(base, window, bits):
    """base^0, base^1, .. base^window."""
    found = [1 << bits]
    for _ in range(window):
        found.append(found[-1] * base >> bits)
    return found


def cutoff(tails, claim, window, bits, exponent):
    """The least count that comes with a chance of at most 2^-exponent; window + 1 if even a full window is likelier."""
    alpha, lost = 1 << (bits - exponent), 1 << (window + 32)
    if claim * window < exponent * PARTS:
        return window + 1
    for count in range(window - 1, -1, -1):
        if tails[count] > alpha + lost:
            return count + 1
        assert tails[count] + lost <= alpha, "too few bits to tell a chance from alpha"
    raise AssertionError("all counts together are less likely than alpha")


def cutoffs(window, claims):
    """Both cutoffs for the claims of 1, 2, .. `claims` 256ths of a bit."""
    bits = 2 * window + 256
    root = 1 << (bits - 1)
    for _ in range(PARTS.bit_length() - 1):
        root = isqrt(root << bits)  # at last 2^(-1/256)
    ways = [comb(window, count) for count in range(window + 1)]
    chance, rows = 1 << bits, []
    for claim in range(1, claims + 1):
        chance = chance * root >> bits
        ours, others = powers(chance, window, bits), powers((1 << bits) - chance, window, bits)
        tails, tail = {}, 0
        for count in range(window, -1, -1):
            tail += (ours[count] * others[window - count] >> bits) * ways[count]
            tails[count] = tail
            if tail >> (bits - ALPHA_EXPONENTS[0] + 1):
                break
        rows.append([cutoff(tails, claim, window, bits, exponent) for exponent in ALPHA_EXPONENTS])
    return rows


def words(first, column):
    """The steps from one cutoff to the next, as the table's head describes them."""
    bits = ""
    for last, this in zip([first, *column], column):
        bits += "1" * (last - this) + "0"
    return [int(bits[at : at + 64][::-1], 2) for at in range(0, len(bits), 64)]


def table():
    text = HEAD
    for window, claims, what in [
        (512, 8 * PARTS, "For claims of up to 8 bits a symbol, in a window of 512: intermittent, permanent."),
        (1024, PARTS, "For claims of up to a bit, in a window of 1024: intermittent, permanent."),
    ]:
        grades = [words(window + 1, column) for column in zip(*cutoffs(window, claims))]
        length = max(len(grade) for grade in grades)
        text += f"\n/// {what}\npub(super) static WINDOW_{window}: [[u64; {length}]; 2] = [\n"
        for grade in grades:
            grade += [0] * (length - len(grade))
            lines = [", ".join(f"{word:#018x}" for word in grade[at : at + 5]) for at in range(0, length, 5)]
            text += "    [\n" + "".join(f"        {line},\n" for line in lines) + "    ],\n"
        text += "];\n"
    return text


if sys.argv[1:] == ["--check"]:
    # 15/256 of a bit, 512 times, are 30 bits: a full window is exactly as likely as alpha, and fails.
    assert [row[0] for row in cutoffs(512, 15)[13:]] == [513, 512]
    # Fair coins, counted without a fraction: P(X >= C) = ways / 2^512.
    for count, exponent in zip(cutoffs(512, PARTS)[-1], ALPHA_EXPONENTS):
        at_least = [sum(comb(512, more) for more in range(least, 513)) for least in (count, count - 1)]
        assert at_least[0] <= 2 ** (512 - exponent) < at_least[1]
    if TABLE.read_text() != table():
        sys.exit(f"{TABLE} differs from what {Path(__file__).name} computes")
    print(f"{TABLE.name} holds what {Path(__file__).name} computes")
elif len(sys.argv) == 1:
    TABLE.write_text(table())
else:
    sys.exit(__doc__)
