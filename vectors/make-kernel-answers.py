#!/usr/bin/env python3
"""Makes the table in kernel/answers.c, the answers that the module checks when it is loaded, from the files in vectors/.

    python3 vectors/make-kernel-answers.py            writes it
    python3 vectors/make-kernel-answers.py --check    exit status 1 if it differs, or if the module and the crates separate
                                                      the seeds of nodes by different strings

Keystreams come from the ciphers of model.py, pseudo numbers from below. Needs Python 3.9 alone.
"""

import hashlib
import re
import sys
from pathlib import Path

from model import CIPHERS, Generator, check_ciphers, fields_of, unhex

ROOT = Path(__file__).parent.parent
ANSWERS = ROOT / "kernel/answers.c"
BEGIN = "/* The table: made by vectors/make-kernel-answers.py. Change that, not this. */\n\n"
END = "\n/* The end of the table. */\n"
VECTOR, READS = "min-seed", 17
NAMES = {"aes": "WS_AES256", "chacha": "WS_CHACHA20"}
# 20 blocks before each carry, so that it falls into a run of the widest backend.
COUNTERS = [1] + [2**bits - 20 for bits in (32, 64, 128)]
STREAM_BYTES = 5000
SEED = 1234567
DOMAIN = re.compile(r'"(wellspring (?:node|seed chain)[a-z ]*)"')


def array(kind, name, rows):
    return "".join([f"static const {kind} {name}[] = {{\n", *(f"\t{row},\n" for row in rows), "};\n\n"])


def streams():
    """SHA-256 of the first 5000 bytes under the key 00 01 .. 1f."""
    for name, cipher in CIPHERS.items():
        for counter in COUNTERS:
            output = Generator(cipher, bytes(range(32)), counter).blocks(STREAM_BYTES)
            high, low = divmod(counter, 2**64)
            yield f'{{ {NAMES[name]}, {{ {low:#x}, {high:#x} }},\n\t  "{hashlib.sha256(output).hexdigest()}" }}'


def fortuna():
    """FreeBSD's events, lengths, and for each way to read: the key after the reads, SHA-256 of their bytes."""
    answers, events, lengths = [], [], []
    name, cipher, concurrent = None, None, None
    for line in (ROOT / "vectors/fortuna-freebsd.txt").read_text().splitlines():
        word, *rest = line.split() or [""]
        fields = fields_of(rest)
        if word == "begin" and fields["name"].endswith("/" + VECTOR):
            name, cipher, concurrent = fields["name"], fields["cipher"], fields["concurrent"]
            events, lengths, output = [], [], b""
        elif name and word == "ev":
            data = ", ".join(f"{byte:#04x}" for byte in unhex(fields["data"]))
            events.append(f'{{ 0x{fields["ctr"]}, {fields["size"]}, {{ {data + " " if data else ""}}} }}')
        elif name and word == "read" and len(lengths) < READS:
            lengths.append(fields["n"])
            output += unhex(fields["out"])
        elif name and word == "after" and len(lengths) == READS:
            flag = "true" if concurrent == "1" else "false"
            answers.append(f'{{ {NAMES[cipher]}, {flag},\n\t  "{fields["K"]}",\n'
                           f'\t  "{hashlib.sha256(output).hexdigest()}" }}')
            name = None
    return answers, events, lengths


def splitmix64(seed, count):
    """The first numbers from a seed."""
    for index in range(1, count + 1):
        word = (seed + index * 0x9E3779B97F4A7C15) % 2**64
        word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
        yield word ^ word >> 31


def check_splitmix64():
    """The numbers that Rosetta Code lists for this seed."""
    wanted = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert list(splitmix64(SEED, 3)) == wanted


def table():
    check_ciphers()
    answers, events, lengths = fortuna()
    check_splitmix64()
    defines = {"STREAM_BYTES": STREAM_BYTES, "PSEUDO_SEED": SEED}
    return "".join([
        *(f"#define {name} {value}\n" for name, value in defines.items()), "\n",
        array("struct stream_answer", "stream_answers", streams()),
        array("struct fortuna_answer", "fortuna_answers", answers),
        array("struct fortuna_event", "events", events),
        f"static const u16 read_lengths[] = {{\n\t{', '.join(lengths)}\n}};\n\n",
        "static const u64 pseudo_numbers[] = {\n",
        *(f"\t{number:#018x},\n" for number in splitmix64(SEED, 8)), "};\n",
    ])


def domains(folder, suffix):
    files = (file for file in (ROOT / folder).rglob("*" + suffix) if "tests" not in file.parts)
    return {domain for file in files for domain in DOMAIN.findall(file.read_text())}


def main():
    text = ANSWERS.read_text()
    before, rest = text.split(BEGIN)
    wanted = before + BEGIN + table() + END + rest.split(END)[1]
    if sys.argv[1:] != ["--check"]:
        ANSWERS.write_text(wanted)
        return 0
    module, crates = domains("kernel", ".c"), domains("engine/core/src", ".rs")
    if text != wanted:
        print(f"{ANSWERS.relative_to(ROOT)} is not what vectors/make-kernel-answers.py makes")
    elif not module or module != crates:
        print(f"strings of the module alone: {module - crates}; of the crates alone: {crates - module}")
    else:
        print(f"the module's answers are those of vectors/; {len(module)} strings as in the crates")
        return 0
    return 1


sys.exit(main())
