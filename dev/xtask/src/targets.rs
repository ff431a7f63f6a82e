//! `targets`: on which targets the library and the command compile, and what the others say.
//!
//! Nothing is linked or run, so the standard library of a target is enough. A target without one is skipped.

use crate::chores::{cargo, root, skip};
use std::env;
use std::path::Path;
use std::process::Command;

/// The words of the compiler where wellspring is not supported. As in `crates/wellspring-os/src/lib.rs`.
const LINUX_ALONE: &str = "wellspring runs on Linux; other operating systems are not supported";
const WIDE_ATOMICS: &str = "wellspring needs a processor with 64-bit atomic operations";

/// Packages that are checked together.
type Packages = &'static [&'static str];
const ALL: Packages = &["wellspring", "wellspring-cli", "wellspring-c"];
/// Those that ask nothing of an operating system.
const PURE: Packages = &["wellspring-cipher", "wellspring-core", "wellspring-pseudo"];

/// Packages on a target, and the one error that is expected, or none.
struct Case {
    target: &'static str,
    packages: Packages,
    error: Option<&'static str>,
}

const fn compiles(target: &'static str, packages: Packages) -> Case {
    Case {
        target,
        packages,
        error: None,
    }
}

const fn fails(target: &'static str, error: &'static str) -> Case {
    Case {
        target,
        packages: ALL,
        error: Some(error),
    }
}

/// 32-bit x86; the 64-bit processors that `cross` emulates; one without 64-bit atomics; other systems.
const CASES: [Case; 12] = [
    compiles("i686-unknown-linux-gnu", ALL),
    compiles("aarch64-unknown-linux-gnu", ALL),
    compiles("s390x-unknown-linux-gnu", ALL),
    compiles("riscv64gc-unknown-linux-gnu", ALL),
    compiles("powerpc-unknown-linux-gnu", PURE),
    fails("powerpc-unknown-linux-gnu", WIDE_ATOMICS),
    compiles("x86_64-unknown-freebsd", PURE),
    fails("x86_64-unknown-freebsd", LINUX_ALONE),
    compiles("aarch64-apple-darwin", PURE),
    fails("aarch64-apple-darwin", LINUX_ALONE),
    compiles("x86_64-pc-windows-gnu", PURE),
    fails("x86_64-pc-windows-gnu", LINUX_ALONE),
];

/// Checks every case whose target has a standard library here.
pub(crate) fn targets() -> Result<(), String> {
    let mut missing: Vec<&str> = Vec::new();
    let mut faults = Vec::new();
    for case in &CASES {
        let (target, packages) = (case.target, case.packages.join(", "));
        if !has_library(target) {
            missing.push(target);
            continue;
        }
        match verdict(case.error, &check(case)?) {
            Ok(said) => println!("ok {target}: {packages}: {said}"),
            Err(fault) => {
                println!("FAILED {target}: {packages}: {fault}");
                faults.push(target);
            }
        }
    }
    missing.dedup();
    if !missing.is_empty() {
        let names = missing.join(" ");
        skip(&format!("not installed: rustup target add {names}"))?;
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(format!("targets that failed: {}", faults.join(", ")))
}

/// Whether the compiler that cargo uses has a standard library for the target.
fn has_library(target: &str) -> bool {
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    let output = rustc
        .args(["--print", "target-libdir", "--target", target])
        .current_dir(root())
        .output();
    let folder = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    folder.is_ok_and(|folder| !folder.is_empty() && Path::new(&folder).is_dir())
}

/// How a check ended, and what the compiler printed.
struct Ended {
    is_ok: bool,
    text: String,
}

fn check(case: &Case) -> Result<Ended, String> {
    let mut cargo = cargo();
    let words = "check --locked --message-format short --target-dir target/targets --target";
    cargo.args(words.split(' ')).arg(case.target);
    cargo.args(case.packages.iter().flat_map(|name| ["--package", name]));
    let output = cargo.output().map_err(|e| format!("{cargo:?}: {e}"))?;
    Ok(Ended {
        is_ok: output.status.success(),
        text: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// Compares what was printed with what is expected. Returns a note.
fn verdict(expected: Option<&str>, ended: &Ended) -> Result<String, String> {
    let errors = errors(&ended.text);
    match (expected, &*errors) {
        (None, []) if ended.is_ok => Ok("compiles".into()),
        (Some(sentence), [one]) if *one == sentence => Ok(format!("one error: {sentence}")),
        _ => Err(format!("expected {expected:?}, got:\n{}", ended.text)),
    }
}

/// The texts of the compiler's errors: those that name a place. Cargo's own lines name none.
fn errors(text: &str) -> Vec<&str> {
    let errors = text.lines().filter_map(|line| {
        let (place, error) = line.split_once(": error")?;
        let (_, error) = error.split_once(": ")?;
        place.contains(".rs:").then_some(error)
    });
    errors.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: &str = "   Compiling x v0.1.0\n\
        crates/x/src/lib.rs:51:1: error: wellspring runs on Linux; other operating systems are not supported\n\
        error: could not compile `x` (lib) due to 1 previous error\n";

    #[test]
    fn one_sentence_passes_and_a_second_error_does_not() {
        let ended = |text: &str| Ended {
            is_ok: false,
            text: text.to_owned(),
        };
        assert!(verdict(Some(LINUX_ALONE), &ended(FAILED)).is_ok());
        assert!(verdict(Some(WIDE_ATOMICS), &ended(FAILED)).is_err());
        assert!(verdict(None, &ended(FAILED)).is_err());
        let two = format!("{FAILED}crates/x/src/os.rs:5:1: error[E0432]: unresolved import\n");
        assert_eq!(errors(&two)[1], "unresolved import");
        assert!(verdict(Some(LINUX_ALONE), &ended(&two)).is_err());
        assert!(verdict(None, &ended("error: no such package")).is_err());
        let compiled = Ended {
            is_ok: true,
            text: "    Finished\n".into(),
        };
        assert!(verdict(None, &compiled).is_ok());
        assert!(verdict(Some(LINUX_ALONE), &compiled).is_err());
    }

    #[test]
    fn the_sentences_are_those_of_the_library() {
        let path = root().join("crates/wellspring-os/src/lib.rs");
        let text = std::fs::read_to_string(path).unwrap();
        for sentence in [LINUX_ALONE, WIDE_ATOMICS] {
            assert!(text.contains(&format!("compile_error!(\"{sentence}\");")));
        }
    }
}
