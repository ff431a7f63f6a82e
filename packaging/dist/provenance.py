"""provenance.py FOLDER COMMIT FLAGS SOURCE: writes SHA256SUMS and provenance.json, an in-toto statement as SLSA describes it,
for all files of a folder. It also says what cargo-deny found in the dependencies of SOURCE, without vulnerabilities, which
become known later."""

import hashlib
import json
import pathlib
import shutil
import subprocess
import sys

MADE_HERE = {"SHA256SUMS", "SHA256SUMS.sig", "provenance.json", "InRelease"}

folder, commit, flags, source = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4])


def words(*command):
    """What a program prints."""
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def denied():
    """For each lock file of what is shipped: that cargo-deny accepts bans, licences and origins. Else this program fails."""
    if shutil.which("cargo-deny") is None:
        return "not run: cargo-deny is not installed"
    for manifest in ("Cargo.toml", "bindings/python/Cargo.toml"):
        words("cargo", "deny", "--log-level=error", "--config", source / "deny.toml", "--manifest-path", source / manifest,
              "check", "bans", "licenses", "sources")
    return words("cargo", "deny", "--version") + ": bans, licenses and sources are accepted"


files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in MADE_HERE)
digests = {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
statement = {
    "_type": "https://in-toto.io/Statement/v1",
    "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in digests.items()],
    "predicateType": "https://slsa.dev/provenance/v1",
    "predicate": {
        "buildDefinition": {
            "buildType": "cargo xtask dist",
            # Without the two folders of the build, which differ from machine to machine.
            "externalParameters": {"rustflags": [word.split("=")[-1] for word in flags.split()]},
            "internalParameters": {
                "rustc": words("rustc", "--version", "--verbose").splitlines(),
                "cargo": words("cargo", "--version"),
                "wheels": pathlib.Path(__file__).with_name("requirements.txt").read_text().splitlines()[1:],
                "dependencies": denied(),
                "system": words("sh", "-c", ". /etc/os-release; echo $PRETTY_NAME"),
            },
            "resolvedDependencies": [{"uri": "git+wellspring", "digest": {"gitCommit": commit}}],
        },
        "runDetails": {"builder": {"id": "packaging/dist/build.sh"}},
    },
}
text = json.dumps(statement, indent=1) + "\n"
(folder / "provenance.json").write_text(text)
digests["provenance.json"] = hashlib.sha256(text.encode()).hexdigest()
(folder / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items())))
