//! The real command, as its users call it.
//!
//! ```text
//! bytes     `bytes` writes exactly what was asked for
//! output    the output of `bytes` and of other commands
//! run       `run`, with the programs that it starts
//! commands  the other commands
//! ```

mod bytes;
mod commands;
mod output;
mod run;

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
pub(crate) use testkit::programs::{copy_program, is_installed, is_long, quoted};

/// The command with arguments as one would type them; a word with a space is in single quotes, as `quoted` writes it.
pub(crate) fn wellspring(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wellspring"));
    for (part, text) in arguments.split('\'').enumerate() {
        if part % 2 == 1 {
            command.arg(text);
        } else {
            command.args(text.split_whitespace());
        }
    }
    command.stdin(Stdio::null());
    command
}

/// The command as one word of a shell.
pub(crate) fn quoted_command() -> String {
    quoted(env!("CARGO_BIN_EXE_wellspring").as_ref())
}

/// Runs a script of a shell to its end.
pub(crate) fn shell(script: &str) -> Output {
    Command::new("sh").args(["-c", script]).output().unwrap()
}

/// The number of this user.
pub(crate) fn user() -> u32 {
    // SAFETY: no precondition.
    unsafe { libc::geteuid() }
}

/// A file beside the command, such as a library.
pub(crate) fn library(name: &str) -> PathBuf {
    build_libraries();
    Path::new(env!("CARGO_BIN_EXE_wellspring")).with_file_name(name)
}

/// Puts the command and its two libraries into another folder too.
pub(crate) fn link_into(folder: &Path) {
    for file in [
        "wellspring",
        "libwellspring_preload.so",
        "libwellspring_openssl.so",
    ] {
        std::fs::hard_link(library(file), folder.join(file)).unwrap();
    }
}

/// Builds the libraries beside the command, as `cargo build` at the root does. Nothing to do if they are new.
pub(crate) fn build_libraries() {
    static BUILT: std::sync::Once = std::sync::Once::new();
    BUILT.call_once(build);
}

fn build() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let command = Path::new(env!("CARGO_BIN_EXE_wellspring"));
    let target = command.parent().unwrap().parent().unwrap();
    let mut cargo_build = Command::new(cargo);
    cargo_build
        .args(["build", "--quiet", "--locked", "--target-dir"])
        .arg(target);
    if target.join("release") == command.parent().unwrap() {
        cargo_build.arg("--release");
    }
    let words = [
        "-p",
        "wellspring-preload",
        "-p",
        "wellspring-openssl",
        "-p",
        "wellspring-c",
    ];
    let output = cargo_build
        .args(words)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Lets signals end the command: a shell starts background jobs with SIGINT ignored, nohup(1) its program with SIGHUP, and
/// children inherit that.
pub(crate) fn ended_by_signals(command: &mut Command) -> &mut Command {
    let restore = || {
        for signal in [
            libc::SIGINT,
            libc::SIGTERM,
            libc::SIGHUP,
            libc::SIGUSR1,
            libc::SIGALRM,
        ] {
            // SAFETY: the default disposition runs no code.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: between fork and exec it calls signal(2) alone, which a handler may call too.
    unsafe { command.pre_exec(restore) }
}

/// Whether --repeat was refused because the kernel, as QEMU's user mode, would not tell the program of a command that was killed.
pub(crate) fn cannot_repeat(output: &Output) -> bool {
    let is_refused = stderr(output).contains("this kernel would not tell");
    if is_refused {
        testkit::skipped("the kernel follows no locks of threads that end");
    }
    is_refused
}

/// Runs it to its end.
pub(crate) fn run(arguments: &str) -> Output {
    wellspring(arguments).output().unwrap()
}

/// Runs it, expects success, and returns what it wrote.
pub(crate) fn stdout_of(arguments: &str) -> Vec<u8> {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments}: {output:?}");
    output.stdout
}

/// The same, as text.
pub(crate) fn text_of(arguments: &str) -> String {
    String::from_utf8(stdout_of(arguments)).unwrap()
}

/// The text on stderr.
pub(crate) fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// A file of the project's vectors.
pub(crate) fn vectors(name: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors");
    [folder, name].iter().collect()
}

/// The bytes that hexadecimal digits stand for.
pub(crate) fn from_hex(text: &[u8]) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap() as u8;
    let (pairs, rest) = text.as_chunks::<2>();
    assert!(rest.is_empty());
    pairs
        .iter()
        .map(|&[high, low]| digit(high) << 4 | digit(low))
        .collect()
}

/// A file of this test's own, removed at its end.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    /// A path that no other test has; there is no such file yet.
    pub(crate) fn new(name: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("wellspring-{}-{number}-{name}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    /// The path as an argument.
    pub(crate) fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
