//! Chores that call cargo: tests, other toolchains, sanitizers, machines, the dependency tree. And `dist`, which builds a
//! release.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A chore that is some command lines of cargo. Further words are added to each of them.
pub(crate) struct Chore {
    name: &'static str,
    /// The parts of the nightly toolchain that it needs. `None`: the toolchain that runs this program.
    nightly: Option<&'static [&'static str]>,
    environment: &'static [(&'static str, &'static str)],
    lines: &'static [&'static str],
}

/// A target folder of its own for all whose flags change every crate. A named target keeps the flags of sanitizers away from
/// build scripts.
pub(crate) const CHORES: [Chore; 10] = [
    Chore {
        name: "loom",
        nightly: None,
        environment: &[("RUSTFLAGS", "--cfg loom")],
        lines: &[
            "test --release --locked --test loom --target-dir target/loom \
                  --package wellspring-core --features wellspring-core/loom \
                  --package wellspring-os --features wellspring-os/loom",
        ],
    },
    // Undefined behaviour in what runs without system calls, by interpretation. Randomised tests draw many cases; one is
    // enough for an interpreter that is 1000 times slower. The tests of health and of seed files go through millions of
    // bytes, and the core has no unsafe code.
    Chore {
        name: "miri",
        nightly: Some(&["miri", "rust-src"]),
        environment: &[
            ("PROPTEST_CASES", "1"),
            ("MIRIFLAGS", "-Zmiri-disable-isolation"),
        ],
        lines: &[
            "miri test --locked --target-dir target/miri --package wellspring-os --test states -- soundness",
            "miri test --locked --target-dir target/miri --package wellspring --test every_system -- interpreted",
            "miri test --locked --target-dir target/miri --package wellspring-core --lib -- --skip health --skip seed_file",
        ],
    },
    // Memory errors in the crates that have unsafe code, and in the engine. The engine keeps its memory until the process
    // ends, so leaks are not looked for.
    Chore {
        name: "asan",
        nightly: Some(&[]),
        environment: &[
            ("ASAN_OPTIONS", "detect_leaks=0"),
            ("RUSTFLAGS", "-Zsanitizer=address"),
        ],
        lines: &[
            "test --locked --lib --target-dir target/asan --target x86_64-unknown-linux-gnu \
                  --package wellspring-cipher --package wellspring-os --package wellspring \
                  --package wellspring-pseudo-thread --package wellspring-interpose",
        ],
    },
    // Data races. The standard library is built with the same sanitizer, or every lock in it would look like a race. By the
    // C library, ThreadSanitizer sees that memory was unmapped before another thread maps it again.
    Chore {
        name: "tsan",
        nightly: Some(&["rust-src"]),
        environment: &[("RUSTFLAGS", "-Zsanitizer=thread --cfg rustix_use_libc")],
        lines: &[
            "test --locked --lib --target-dir target/tsan --target x86_64-unknown-linux-gnu -Zbuild-std \
                  --package wellspring-cipher --package wellspring-os --package wellspring \
                  --package wellspring-pseudo-thread --package wellspring-interpose",
        ],
    },
    rig(
        "rig",
        &["run --quiet --locked --package wellspring-rig -- machines"],
    ),
    rig(
        "runtimes",
        &["run --quiet --locked --package wellspring-rig -- runtimes"],
    ),
    rig(
        "kernel-test",
        &["run --quiet --locked --package wellspring-rig -- kernel-test"],
    ),
    rig(
        "openssl",
        &["run --quiet --locked --package wellspring-rig -- openssl"],
    ),
    rig(
        "cross",
        &["run --quiet --locked --package wellspring-rig -- cross"],
    ),
    rig(
        "prove",
        &["run --quiet --locked --package wellspring-rig -- prove"],
    ),
];

/// A command of `wellspring-rig`. It is another program, since few people need it.
const fn rig(name: &'static str, lines: &'static [&'static str]) -> Chore {
    Chore {
        name,
        nightly: None,
        environment: &[],
        lines,
    }
}

impl Chore {
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        CHORES.iter().find(|chore| chore.name == name)
    }

    pub(crate) fn run(&self, words: impl Iterator<Item = String>) -> Result<(), String> {
        let words: Vec<String> = words.collect();
        if let Some(parts) = self.nightly
            && !nightly_has(parts)
        {
            let parts = parts.join(" ");
            return skip(&format!(
                "no nightly toolchain, or it lacks a part: rustup +nightly component add {parts}"
            ));
        }
        self.lines.iter().try_for_each(|line| {
            let mut cargo = match self.nightly {
                Some(_) => nightly_cargo(),
                None => cargo(),
            };
            cargo.envs(self.environment.iter().copied());
            run(cargo.args(line.split_whitespace()).args(&words))
        })
    }
}

/// Whether rustup has a nightly toolchain with these components.
fn nightly_has(parts: &[&str]) -> bool {
    let list = ["component", "list", "--toolchain", "nightly", "--installed"];
    let output = Command::new("rustup").args(list).output();
    output.is_ok_and(|output| {
        let installed = String::from_utf8_lossy(&output.stdout);
        let has = |part: &&str| installed.lines().any(|line| line.starts_with(*part));
        output.status.success() && parts.iter().all(has)
    })
}

/// The folder of the repository.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// The paths of the files in `root` that git tracks.
pub(crate) fn tracked(root: &Path) -> Result<Vec<String>, String> {
    let git = env::var_os("GIT").unwrap_or_else(|| "git".into());
    let output = Command::new(git).arg("ls-files").current_dir(root).output();
    let output = output.map_err(|error| format!("git ls-files: {error}"))?;
    let listed = String::from_utf8_lossy(&output.stdout);
    let paths: Vec<String> = listed.lines().map(String::from).collect();
    if paths.is_empty() {
        return Err("git ls-files lists no files".into());
    }
    Ok(paths)
}

/// Cargo, in the folder of the repository.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    cargo
}

/// Cargo of the nightly toolchain, by way of rustup's `cargo` in PATH.
fn nightly_cargo() -> Command {
    let mut cargo = Command::new("cargo");
    cargo.arg("+nightly").current_dir(root());
    // This process was started by a cargo that put its own toolchain here.
    for variable in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN", "RUSTDOC"] {
        cargo.env_remove(variable);
    }
    cargo
}

/// The status by which a program says that it was not run, for want of something. The gate knows it.
const SKIPPED: i32 = 77;

/// Runs a command that must succeed.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        // The program said why.
        Ok(status) if status.code() == Some(SKIPPED) => std::process::exit(SKIPPED),
        Ok(status) => Err(format!("{command:?}: {status}")),
        Err(error) => Err(format!("{command:?}: {error}")),
    }
}

/// Whether a command runs and succeeds. Its output is not shown.
fn succeeds(command: &mut Command) -> bool {
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Says that a chore did not run, and why.
pub(crate) fn skip(reason: &str) -> Result<(), String> {
    println!("SKIPPED: {reason}");
    Ok(())
}

/// The peers of the benchmark. They are outside the workspace, to keep them out of the dependency tree.
pub(crate) fn bench(words: impl Iterator<Item = String>) -> Result<(), String> {
    let words: Vec<String> = words.collect();
    let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
    let counts = has(&["--counts", "--write-counts"]);
    let gates = has(&["--check-wanted", "--against"]);
    if counts || !gates {
        // The libraries that it loads.
        let doors = "build --release --locked --package wellspring-c --package wellspring-preload --package wellspring-openssl";
        run(cargo().args(doors.split(' ')))?;
    }
    let fixed = if counts || gates {
        // They compare with Rust's generators alone, so this is built without C libraries; and as a user builds a program,
        // without link-time optimisation.
        "run --profile user --locked --no-default-features --manifest-path dev/bench/Cargo.toml --"
    } else {
        "run --release --locked --manifest-path dev/bench/Cargo.toml --"
    };
    run(cargo().args(fixed.split(' ')).args(words))
}

/// Licences, sources and duplicates of all dependencies; and known vulnerabilities, unless the database is out of reach or
/// `--no-vulnerabilities` is given.
pub(crate) fn deny(mut words: impl Iterator<Item = String>) -> Result<(), String> {
    let is_partial = match words.next().as_deref() {
        None => false,
        Some("--no-vulnerabilities") => true,
        Some(_) => return Err("deny takes no word but --no-vulnerabilities".into()),
    };
    if !succeeds(cargo().args(["deny", "--version"])) {
        return skip("cargo-deny is not installed: cargo install --locked cargo-deny@0.20.2");
    }
    let mut checks = vec!["bans", "licenses", "sources"];
    if !is_partial && succeeds(cargo().args(["deny", "fetch", "db"])) {
        checks.push("advisories");
    } else if !is_partial {
        skip("known vulnerabilities: the database is out of reach: cargo deny fetch db")?;
    }
    // The examples, the benchmark, the fuzz targets, the Python package and the crates for wgpu and wasmtime are outside the
    // workspace.
    let tracked = tracked(&root())?;
    let locks = tracked.iter().filter(|path| path.ends_with("Cargo.lock"));
    locks
        .map(|path| path.replace(".lock", ".toml"))
        .try_for_each(|manifest| {
            let deny = [
                "deny",
                "--config",
                "deny.toml",
                "--manifest-path",
                &manifest,
            ];
            run(cargo().args(deny).arg("check").args(&checks))
        })
}

// ---- dist ----
// `dist`: what a release has, by `packaging/dist/`, into `dist/VERSION`. RELEASING.md says what the words are.

/// Builds the parts that are named, or all. `compare` builds them twice, to see that both are the same; `sign` signs them,
/// and `try` uses them in a new Debian.
pub(crate) fn dist(words: impl Iterator<Item = String>) -> Result<(), String> {
    let words: Vec<String> = words.collect();
    let out = concat!("dist/", env!("CARGO_PKG_VERSION"));
    let (script, fixed, rest): (_, &[&str], _) = match words.split_first() {
        Some((word, rest)) if word == "compare" => ("compare.sh", &[], rest),
        Some((word, rest)) if word == "sign" => ("sign.sh", &[out], rest),
        Some((word, rest)) if word == "try" => ("try.sh", &[out], rest),
        _ => ("build.sh", &["target/dist", out], &words[..]),
    };
    let script = root().join("packaging/dist").join(script);
    run(Command::new(script)
        .current_dir(root())
        .args(fixed)
        .args(rest))
}
