//! Chores that call cargo: tests, other toolchains, sanitizers, the dependency tree, packages.

use std::env;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

/// The target that sanitizers and Miri build for. A named target keeps their flags away from build scripts.
const TARGET: &str = "x86_64-unknown-linux-gnu";

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

/// Cargo of another toolchain, by way of rustup's `cargo`, which is the one in PATH.
fn cargo_of(toolchain: &str) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.arg(format!("+{toolchain}")).current_dir(root());
    // This process was started by a cargo that put its own toolchain here.
    for variable in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN", "RUSTDOC"] {
        cargo.env_remove(variable);
    }
    cargo
}

/// Runs a command that must succeed.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
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

/// The soak of the host service, for some minutes.
pub(crate) fn soak(mut words: impl Iterator<Item = String>) -> Result<(), String> {
    let minutes = words.next().unwrap_or_else(|| "1".into());
    if minutes.parse::<u64>().is_err() {
        return Err(format!("soak: '{minutes}' is no number of minutes"));
    }
    let fixed = "test --release --locked --package wellspring-service --test soak -- --nocapture";
    let mut cargo = cargo();
    cargo.env("WELLSPRING_SOAK_MINUTES", minutes);
    run(cargo.args(fixed.split(' ')))
}

/// The lock-free parts under every interleaving. `cfg(loom)` changes every crate, so it has a target folder of its own.
pub(crate) fn loom() -> Result<(), String> {
    for package in ["wellspring-core", "wellspring-os"] {
        let words = "test --release --locked --test loom --target-dir target/loom --package";
        let mut cargo = cargo();
        cargo.env("RUSTFLAGS", "--cfg loom");
        run(cargo.args(words.split(' ')).arg(package))?;
    }
    Ok(())
}

/// The peers of the benchmark. They are outside of the workspace, to keep them out of the dependency tree.
pub(crate) fn bench(words: impl Iterator<Item = String>) -> Result<(), String> {
    let words: Vec<String> = words.collect();
    let is_of_gate = |word: &String| {
        ["--check", "--check-wanted", "--against", "--save-baseline"].contains(&word.as_str())
    };
    if words.iter().any(is_of_gate) {
        // They compare with Rust's generators alone, so this is built without C libraries and without the doors; and as a
        // user builds a program, without link-time optimisation.
        let fixed = "run --profile user --locked --no-default-features --manifest-path dev/bench/Cargo.toml --";
        return run(cargo().args(fixed.split(' ')).args(words));
    }
    // The libraries that it loads.
    let doors = "build --release --locked --package wellspring-c --package wellspring-preload --package wellspring-openssl";
    run(cargo().args(doors.split(' ')))?;
    let fixed = "run --release --locked --manifest-path dev/bench/Cargo.toml --";
    run(cargo().args(fixed.split(' ')).args(words))
}

/// A command of `wellspring-rig`. It is another program, since few people need it.
pub(crate) fn rig(command: &str, words: impl Iterator<Item = String>) -> Result<(), String> {
    let fixed = "run --quiet --locked --package wellspring-rig --";
    run(cargo().args(fixed.split(' ')).arg(command).args(words))
}

/// The stated Rust version: no newer function of the standard library by clippy's lint, and a build with that version
/// where it is installed.
pub(crate) fn msrv() -> Result<(), String> {
    let version = env!("CARGO_PKG_RUST_VERSION");
    let lint = "clippy --workspace --locked -- -D clippy::incompatible_msrv";
    run(cargo().args(lint.split(' ')))?;
    let words = "check --workspace --locked --target-dir target/msrv";
    let list = Command::new("rustup").args(["toolchain", "list"]).output();
    let list = list.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let Some(toolchain) = installed(&list.unwrap_or_default(), version) else {
        return skip(&format!(
            "no build with Rust {version}: it is not installed"
        ));
    };
    run(cargo_of(&toolchain).args(words.split(' ')))
}

/// The name in rustup's list of a toolchain of this version. rustup would download one that it has under another name:
/// `+1.89` where 1.89.0 is installed.
fn installed(list: &str, version: &str) -> Option<String> {
    let mut names = list.lines().filter_map(|line| line.split(' ').next());
    let is_of = |name: &str| {
        name == version
            || name
                .strip_prefix(version)
                .is_some_and(|rest| rest.starts_with(['.', '-']))
    };
    names.find(|name| is_of(name)).map(str::to_owned)
}

/// Packages of all crates that are published, built from what is in them. Nothing is uploaded.
///
/// Cargo unpacks them in its home, under the hash of the target folder's path, and keeps what it
/// finds there. In a folder that was used before, it would build the sources of that time: so each
/// run has a new one.
pub(crate) fn publish(words: impl Iterator<Item = String>) -> Result<(), String> {
    let folder = root().join("target/publish");
    if let Err(error) = std::fs::remove_dir_all(&folder)
        && error.kind() != ErrorKind::NotFound
    {
        return Err(format!("{}: {error}", folder.display()));
    }
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let since_1970 = since_1970.map_err(|_| "the clock is before 1970")?;
    let folder = folder.join(since_1970.as_nanos().to_string());
    let fixed = "publish --workspace --dry-run --locked --target-dir";
    run(cargo().args(fixed.split(' ')).arg(folder).args(words))
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
    // The examples, the benchmark, the fuzz targets and the Python package are outside of the workspace.
    let tracked = tracked(&root())?;
    let locks = tracked.iter().filter(|path| path.ends_with("Cargo.lock"));
    let manifests: Vec<String> = locks.map(|path| path.replace(".lock", ".toml")).collect();
    let check = |what: &[&str]| {
        manifests.iter().try_for_each(|manifest| {
            let deny = ["deny", "--config", "deny.toml", "--manifest-path", manifest];
            run(cargo().args(deny).arg("check").args(what))
        })
    };
    check(&["bans", "licenses", "sources"])?;
    if is_partial {
        return Ok(());
    }
    let output = cargo().args(["deny", "fetch", "db"]).output();
    let output = output.map_err(|error| format!("cargo deny: {error}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let reason = text.lines().map(str::trim).find(|line| !line.is_empty());
        return skip(&format!(
            "known vulnerabilities: the database is out of reach: {}",
            reason.unwrap_or("cargo deny gives no reason")
        ));
    }
    check(&["advisories"])
}

/// Undefined behaviour in what runs without system calls, by interpretation.
pub(crate) fn miri() -> Result<(), String> {
    if !succeeds(cargo_of("nightly").args(["miri", "--version"])) {
        return skip(
            "the nightly toolchain has no Miri: rustup +nightly component add miri rust-src",
        );
    }
    if !has_nightly_source() {
        return skip("the nightly toolchain has no rust-src, from which Miri builds its library");
    }
    // Randomised tests draw many cases; one is enough for an interpreter that is 1000 times slower. The tests of health
    // and of seed files go through millions of bytes, and the core has no unsafe code.
    for words in [
        "--package wellspring-os --test soundness",
        "--package wellspring --test interpreted",
        "--package wellspring-core --lib -- --skip health --skip seed_file",
    ] {
        let mut cargo = cargo_of("nightly");
        cargo
            .env("PROPTEST_CASES", "1")
            .env("MIRIFLAGS", "-Zmiri-disable-isolation")
            .args("miri test --locked --target-dir target/miri".split(' '));
        run(cargo.args(words.split(' ')))?;
    }
    Ok(())
}

/// Memory errors in the crates that have unsafe code, and in the engine. The engine keeps its memory until the process ends,
/// so leaks are not looked for.
pub(crate) fn asan() -> Result<(), String> {
    if !succeeds(cargo_of("nightly").arg("--version")) {
        return skip("there is no nightly toolchain, which AddressSanitizer needs");
    }
    let mut cargo = cargo_of("nightly");
    cargo.env("ASAN_OPTIONS", "detect_leaks=0");
    sanitize(
        cargo,
        "-Zsanitizer=address",
        "test --target-dir target/asan",
    )
}

/// Data races. The standard library is built with the same sanitizer, or every lock in it would look like a race. By the C
/// library, ThreadSanitizer sees that memory was unmapped before another thread maps it again.
pub(crate) fn tsan() -> Result<(), String> {
    if !has_nightly_source() {
        return skip(
            "the nightly toolchain has no rust-src, from which ThreadSanitizer's library is built",
        );
    }
    let flags = "-Zsanitizer=thread --cfg rustix_use_libc";
    sanitize(
        cargo_of("nightly"),
        flags,
        "test -Zbuild-std --target-dir target/tsan",
    )
}

fn sanitize(mut cargo: Command, flags: &str, words: &str) -> Result<(), String> {
    let fixed =
        "--locked --lib --package wellspring-cipher --package wellspring-os --package wellspring";
    cargo.env("RUSTFLAGS", flags);
    cargo.args(words.split(' ')).args(fixed.split(' '));
    run(cargo.args(["--target", TARGET]))
}

/// Whether the nightly toolchain has the source of the standard library.
fn has_nightly_source() -> bool {
    let mut rustc = Command::new("rustc");
    rustc
        .args(["+nightly", "--print", "sysroot"])
        .env_remove("RUSTUP_TOOLCHAIN");
    let sysroot = rustc
        .output()
        .map(|output| output.stdout)
        .unwrap_or_default();
    let sysroot = String::from_utf8_lossy(&sysroot).trim().to_owned();
    Path::new(&sysroot)
        .join("lib/rustlib/src/rust/library/Cargo.lock")
        .exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installed_version_is_found_under_each_of_its_names() {
        let list = "stable-x86_64 (active)\n1.8.0-x86_64\n1.89.0-x86_64\n";
        assert_eq!(installed(list, "1.89").as_deref(), Some("1.89.0-x86_64"));
        assert_eq!(installed(list, "1.88"), None);
    }
}
