#!/usr/bin/env python3
"""Makes vectors/noise/SOURCE.txt from a recording: make-noise.py SOURCE.bin CLAIM [FOLDER]

SOURCE.bin holds at least 4096 samples as `wellspring sources record SOURCE` writes them, CLAIM is in 256ths of a bit. FOLDER is
another place for SOURCE.txt. The first trace is the recording, which passes. Each failing trace is the recording, damaged as its
head says: by as much as trips one test in one grade, and no more; a long run trips both. Cutoffs and answers come from a second
implementation, below.
"""

import sys
from decimal import Decimal, getcontext
from math import comb
from pathlib import Path

LINE_BYTES = 64
FOLDER = Path(__file__).parent / "noise"


def vector(name, head, symbol, claim, samples, health):
    """A vector: head comment, samples 64 bytes a line, what must become of them."""
    lines = [f"# {line}" for line in head]
    lines.append(f"noise name={name} symbol={symbol} claim={claim}")
    for start in range(0, len(samples), LINE_BYTES):
        lines.append(f"samples data={samples[start:start + LINE_BYTES].hex()}")
    lines += [f"  health {health}", "end", ""]
    return "\n".join(lines)


def stuck(recording, at, length):
    """One value, `length` times in a row, and not once more."""
    damaged = bytearray(recording)
    value = damaged[at]
    damaged[at:at + length] = bytes([value]) * length
    for end in (at - 1, at + length):
        damaged[end] = value ^ 1
    return bytes(damaged)


def biased(recording, window, count, size=512):
    """The first value of a window, `count` times in it, never three times in a row more than need be."""
    damaged = bytearray(recording)
    start = window * size
    value = damaged[start]
    here = [start + place for place in range(size)]
    for place in here[1:]:
        if damaged[place] == value:
            damaged[place] ^= 1
    # Spread evenly.
    for number in range(1, count):
        damaged[here[number * size // count]] = value
    return bytes(damaged)


def cutoffs(claim, window=512):
    """Both cutoffs of both tests, with 400 digits."""
    getcontext().prec = 400
    p = Decimal(2) ** (-Decimal(claim) / 256)

    def critical(exponent):
        tail = Decimal(0)
        for count in range(window, -1, -1):
            tail += comb(window, count) * p ** count * (1 - p) ** (window - count)
            if tail > Decimal(2) ** -exponent:
                return count + 1

    return [1 - -exponent * 256 // claim for exponent in (30, 60)], [critical(30), critical(60)]


def health(samples, claim, window=512):
    """A second implementation of tests and state, from the standard and the documentation."""
    repetition, proportion = cutoffs(claim)
    found = [[0, 0], [0, 0]]
    run, position, matches, passed, owed, row = 0, 0, 0, 0, 0, 0
    state, counts, last = "start-up", {"credited": 0, "mixed": 0, "discarded": 0}, None
    for start in range(0, len(samples), LINE_BYTES):
        line = samples[start:start + LINE_BYTES]
        failed, good = False, 0
        if state == "disabled":
            counts["discarded"] += len(line)
            continue
        for value in line:
            run = run + 1 if value == last else 1
            last = value
            if position == 0:
                reference, matches = value, 0
            position = (position + 1) % window
            matches += value == reference
            hits = [(0, grade) for grade in (0, 1) if run == repetition[grade]]
            hits += [(1, grade) for grade in (0, 1) if value == reference and matches == proportion[grade]]
            good += 1
            for test, grade in hits:
                found[test][grade] += 1
                failed = True
            if hits:
                row, passed, good, owed = row + 1, 0, 0, window
                bad = any(grade == 1 for _, grade in hits) or row >= 3 or state == "disabled"
                state = "disabled" if bad else "quarantined"
        if failed or state != "active":
            counts["discarded"] += len(line)
        else:
            counts["mixed" if owed else "credited"] += len(line)
            owed = max(0, owed - len(line))
        passed += good
        if state in ("start-up", "quarantined") and passed >= 1024:
            state = "active"
    text = " ".join(f"{name}={count}" for name, count in counts.items())
    tests = [f"{name}={some},{all_}" for name, (some, all_) in zip(("repetition", "proportion"), found)]
    return f"state={state} {text} {' '.join(tests)}"


def main():
    path, claim = Path(sys.argv[1]), int(sys.argv[2])
    repetition, proportion = cutoffs(claim)
    recording, source = path.read_bytes()[:4096], path.stem
    origin = f"4096 samples of `wellspring sources record {source}`, a byte each"
    vectors = [("sound", [f"{origin}: nothing fails."], recording)]
    for grade, name, what in [(0, "intermittent", "its intermittent grade"), (1, "permanent", "both its grades")]:
        # From 2000 on this fills the window of 2048 to 2559.
        fills = 2000 + repetition[grade] >= 2560
        other = "the run fills a window, which the other test notices." if fills else "no other test does."
        vectors.append((f"{'full' if fills else 'stuck'}-{name}", [
            f"{origin}; from 2000 on one value {repetition[grade]} times:",
            f"the repetition count test fails in {what}, and {other}",
        ], stuck(recording, 2000, repetition[grade])))
        # With a claim so small, a window that fails has a run that fails as well.
        if repetition[1] <= 256:
            vectors.append((f"biased-{name}", [
                f"{origin}; in the fourth window of 512 its first value comes {proportion[grade]} times:",
                f"the adaptive proportion test fails in {what}, and no other test does.",
            ], biased(recording, 3, proportion[grade])))
    texts = [vector(f"{source}-{name}", head, "byte", claim, samples, health(samples, claim)) for name, head, samples in vectors]
    folder = Path(sys.argv[3]) if len(sys.argv) > 3 else FOLDER
    (folder / f"{source}.txt").write_text("\n".join(texts))


main()
