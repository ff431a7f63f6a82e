//! A command of cargo, or of the project's own, for another processor.

use crate::guest::{Result, Stop, run};
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// A processor to test on: its name in QEMU's and in the compiler's names, and Rust's target.
pub(crate) type Target = (&'static str, &'static str);

/// The time for one test program: a child of QEMU's user mode can hang.
pub(super) const TEST_S: u32 = 300;

/// The arguments that every step for a target needs.
pub(super) struct Step<'a> {
    pub(super) root: &'a Path,
    /// The folder with QEMU's programs.
    pub(super) qemu: &'a Path,
    pub(super) target: Target,
    /// The processor, as QEMU names it.
    pub(super) model: &'static str,
}

impl Step<'_> {
    /// QEMU, and the folder with the target's C library.
    fn emulator(&self) -> [String; 5] {
        let name = self.target.0;
        let program = self.qemu.join(format!("qemu-{name}"));
        let (program, library) = (
            program.display().to_string(),
            format!("/usr/{name}-linux-gnu"),
        );
        [&program, "-cpu", self.model, "-L", &library].map(str::to_owned)
    }

    /// Runs cargo for the target. Returns the duration as a note.
    pub(super) fn cargo(&self, words: &str) -> Result<String> {
        let runner = format!("timeout {TEST_S} {}", self.emulator().join(" "));
        let start = Instant::now();
        let text = run(&mut self.command(words, &runner))?;
        let took = start.elapsed();
        match count_passed(&text)? {
            0 => Ok(format!("{took:.0?}")),
            passed => Ok(format!("{passed} tests passed, {took:.0?}")),
        }
    }

    /// Cargo for the target, with a program that runs the tests.
    pub(super) fn command(&self, words: &str, runner: &str) -> Command {
        let (name, target) = self.target;
        let variable = target.to_uppercase().replace('-', "_");
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        // Optimised dependencies take twice as long to build, and the tests are short.
        cargo.args(["--config", "profile.dev.package.'*'.opt-level=1"]);
        cargo.arg("--locked");
        cargo.args(words.split_whitespace()).current_dir(self.root);
        cargo
            .env("CARGO_BUILD_TARGET", target)
            .env("CARGO_TARGET_DIR", "target/cross")
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("PROPTEST_CASES", "32")
            .env(
                format!("CARGO_TARGET_{variable}_LINKER"),
                format!("{name}-linux-gnu-gcc"),
            )
            .env(format!("CARGO_TARGET_{variable}_RUNNER"), runner);
        cargo
    }

    /// The folder with the command.
    pub(super) fn built(&self) -> PathBuf {
        self.root
            .join("target/cross")
            .join(self.target.1)
            .join("debug")
    }

    /// Runs the command `wellspring` of the target. Returns its last line as a note.
    pub(super) fn wellspring(&self, words: &str) -> Result<String> {
        let emulator = self.emulator();
        let mut command = Command::new(&emulator[0]);
        command
            .args(&emulator[1..])
            .arg(self.built().join("wellspring"));
        let start = Instant::now();
        let text = run(command.args(words.split(' ')).current_dir(self.root))?;
        let last = text.lines().last().unwrap_or_default();
        Ok(format!("{last}; {:.0?}", start.elapsed()))
    }
}

/// Adds up the lines `test result: ok. N passed; ..`.
pub(super) fn count_passed(text: &str) -> Result<usize> {
    let counts = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("test result: ok. "));
    let counts = counts.map(|rest| rest.split(' ').next()?.parse::<usize>().ok());
    counts
        .sum::<Option<usize>>()
        .ok_or_else(|| Stop::Failed(format!("cargo test printed no counts: {text}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_of_all_test_programs_are_added() {
        let text =
            "test result: ok. 3 passed; 0 failed;\n.\ntest result: ok. 14 passed; 0 failed;\n";
        assert_eq!(count_passed(text), Ok(17));
        assert_eq!(count_passed("Compiling"), Ok(0));
    }
}
