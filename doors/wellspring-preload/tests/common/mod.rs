//! Runs programs with the library preloaded.

#![allow(dead_code, reason = "no file of tests uses all of this")]

#[path = "../../../wellspring-c/tests/helpers/counted.rs"]
mod counted;
#[path = "../../../wellspring-c/tests/helpers/programs.rs"]
mod programs;

pub(crate) use counted::Run;
pub(crate) use programs::{is_installed, scratch};

use programs::succeeds;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library under test.
pub(crate) fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().join("libwellspring_preload.so")
}

/// Runs a shell script with the library preloaded. `exec` in it leaves one program.
pub(crate) fn run(script: &str, program: &Path) -> Run {
    let script = format!("export LD_PRELOAD='{}'; {script}", library().display());
    Run::of(&script, |command| {
        command.env("PROGRAM", program);
    })
}

/// Compiles `tests/c/SOURCE`. `None` where there is no compiler.
pub(crate) fn compile(source: &str) -> Option<PathBuf> {
    is_installed("cc").then(|| compile_with(source, &["-O1", "-pthread"]))
}

/// Compiles `tests/c/SOURCE` to a shared library, with further words for the compiler.
pub(crate) fn compile_library(source: &str, words: &[&str]) -> PathBuf {
    compile_with(source, &[&["-shared", "-fPIC"], words].concat())
}

fn compile_with(source: &str, words: &[&str]) -> PathBuf {
    let result = scratch(source).join("result");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/c");
    let output = Command::new("cc")
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror"])
        .arg(Path::new(folder).join(source))
        .arg("-o")
        .arg(&result)
        .args(words)
        .output()
        .unwrap();
    succeeds(&output);
    result
}
