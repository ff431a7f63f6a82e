//! `targets`: on which targets the library and the command compile without a warning of clippy, and what the others say.
//! Nothing is linked or run there, so the standard library of a target is enough. A target without one is skipped. Here, a
//! program without the standard library is linked and run.

use crate::chores::{cargo, root, skip};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The words of the compiler where wellspring is not supported. As in `engine/os/src/lib.rs`.
const NO_WASM: &str =
    "on WebAssembly take wellspring-pseudo for numbers without secrecy, and getrandom for secrets";
const WIDE_ATOMICS: &str = "wellspring needs a processor with 64-bit atomic operations";

/// The packages that compile for a target, and the one error of wellspring if that does not.
struct Use {
    packages: &'static [&'static str],
    refused: Option<&'static str>,
}

const LINUX: Use = Use {
    packages: &["wellspring", "wellspring-cli", "wellspring-c"],
    refused: None,
};
/// Static programs: the command and the service.
const MUSL: Use = Use {
    packages: &["wellspring", "wellspring-cli", "wellspring-service"],
    refused: None,
};
const OTHER_SYSTEM: Use = Use {
    packages: &["wellspring", "wellspring-cli", "wellspring-getrandom"],
    refused: None,
};
const WITHOUT_WIDE_ATOMICS: Use = Use {
    packages: &PURE,
    refused: Some(WIDE_ATOMICS),
};
const WASM: Use = Use {
    packages: &PURE,
    refused: Some(NO_WASM),
};

/// The packages that ask nothing of an operating system.
const PURE: [&str; 3] = ["wellspring-cipher", "wellspring-core", "wellspring-pseudo"];

/// The one list of targets. `.ci/steps` installs their standard libraries: a test compares the two.
const TARGETS: [(&str, Use); 15] = [
    // 32-bit x86, and the 64-bit processors that `cross` emulates.
    ("i686-unknown-linux-gnu", LINUX),
    ("aarch64-unknown-linux-gnu", LINUX),
    ("s390x-unknown-linux-gnu", LINUX),
    ("riscv64gc-unknown-linux-gnu", LINUX),
    ("x86_64-unknown-linux-musl", MUSL),
    ("aarch64-unknown-linux-musl", MUSL),
    ("aarch64-apple-darwin", OTHER_SYSTEM),
    ("x86_64-apple-darwin", OTHER_SYSTEM),
    ("x86_64-pc-windows-gnu", OTHER_SYSTEM),
    ("x86_64-pc-windows-msvc", OTHER_SYSTEM),
    ("aarch64-pc-windows-msvc", OTHER_SYSTEM),
    ("x86_64-unknown-freebsd", OTHER_SYSTEM),
    ("x86_64-unknown-netbsd", OTHER_SYSTEM),
    ("powerpc-unknown-linux-gnu", WITHOUT_WIDE_ATOMICS),
    ("wasm32-wasip1", WASM),
];

/// Systems that are not at hand: the tests that `.github/workflows` runs there are compiled too.
const TESTED_ELSEWHERE: [&str; 2] = ["aarch64-apple-darwin", "x86_64-unknown-freebsd"];
const TESTS: [&str; 2] = [
    "--profile test --package wellspring-os --lib",
    "--profile test --package wellspring --lib --test every_system --test fork",
];

/// The Python package, a workspace of its own, is compiled for these.
const PYTHON_FOR: [&str; 2] = ["aarch64-apple-darwin", "x86_64-pc-windows-msvc"];
const PYTHON: &str = "--manifest-path bindings/python/Cargo.toml";

/// Checks every target that has a standard library here.
pub(crate) fn targets() -> Result<(), String> {
    let (mut missing, mut faults) = (Vec::new(), Vec::new());
    for (target, uses) in TARGETS {
        if !has_library(target) {
            missing.push(target);
            continue;
        }
        let packages: Vec<String> = uses
            .packages
            .iter()
            .map(|name| format!("--package {name}"))
            .collect();
        let mut checks = vec![(packages.join(" "), None)];
        checks.extend(
            uses.refused
                .map(|error| ("--package wellspring".into(), Some(error))),
        );
        if TESTED_ELSEWHERE.contains(&target) {
            checks.extend(TESTS.map(|words| (words.into(), None)));
        }
        if PYTHON_FOR.contains(&target) {
            checks.push((PYTHON.into(), None));
        }
        for (words, error) in checks {
            match verdict(error, &check(target, &words)?) {
                Ok(said) => println!("ok {target}: {words}: {said}"),
                Err(fault) => {
                    println!("FAILED {target}: {words}: {fault}");
                    faults.push(target);
                }
            }
        }
    }
    if !missing.is_empty() {
        skip(&format!(
            "not installed: rustup target add {}",
            missing.join(" ")
        ))?;
    }
    if !cfg!(target_os = "linux") {
        skip("the program without the standard library is for Linux")?;
    } else if let Err(fault) = draw_without_std() {
        println!("FAILED without the standard library: {fault}");
        faults.push("without the standard library");
    } else {
        println!("ok without the standard library: a program draws the known number");
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(format!("targets that failed: {}", faults.join(", ")))
}

/// Whether the compiler that cargo uses has a standard library for the target.
fn has_library(target: &str) -> bool {
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--print", "target-libdir", "--target", target]);
    let output = rustc.current_dir(root()).output();
    let folder = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    folder.is_ok_and(|folder| !folder.is_empty() && Path::new(&folder).is_dir())
}

/// Has clippy check what the words say, a warning being an error. Returns what it printed, with its status before it.
fn check(target: &str, words: &str) -> Result<(bool, String), String> {
    let mut cargo = cargo();
    let fixed = "clippy --locked --message-format short --target-dir target/targets --target";
    cargo.args(fixed.split(' ')).arg(target);
    cargo.args(words.split_whitespace());
    // Where a C long has 32 bits, a conversion to it that others need changes nothing.
    cargo.args("-- --deny warnings --allow clippy::useless_conversion".split(' '));
    let output = cargo.output().map_err(|e| format!("{cargo:?}: {e}"))?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok((output.status.success(), text))
}

/// Compares what was printed with what is expected. Returns a note. Errors of the compiler name a place; cargo's own lines
/// name none.
fn verdict(expected: Option<&str>, (is_ok, text): &(bool, String)) -> Result<String, String> {
    let errors = text.lines().filter_map(|line| {
        let (place, error) = line.split_once(": error")?;
        let (_, error) = error.split_once(": ")?;
        place.contains(".rs:").then_some(error)
    });
    let errors: Vec<&str> = errors.collect();
    match (expected, &*errors) {
        (None, []) if *is_ok => Ok("compiles without a warning".into()),
        (Some(sentence), [one]) if *one == sentence => Ok(format!("one error: {sentence}")),
        _ => Err(format!("expected {expected:?}, got:\n{text}")),
    }
}

/// Links a program of the statistical tier without the standard library, and compares the number that it draws.
fn draw_without_std() -> Result<(), String> {
    let folder = root().join("target/without-std");
    let said = |e: std::io::Error| format!("{}: {e}", folder.display());
    fs::create_dir_all(folder.join("src")).map_err(said)?;
    fs::write(folder.join("Cargo.toml"), MANIFEST).map_err(said)?;
    fs::write(folder.join("src/main.rs"), PROGRAM).map_err(said)?;
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).map_err(said)?;
    let mut cargo = cargo();
    let output = cargo.args(["run", "--quiet"]).current_dir(&folder).output();
    let output = output.map_err(said)?;
    if output.status.success() && output.stdout == KNOWN.to_le_bytes() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(format!("{}, {:?}: {errors}", output.status, output.stdout))
}

const MANIFEST: &str = r#"[package]
name = "without-std"
edition = "2024"

[workspace]

[profile.dev]
panic = "abort"

[dependencies]
wellspring-pseudo = { path = "../../streams/pseudo", default-features = false }
"#;

/// `Elements(2026, "3/0/17").standard_normal(first=1006)` in Python.
const KNOWN: f64 = 0.3738858182644206;

/// Memory, its end and the start of a program are the C library's.
const PROGRAM: &str = r#"
#![no_std]
#![no_main]

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::{c_int, c_void};
use wellspring_pseudo::{Algorithm, Elements};

#[link(name = "c")]
unsafe extern "C" {
    fn write(file: c_int, bytes: *const c_void, count: usize) -> isize;
    fn aligned_alloc(alignment: usize, bytes: usize) -> *mut c_void;
    fn free(memory: *mut c_void);
    fn abort() -> !;
}

struct MemoryOfC;

unsafe impl GlobalAlloc for MemoryOfC {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        unsafe { aligned_alloc(layout.align(), layout.pad_to_align().size()).cast() }
    }
    unsafe fn dealloc(&self, memory: *mut u8, _: Layout) {
        unsafe { free(memory.cast()) }
    }
}

#[global_allocator]
static MEMORY: MemoryOfC = MemoryOfC;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    unsafe { abort() }
}

// Rust's own `alloc` names it, since it was compiled to unwind.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

#[unsafe(no_mangle)]
extern "C" fn main() -> c_int {
    let Ok(elements) = Elements::new(Algorithm::ChaCha8, 2026, &[3, 0, 17]) else { return 1 };
    let mut numbers = [0.0f64; 1000];
    if elements.standard_normal(7, &mut numbers).is_err() {
        return 1;
    }
    let last = numbers[999].to_le_bytes();
    let written = unsafe { write(1, last.as_ptr().cast(), last.len()) };
    c_int::from(written != 8)
}
"#;

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: &str = "   Compiling x v0.1.0\n\
        crates/x/src/lib.rs:51:1: error: wellspring needs a processor with 64-bit atomic operations\n\
        error: could not compile `x` (lib) due to 1 previous error\n";

    #[test]
    fn one_sentence_passes_and_a_second_error_does_not() {
        let failed = |text: &str| (false, text.to_owned());
        assert!(verdict(Some(WIDE_ATOMICS), &failed(FAILED)).is_ok());
        assert!(verdict(Some(NO_WASM), &failed(FAILED)).is_err());
        assert!(verdict(None, &failed(FAILED)).is_err());
        let two = format!("{FAILED}crates/x/src/os.rs:5:1: error[E0432]: unresolved import\n");
        assert!(verdict(Some(WIDE_ATOMICS), &failed(&two)).is_err());
        assert!(verdict(None, &failed("error: no such package")).is_err());
        let compiled = (true, "    Finished\n".into());
        assert!(verdict(None, &compiled).is_ok());
        assert!(verdict(Some(NO_WASM), &compiled).is_err());
    }

    #[test]
    fn the_sentences_are_those_of_the_library() {
        let path = root().join("engine/os/src/lib.rs");
        let text = std::fs::read_to_string(path).unwrap();
        for sentence in [NO_WASM, WIDE_ATOMICS] {
            assert!(text.contains(&format!("\"{sentence}\"")));
        }
    }

    #[test]
    fn the_gate_installs_the_library_of_each_target() {
        let gate = std::fs::read_to_string(root().join(".ci/steps")).unwrap();
        for (target, _) in TARGETS {
            assert!(gate.contains(target), "{target}");
        }
    }
}
