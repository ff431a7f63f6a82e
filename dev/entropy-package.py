#!/usr/bin/env python3
"""Makes the package that SP 800-90B asks for: dev/entropy-package.py FOLDER [SOURCE]..

FOLDER must not exist. The sources are jitter, wakeups and interrupts unless some are named. The variable WELLSPRING names the
command; without it cargo builds one. Needs g++, pip, and Debian's libbz2-dev and libdivsufsort-dev. The variable UML, if set,
names a kernel of User Mode Linux with hostfs, for restarts that are boots. For each source FOLDER gets

    samples/SOURCE.bin     1,000,000 consecutive samples (3.1.1)
    restarts/SOURCE.bin    1000 samples of each of 1000 starts of a process (3.1.4)
    boots/SOURCE.bin       with UML: 1000 samples of each of 1000 boots
    results/               the reports of NIST's program about all of them
    failures/SOURCE.txt    the first 4096 samples, sound and damaged: by as much as one health test in one grade must notice, and
                           no more; cutoffs and answers by vectors/make-noise.py, which shares no code with the health tests
    failures/report.txt    the decisions of the health tests about these files

and cutoffs.txt (the proof of all cutoffs), machine.txt, the noise's description, claims and tests (entropy.md, and the code of
sources and health tests), summary.txt and SHA256SUMS. Exit status 1 if an estimate is below a claim or if a test does not fire.
"""

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = "sp800-90b==0.1.1"
TEXTS = ["docs/explanation/entropy.md", "engine/sources/src/linux.rs", "engine/core/src/health/mod.rs",
         "engine/core/src/health/table.rs"]


def run(*words, report=None, cwd=ROOT, may_fail=False):
    """Runs a command that must succeed, and returns its output, which also becomes the file `report`."""
    output = subprocess.run([str(word) for word in words], cwd=cwd, stdout=subprocess.PIPE, text=True)
    if report:
        report.write_text(output.stdout)
    if output.returncode and not may_fail:
        sys.exit(f"exit status {output.returncode}: {' '.join(map(str, words))}\n{output.stdout}")
    return output.stdout


def find_command():
    if "WELLSPRING" in os.environ:
        return Path(os.environ["WELLSPRING"]).absolute()
    run("cargo", "build", "--quiet", "--release", "--locked", "-p", "wellspring-cli")
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release/wellspring"


def build_estimators():
    """NIST's program, from the package PROGRAM; built once."""
    folder = ROOT / "target/sp800-90b"
    if not (folder / "ea_restart").exists():
        run("pip", "download", "--quiet", "--no-binary", ":all:", "--no-deps", "--dest", folder, PROGRAM)
        run("tar", "xf", next(folder.glob("*.tar.gz")), "-C", folder)
        code = next(folder.glob("*/nist_impl/cpp"))
        for tool in ["non_iid", "restart"]:
            run("g++", "-std=c++11", "-O2", "-fopenmp", f"{tool}_main.cpp", "-o", folder / f"ea_{tool}", "-lbz2", "-lpthread",
                "-ldivsufsort", "-ldivsufsort64", cwd=code)
    return folder


# The first program of each boot. The root of this machine is its root, which it cannot change.
FIRST = """#!/bin/sh
mount -t proc proc /proc
mount -t hostfs -o {folder} none /mnt
for source in {sources}; do {wellspring} sources record $source --bytes 1000 >> /mnt/$source.bin; done
exec perl -e 'syscall 169, 0xfee1dead, 0x28121969, 0x4321fedc'    # reboot(2): power off
"""


def boot(linux, sources, wellspring, folder):
    """Records all sources in each of 1000 boots."""
    first = folder.with_name("boot")
    first.write_text(FIRST.format(folder=folder, sources=" ".join(sources), wellspring=wellspring))
    first.chmod(0o755)
    words = [linux, "mem=256M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", f"init={first}", "quiet", "con=null"]
    for number in range(1, 1001):
        subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
        for source in sources:
            length = (folder / f"{source}.bin").stat().st_size
            if length != 1000 * number:
                sys.exit(f"boot {number}: {source}.bin has {length} bytes")


def validate(samples, claim, estimators, report):
    """The restart test with the claim as H_I. Returns H_r and H_c, and whether the validation passed."""
    text = run(estimators / "ea_restart", "-n", "-v", samples, 8, claim, report=report, may_fail=True)
    rows = [re.search(rf"^H_{axis}: ([0-9.]+)", text, re.M) for axis in "rc"]
    rows = ", ".join(found[1] if found else "-" for found in rows)
    # A failure ends the program with another exit status, or without this line.
    return rows, "Validation Test Passed" in text


def record(source, wellspring, folder):
    """The samples of one start in a row, and of 1000 starts."""
    words = [wellspring, "sources", "record", source]
    run(*words, "--bytes", 1_000_000, "--output", folder / f"samples/{source}.bin")
    run(*words, "--bytes", 1000, "--restarts", 1000, "--output", folder / f"restarts/{source}.bin")


def assess(source, claim, estimators, folder):
    """Estimates, and damages samples. Returns a line of the summary, and whether the claim holds."""
    samples, restarts, boots = (folder / f"{name}/{source}.bin" for name in ["samples", "restarts", "boots"])
    initial = run(estimators / "ea_non_iid", "-v", samples, 8, report=folder / f"results/{source}-non-iid.txt")
    estimate = float(re.search(r"min\(H_original, 8 X H_bitstring\): ([0-9.]+)", initial)[1])
    holds, columns = estimate >= claim, []
    for recording in [restarts, boots]:
        rows, is_valid = "-", True
        if recording.exists():
            report = folder / f"results/{source}-{recording.parent.name}.txt"
            rows, is_valid = validate(recording, claim, estimators, report)
        holds &= is_valid
        columns.append(f"{rows:22}" if is_valid else f"{rows:15} FAILED")
    run(sys.executable, ROOT / "vectors/make-noise.py", samples, round(claim * 256), folder / "failures")
    verdict = "holds" if holds else "DOES NOT HOLD"
    return f"{source:12} {claim:<8} {estimate:<10} {' '.join(columns)} {verdict}", holds


def machine():
    """The operating environment (3.2.1)."""
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    load = Path("/proc/loadavg").read_text().strip()
    commit = run("git", "describe", "--always", "--dirty").strip()
    uname = " ".join(platform.uname())
    return f"{uname}\nprocessor: {model[1] if model else '-'}, {os.cpu_count()} CPUs\nload: {load}\ncommit: {commit}\n"


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder, sources = Path(sys.argv[1]).absolute(), sys.argv[2:] or ["jitter", "wakeups", "interrupts"]
    folder.mkdir()
    for name in ["samples", "restarts", "results", "failures"]:
        (folder / name).mkdir()
    wellspring, estimators = find_command(), build_estimators()
    found = [json.loads(line) for line in run(wellspring, "sources", "list", "--json").splitlines()]
    claims = {source["name"]: source["claim_bits_per_byte"] for source in found}
    (folder / "machine.txt").write_text(machine())
    run(sys.executable, ROOT / "vectors/make-cutoffs.py", "--check", report=folder / "cutoffs.txt")
    for text in TEXTS:
        shutil.copy(ROOT / text, folder / text.replace("/", "-") if text.endswith(".rs") else folder)
    if "UML" in os.environ:
        (folder / "boots").mkdir()
        boot(os.environ["UML"], sources, wellspring, folder / "boots")
    lines, all_hold = [f"source       claim    estimate   {'restarts: H_r, H_c':22} {'boots: H_r, H_c':22} the claim"], True
    # The estimators, which take minutes of a processor, run while the next source is recorded.
    with ThreadPoolExecutor(1) as pool:
        assessments = []
        for source in sources:
            record(source, wellspring, folder)
            assessments.append(pool.submit(assess, source, claims[source], estimators, folder))
        for assessment in assessments:
            line, holds = assessment.result()
            lines.append(line)
            all_hold &= holds
    # Exit status 1 if a decision differs from the answer in the file.
    traces = sorted((folder / "failures").glob("*.txt"))
    run(wellspring, "sources", "replay", *traces, report=folder / "failures/report.txt")
    (folder / "summary.txt").write_text("\n".join(lines) + "\n")
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}\n" for path in files]
    (folder / "SHA256SUMS").write_text("".join(sums))
    print((folder / "summary.txt").read_text(), end="")
    return 0 if all_hold else 1


sys.exit(main())
