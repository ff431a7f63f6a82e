//! The library in programs: installed ones, and C programs of its own.
//!
//! ```text
//! programs   installed programs draw on it; RAND_bytes; the service's device files
//! semantics  flags, lengths, pointers, errno, contexts: the answers of the originals; copied processes
//! torture    forks, timers, cancelled threads, tight limits, sanitizers
//! sandbox    a seccomp sandbox, the first read on a small signal stack, system calls that fail
//! ```

mod programs;
mod sandbox;
mod semantics;
mod torture;

#[path = "../../../common/tests/common/counted.rs"]
mod counted;

pub(crate) use counted::Run;
pub(crate) use testkit::programs::{
    UNDER_LIMITS, is_installed, is_long, scratch, without_proc_and_sys,
};

use std::path::{Path, PathBuf};

/// The library under test.
pub(crate) fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    testkit::programs::in_list(&test.parent().unwrap().join("libwellspring_preload.so"))
}

/// Runs a shell script with the library preloaded. `exec` in it leaves one program.
pub(crate) fn run(script: &str, program: &Path) -> Run {
    let script = format!("export LD_PRELOAD='{}'; {script}", library().display());
    Run::of(&script, |command| {
        command.env("PROGRAM", program);
    })
}

/// Runs a script where the service has this file, in a mount namespace of its own. As root only: mknod is not allowed in
/// the name space of another user. Without `exec` the shell would be one more program.
pub(crate) fn run_with(file: &str, script: &str) -> Run {
    let service = "mount -t tmpfs none /run && mkdir -p -m 755 /run/wellspring/files";
    let script = format!("{service} && cd /run/wellspring/files && {file} && {script}");
    run(
        "exec unshare --mount sh -c \"$PROGRAM\"",
        Path::new(&script),
    )
}

/// Whether this process may mount file systems and make devices.
pub(crate) fn can_make_devices() -> bool {
    let is_made = run_with("mknod random c 1 5", "true")
        .output
        .status
        .success();
    if !is_made {
        testkit::skipped("no device can be made here");
    }
    is_made
}

/// Compiles `tests/c/SOURCE`, with further words for the compiler. `None` where there is no compiler.
pub(crate) fn compile(source: &str, words: &[&str]) -> Option<PathBuf> {
    is_installed("cc").then(|| compile_with(Path::new(source), words))
}

/// Compiles a program of the C library's tests with further words for the compiler, to draw by getrandom. `None` where
/// there is no compiler.
pub(crate) fn compile_shared(source: &str, words: &[&str]) -> Option<PathBuf> {
    let include = concat!(
        "-I",
        env!("CARGO_MANIFEST_DIR"),
        "/../../bindings/c/tests/c"
    );
    let fixed = ["-DDOOR_GETRANDOM", include];
    let source = Path::new("../../../../bindings/c/tests/c").join(source);
    is_installed("cc").then(|| compile_with(&source, &[&fixed, words].concat()))
}

/// Compiles `tests/c/SOURCE` to a shared library, with further words for the compiler.
pub(crate) fn compile_library(source: &str, words: &[&str]) -> PathBuf {
    compile_with(Path::new(source), &[&["-shared", "-fPIC"], words].concat())
}

fn compile_with(source: &Path, words: &[&str]) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/c");
    testkit::programs::compile(&Path::new(folder).join(source), words)
}
