//! `cross`: known answers, self-tests and vector tests on other processors, by QEMU's user-mode emulation.
//!
//! It needs the standard library of a target (rustup target add), and a C compiler and C library of Debian for it, which
//! the gate installs. A processor without them is skipped. QEMU comes from Debian's backports: the QEMU 7.2 of Debian 12
//! says yes to MADV_WIPEONFORK and does nothing, so that a child has the bytes of its parent.

use crate::guest::{Cache, Result, Stop, Table, failed, qemu_user, run};
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// A processor to test on: its name in QEMU's and in the compiler's names, and Rust's target.
type Target = (&'static str, &'static str);

/// aarch64 is the most common one after x86-64; s390x is big-endian; riscv64 has neither AES nor vectors in its base.
const TARGETS: [Target; 3] = [
    ("aarch64", "aarch64-unknown-linux-gnu"),
    ("s390x", "s390x-unknown-linux-gnu"),
    ("riscv64", "riscv64gc-unknown-linux-gnu"),
];

/// The packages whose tests compare with known answers and run under emulation without exception, and the tests that the
/// processor can change the result of. Statistics and searches of memory are left out. So are tests of the engine: QEMU's
/// user mode has no vDSO getrandom, no NUMA calls, and other signal masks.
const TESTS: &str = "test --quiet --lib --package wellspring-cipher --package wellspring-core \
    --package wellspring-pseudo --test backends --test between_streams --test counter --test distribution \
    --test element_vectors --test engines --test equivalence --test fortuna --test known_answers --test lanes \
    --test seekable --test sha256 --test tap --test vectors";

/// Runs the command.
pub(crate) fn run_all(root: &Path, words: impl Iterator<Item = String>) -> Result {
    let (here, missing): (Vec<Target>, Vec<Target>) = parse(words)?.into_iter().partition(is_here);
    if !missing.is_empty() {
        let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
        let reason = format!(
            "{}: no standard library (rustup target add), or no gcc-NAME-linux-gnu with its C library",
            names.join(", ")
        );
        if here.is_empty() {
            return Err(Stop::Missing(reason));
        }
        println!("SKIPPED: {reason}");
    }
    let qemu = qemu_user(&Cache::open(root)?)?;
    let mut table = Table::new();
    for target in here {
        let step = Step {
            root,
            qemu: &qemu,
            target,
        };
        let name = target.0;
        let built = step.cargo("build --package wellspring-cli");
        let is_built = built.is_ok();
        table.add_outcome(format!("{name} build"), built)?;
        if is_built {
            let replay = step.wellspring("replay --check vectors/fortuna-freebsd.txt");
            table.add_outcome(format!("{name} replay"), replay)?;
            table.add_outcome(format!("{name} check"), step.wellspring("check"))?;
        }
        table.add_outcome(format!("{name} tests"), step.cargo(TESTS))?;
    }
    table.end()
}

/// Whether this machine can build for a target.
fn is_here((name, target): &Target) -> bool {
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    let library = run(rustc.args(["--print", "target-libdir", "--target", target]));
    let library = library.is_ok_and(|folder| Path::new(folder.trim()).is_dir());
    let files = [
        format!("/usr/bin/{name}-linux-gnu-gcc"),
        format!("/usr/{name}-linux-gnu/lib/libc.so"),
    ];
    library && files.iter().all(|file| Path::new(file).exists())
}

/// The arguments that every step for a target needs.
struct Step<'a> {
    root: &'a Path,
    /// The folder with QEMU's programs.
    qemu: &'a Path,
    target: Target,
}

impl Step<'_> {
    /// QEMU with the fullest CPU model it has, and the folder with the target's C library.
    fn emulator(&self) -> [String; 5] {
        let name = self.target.0;
        let program = self.qemu.join(format!("qemu-{name}"));
        let (program, library) = (
            program.display().to_string(),
            format!("/usr/{name}-linux-gnu"),
        );
        [&program, "-cpu", "max", "-L", &library].map(str::to_owned)
    }

    /// Runs cargo for the target. Returns the duration as a note.
    fn cargo(&self, words: &str) -> Result<String> {
        let (name, target) = self.target;
        let variable = target.to_uppercase().replace('-', "_");
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        // Optimised dependencies take twice as long to build, and the tests are short.
        cargo.args(["--config", "profile.dev.package.'*'.opt-level=1"]);
        cargo.args(words.split_whitespace()).current_dir(self.root);
        cargo.args([
            "--locked",
            "--target",
            target,
            "--target-dir",
            "target/cross",
        ]);
        cargo
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("PROPTEST_CASES", "32")
            .env(
                format!("CARGO_TARGET_{variable}_LINKER"),
                format!("{name}-linux-gnu-gcc"),
            )
            .env(
                format!("CARGO_TARGET_{variable}_RUNNER"),
                self.emulator().join(" "),
            );
        let start = Instant::now();
        let text = run(&mut cargo)?;
        let took = start.elapsed();
        match count_passed(&text)? {
            0 => Ok(format!("{took:.0?}")),
            passed => Ok(format!("{passed} tests passed, {took:.0?}")),
        }
    }

    /// Runs the command `wellspring` of the target. Returns its last line as a note.
    fn wellspring(&self, words: &str) -> Result<String> {
        let emulator = self.emulator();
        let built = PathBuf::from("target/cross").join(self.target.1);
        let mut command = Command::new(&emulator[0]);
        command
            .args(&emulator[1..])
            .arg(built.join("debug/wellspring"));
        let start = Instant::now();
        let text = run(command.args(words.split(' ')).current_dir(self.root))?;
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
        match TARGETS.into_iter().find(|(name, _)| *name == word) {
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
    fn the_counts_of_all_test_programs_are_added() {
        let text =
            "test result: ok. 3 passed; 0 failed;\n.\ntest result: ok. 14 passed; 0 failed;\n";
        assert_eq!(count_passed(text), Ok(17));
        assert_eq!(count_passed("Compiling"), Ok(0));
    }
}
