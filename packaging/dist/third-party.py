"""third-party.py SOURCE: prints the licences of all code of others that the programs and libraries of a release contain: the
crates that are linked, the compiler's libraries, and musl in the static programs. A text that several projects have is there
once. Where MIT is one choice, its text is enough."""

import html
import json
import pathlib
import re
import subprocess
import sys

source = pathlib.Path(sys.argv[1])
WORKSPACES = {
    "Cargo.toml": ["wellspring-cli", "wellspring-service", "wellspring-c", "wellspring-preload", "wellspring-openssl"],
    "bindings/python/Cargo.toml": ["wellspring-python"],
}
SYSTEMS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl")
texts = {}
projects = {}


def words(*command):
    """What a program prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def add(project, licence, files):
    """Notes a project: its licence, and its notices by the name of their file."""
    if "MIT" in licence and any("MIT" in name for name in files):
        files = {name: text for name, text in files.items() if "APACHE" not in name.upper()}
    numbers = {texts.setdefault(text.strip(), len(texts) + 1) for _, text in sorted(files.items())}
    projects[project] = f"{project} ({licence}): {', '.join(map(str, sorted(numbers))) or 'its package has no text'}"


def crates(manifest, doors):
    """The packages of others that are linked on any of the systems: no macros, no build scripts, no tests."""
    where = ["--locked", "--manifest-path", source / manifest]
    tree = ["--edges=normal,no-proc-macro", "--prefix=none", "--format={p}"]
    chosen = [f"--package={door}" for door in doors]
    linked = set()
    for system in SYSTEMS:
        lines = words("cargo", "tree", *where, *tree, *chosen, "--target", system).splitlines()
        linked |= {tuple(line.split()[:2]) for line in lines if line}
    packages = json.loads(words("cargo", "metadata", *where, "--format-version=1"))["packages"]
    return [one for one in packages if one["source"] and (one["name"], "v" + one["version"]) in linked]


for manifest, doors in WORKSPACES.items():
    for package in crates(manifest, doors):
        folder = pathlib.Path(package["manifest_path"]).parent
        files = {path.name: path.read_text() for path in sorted(folder.iterdir())
                 if re.match(r"(?i)(un)?licen[cs]e|copying|copyright|notice", path.name) and path.is_file()}
        add(f"{package['name']} {package['version']}", package["license"], files)

# What the compiler brings. Its list of the crates in the standard library is a page for a browser.
compiler = pathlib.Path(words("rustc", "--print", "sysroot").strip(), "share/doc/rust")
licences = {path.stem: path.read_text() for path in sorted((compiler / "licenses").iterdir())}
mit = licences["MIT"].split("\n\n", 2)[2]
add("the standard library of Rust", "MIT OR Apache-2.0", {"MIT": "Copyright (c) The Rust Project Contributors\n\n" + mit})
for part in (compiler / "COPYRIGHT-library.html").read_text().split("📦 ")[1:]:
    name = html.unescape(re.split(r"[<\n]", part)[0]).strip()
    licence = re.search(r"License:</b>\s*([^<\n]+)", part)[1].strip()
    notices = re.findall(r"<summary><code>([^<]+)</code></summary>\s*<pre>(.*?)</pre>", part, re.DOTALL)
    add(f"{name}, in the standard library", licence, {file: html.unescape(text) for file, text in notices})
add("musl, in static programs", "MIT", {"MIT": "Copyright © 2005-2020 Rich Felker, et al.\n\n" + mit})
add("LLVM's libunwind, in static programs", "Apache-2.0 WITH LLVM-exception",
    {name: licences[name] for name in ("Apache-2.0", "LLVM-exception")})

print("The programs and libraries of wellspring contain code of these projects. The numbers are those of the texts below.\n")
print("\n".join(projects[project] for project in sorted(projects)))
for text, number in texts.items():
    print(f"\n---- {number} ----\n\n{text}")
