#!/usr/bin/env python3
"""Makes the package that SP 800-90B asks for: dev/entropy-package.py FOLDER [SOURCE]..

FOLDER must not exist. The sources are jitter, wakeups and interrupts unless some are named. The variable WELLSPRING names the
command; without it cargo builds one. Needs g++, pip, and Debian's libbz2-dev and libdivsufsort-dev. For each source FOLDER gets

    samples/SOURCE.bin     1,000,000 consecutive samples (3.1.1)
    restarts/SOURCE.bin    1000 samples of each of 1000 starts of a process (3.1.4)
    results/               the reports of NIST's program about both
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
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = "sp800-90b==0.1.1"
TEXTS = ["docs/explanation/entropy.md", "engine/sources/src/linux.rs", "engine/core/src/health/mod.rs",
         "engine/core/src/health/table.rs"]


def run(*words, report=None, cwd=ROOT):
    """Runs a command that must succeed, and returns its output, which also becomes the file `report`."""
    output = subprocess.run([str(word) for word in words], cwd=cwd, stdout=subprocess.PIPE, text=True)
    if report:
        report.write_text(output.stdout)
    if output.returncode:
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


def assess(source, claim, wellspring, estimators, folder):
    """Records, estimates, damages. Returns a line of the summary, and whether the claim holds."""
    samples, restarts = folder / f"samples/{source}.bin", folder / f"restarts/{source}.bin"
    run(wellspring, "sources", "record", source, "--bytes", 1_000_000, "--output", samples)
    run(wellspring, "sources", "record", source, "--bytes", 1000, "--restarts", 1000, "--output", restarts)
    initial = run(estimators / "ea_non_iid", "-v", samples, 8, report=folder / f"results/{source}-non-iid.txt")
    estimate = float(re.search(r"min\(H_original, 8 X H_bitstring\): ([0-9.]+)", initial)[1])
    # With the claim as H_I. A failed validation ends the program with another exit status, or without this line.
    restarted = run(estimators / "ea_restart", "-n", "-v", restarts, 8, claim, report=folder / f"results/{source}-restarts.txt")
    is_valid = "Validation Test Passed" in restarted
    rows = [re.search(rf"^H_{axis}: ([0-9.]+)", restarted, re.M) for axis in "rc"]
    rows = ", ".join(found[1] if found else "-" for found in rows)
    run(sys.executable, ROOT / "vectors/make-noise.py", samples, round(claim * 256), folder / "failures")
    holds = is_valid and estimate >= claim
    verdict = "holds" if holds else "DOES NOT HOLD"
    return f"{source:12} {claim:<8} {estimate:<10} {rows:22} {verdict}", holds


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
    lines, all_hold = ["source       claim    estimate   restarts: H_r, H_c     the claim"], True
    for source in sources:
        line, holds = assess(source, claims[source], wellspring, estimators, folder)
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
