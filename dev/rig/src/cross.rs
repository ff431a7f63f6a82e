//! `cross`: known answers, self-tests and vector tests on other processors, by QEMU's user-mode emulation.
//!
//! Debian 12 has no Rust standard library for other processors, and Debian sid has. So a small sid is installed into
//! the cache, with rustc, cross compilers and QEMU. It takes about 3 GB.

use crate::guest::{Cache, Chroot, Result, Stop, Table, at, failed, run};
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// A processor to test on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Target {
    /// Its name on the command line, in QEMU's and in the compiler's names.
    name: &'static str,
    /// Debian's name of it.
    architecture: &'static str,
}

const fn target(name: &'static str, architecture: &'static str) -> Target {
    Target { name, architecture }
}

/// aarch64 is the most common one after x86-64; s390x is big-endian; riscv64 has neither AES nor vectors in its base.
const TARGETS: [Target; 3] = [
    target("aarch64", "arm64"),
    target("s390x", "s390x"),
    target("riscv64", "riscv64"),
];

/// The packages whose tests compare with known answers and run under emulation without exception. Tests of the
/// engine do not: QEMU's user mode has no vDSO getrandom, no NUMA calls, and other signal masks.
const TESTED: [&str; 3] = ["wellspring-cipher", "wellspring-core", "wellspring-pseudo"];

/// The tests that the processor can change the result of. Statistics and searches of memory are left out.
const TESTS: [&str; 14] = [
    "backends",
    "between_streams",
    "counter",
    "distribution",
    "element_vectors",
    "engines",
    "equivalence",
    "fortuna",
    "known_answers",
    "lanes",
    "seekable",
    "sha256",
    "tap",
    "vectors",
];

/// Of each randomised test, under emulation.
const CASES: &str = "32";

/// Where the repository and the downloaded crates are inside the chroot.
const SOURCE: &str = "/source";
const REGISTRY: &str = "/cargo/registry";

impl Target {
    fn triple(self) -> String {
        // Rust names the extensions of RISC-V too.
        let extensions = if self.name == "riscv64" { "gc" } else { "" };
        format!("{}{extensions}-unknown-linux-gnu", self.name)
    }

    /// Cargo's variable for a setting of this target.
    fn variable(self, setting: &str) -> String {
        let triple = self.triple().to_uppercase().replace('-', "_");
        format!("CARGO_TARGET_{triple}_{setting}")
    }

    /// QEMU with the fullest CPU model it has, and the folder with the target's C library.
    fn emulator(self) -> [String; 5] {
        let (name, library) = (self.name, format!("/usr/{}-linux-gnu", self.name));
        [&format!("qemu-{name}"), "-cpu", "max", "-L", &library].map(str::to_owned)
    }
}

/// Runs the command.
pub(crate) fn run_all(root: &Path, words: impl Iterator<Item = String>) -> Result {
    let targets = parse(words)?;
    let cache = Cache::open(root)?;
    let chroot = Chroot::fetch_and_run(&cache, "system-cross", "sid", &installation());
    // The archive may be out of reach, and sid changes every day: neither is a fault of this project.
    let chroot = chroot.map_err(|stop| match stop {
        Stop::Missing(reason) | Stop::Failed(reason) => {
            Stop::Missing(format!("Debian sid cannot be had: {reason}"))
        }
    })?;
    let registry = fetch_crates(root)?;
    let build = cache.folder().join("cross-target");
    std::fs::create_dir_all(&build).map_err(at(build.display()))?;
    let chroot = chroot.share(root, SOURCE).share(&registry, REGISTRY);
    let mut table = Table::new();
    for target in targets {
        let step = Step {
            chroot: &chroot,
            build: &build,
            target,
        };
        let name = target.name;
        let built = step.cargo(&["build", "--package", "wellspring-cli"]);
        let is_built = built.is_ok();
        table.add_outcome(format!("{name} build"), built)?;
        if is_built {
            let vectors = format!("{SOURCE}/vectors/fortuna-freebsd.txt");
            let replay = step.wellspring(&["replay", "--check", &vectors]);
            table.add_outcome(format!("{name} replay"), replay)?;
            let check = step.wellspring(&["check"]);
            table.add_outcome(format!("{name} check"), check)?;
        }
        let mut words = vec!["test", "--quiet", "--lib"];
        words.extend(TESTED.iter().flat_map(|package| ["--package", package]));
        words.extend(TESTS.iter().flat_map(|name| ["--test", name]));
        table.add_outcome(format!("{name} tests"), step.cargo(&words))?;
    }
    table.end()
}

/// The script that installs compilers and QEMU. The standard libraries are unpacked and not installed, since their
/// packages depend on a complete LLVM for the other processor (1 GB each).
fn installation() -> String {
    let mut packages = String::from("rustc cargo gcc libc6-dev qemu-user");
    let mut libraries = String::new();
    let mut architectures = String::new();
    for Target { name, architecture } in TARGETS {
        packages += &format!(" gcc-{name}-linux-gnu libc6-dev-{architecture}-cross");
        libraries += &format!(" libstd-rust-dev:{architecture}");
        architectures += &format!("dpkg --add-architecture {architecture}\n");
    }
    format!(
        "{architectures}apt-get update --quiet\n\
         apt-get install --yes --quiet --no-install-recommends {packages}\n\
         cd /tmp\n\
         apt-get download --quiet{libraries}\n\
         for package in libstd-rust-dev*.deb; do dpkg -x \"$package\" /; rm \"$package\"; done"
    )
}

/// Downloads the crates with this machine's cargo, and returns cargo's folder for them.
fn fetch_crates(root: &Path) -> Result<PathBuf> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    run(Command::new(cargo)
        .args(["fetch", "--locked"])
        .current_dir(root))?;
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
    let registry = home.map(|home| home.join("registry"));
    registry
        .filter(|registry| registry.is_dir())
        .ok_or(Stop::Missing("no cargo registry in CARGO_HOME".into()))
}

/// The arguments that every step for a target needs.
struct Step<'a> {
    chroot: &'a Chroot,
    build: &'a Path,
    target: Target,
}

impl Step<'_> {
    /// Runs cargo for the target. Returns the duration as a note.
    fn cargo(&self, words: &[&str]) -> Result<String> {
        let target = self.target;
        let mut cargo = self.chroot.command("cargo");
        // Optimised dependencies take twice as long to build, and the tests are short.
        cargo.args(["--config", "profile.dev.package.'*'.opt-level=1"]);
        cargo
            .args(words)
            .args(["--locked", "--offline", "--target", &target.triple()]);
        cargo
            .arg("--manifest-path")
            .arg(format!("{SOURCE}/Cargo.toml"));
        cargo
            .env("CARGO_HOME", "/cargo")
            .env("CARGO_TARGET_DIR", self.build)
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("PROPTEST_CASES", CASES)
            .env(target.variable("RUNNER"), target.emulator().join(" "))
            .env(
                target.variable("LINKER"),
                format!("{}-linux-gnu-gcc", target.name),
            );
        // Settings for this machine's compiler.
        for variable in ["RUSTFLAGS", "RUSTC", "RUSTUP_TOOLCHAIN", "RUSTC_WRAPPER"] {
            cargo.env_remove(variable);
        }
        let start = Instant::now();
        let text = run(&mut cargo)?;
        let took = start.elapsed();
        match count_passed(&text)? {
            0 => Ok(format!("{took:.0?}")),
            passed => Ok(format!("{passed} tests passed, {took:.0?}")),
        }
    }

    /// Runs the command `wellspring` of the target. Returns its last line as a note.
    fn wellspring(&self, words: &[&str]) -> Result<String> {
        let emulator = self.target.emulator();
        let binary = self
            .build
            .join(self.target.triple())
            .join("debug/wellspring");
        let mut command = self.chroot.command(&emulator[0]);
        let start = Instant::now();
        let text = run(command.args(&emulator[1..]).arg(binary).args(words))?;
        let last = text.lines().last().unwrap_or_default();
        Ok(format!("{last}; {:.0?}", start.elapsed()))
    }
}

/// Adds up the lines `test result: ok. N passed; ..`.
fn count_passed(text: &str) -> Result<usize> {
    let counts = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("test result: ok. "));
    let counts = counts.map(|rest| rest.split(' ').next()?.parse::<usize>().ok());
    counts
        .sum::<Option<usize>>()
        .ok_or_else(|| Stop::Failed(format!("cargo test printed no counts: {text}")))
}

fn parse(words: impl Iterator<Item = String>) -> Result<Vec<Target>> {
    let mut targets = Vec::new();
    for word in words {
        match TARGETS.into_iter().find(|target| target.name == word) {
            Some(target) => targets.push(target),
            None => return failed(format!("no target '{word}': aarch64, s390x or riscv64")),
        }
    }
    if targets.is_empty() {
        targets.extend(TARGETS);
    }
    Ok(targets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_name_every_target_runs_and_an_unknown_name_is_refused() {
        let parse = |words: &str| parse(words.split_whitespace().map(String::from));
        assert_eq!(parse(""), Ok(TARGETS.to_vec()));
        assert_eq!(parse("s390x"), Ok(vec![TARGETS[1]]));
        assert!(parse("s390x vax").is_err());
    }

    #[test]
    fn cargo_gets_the_linker_and_the_emulator_of_the_target() {
        let target = TARGETS[0];
        let variable = "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER";
        assert_eq!(target.variable("LINKER"), variable);
        assert_eq!(TARGETS[2].triple(), "riscv64gc-unknown-linux-gnu");
        assert_eq!(target.emulator()[0], "qemu-aarch64");
        assert!(installation().contains("libc6-dev-arm64-cross"));
    }

    #[test]
    fn the_counts_of_all_test_programs_are_added() {
        let text =
            "test result: ok. 3 passed; 0 failed;\n.\ntest result: ok. 14 passed; 0 failed;\n";
        assert_eq!(count_passed(text), Ok(17));
        assert_eq!(count_passed("Compiling"), Ok(0));
    }
}
