//! Installed programs, folders, C programs, the output of programs, and whether tests run in their long form.

use crate::skipped;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

/// A new folder below the target folder. It stays, so that a failed test can be looked at, until a later test process
/// makes its first folder.
#[must_use]
pub fn scratch(name: &str) -> PathBuf {
    static REMOVE: Once = Once::new();
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let test = std::env::current_exe().unwrap();
    // Below a profile's folder is the folder `deps` with the tests.
    let all = test.ancestors().nth(2).unwrap().join("scratch");
    REMOVE.call_once(|| remove_those_of_ended_processes(&all));
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    let process = all.join(std::process::id().to_string());
    let folder = process.join(format!("{name}-{next}"));
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Whether a list such as LD_PRELOAD can have this name: the loader splits it at spaces and colons.
#[must_use]
pub fn is_plain(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    !bytes.iter().any(|byte| b" \t:;$".contains(byte))
}

/// A plain name of a library: its own, or the name of a link in a new folder below the system's folder for temporary files.
#[must_use]
pub fn in_list(library: &Path) -> PathBuf {
    if is_plain(library) {
        return library.to_owned();
    }
    let made = Command::new("mktemp")
        .args(["-d", "--tmpdir", "wellspring-XXXXXXXX"])
        .output();
    let folder = PathBuf::from(succeeds(&made.unwrap()).trim_end());
    let link = folder.join(library.file_name().unwrap());
    std::os::unix::fs::symlink(library, &link).unwrap();
    link
}

/// A path as one word of a shell.
#[must_use]
pub fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

/// Each folder has the number of its process. One run of all tests leaves 0.5 GB.
fn remove_those_of_ended_processes(all: &Path) {
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let has_ended = !Path::new("/proc").join(entry.file_name()).exists();
        if has_ended || entry.file_name() == *std::process::id().to_string() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether a shell script succeeds.
#[must_use]
pub fn is_success(script: &str) -> bool {
    let output = Command::new("sh").args(["-c", script]).output();
    output.is_ok_and(|output| output.status.success())
}

/// Words that give a program the number of a user who is not root, in a user namespace.
pub const AS_USER: &str = "unshare --user --map-user=1000 --map-group=1000";

/// Whether a program can have that number; says so if a test has to do without.
#[must_use]
pub fn can_be_user() -> bool {
    let can = is_success(&format!("{AS_USER} true"));
    if !can {
        skipped("a user namespace cannot be made");
    }
    can
}

/// Whether a program is installed; says so if a test has to do without.
#[must_use]
pub fn is_installed(program: &str) -> bool {
    let is_found = is_success(&format!("command -v {program}"));
    if !is_found {
        skipped(&format!("{program} is not installed"));
    }
    is_found
}

/// Copies a program to a place where a test can run it. By cp(1): what this process writes itself is open for writing in the
/// children of its other threads too until their exec, and the kernel runs no such file.
pub fn copy_program(from: &str, to: &Path) {
    let output = Command::new("cp").arg(from).arg(to).output();
    succeeds(&output.unwrap());
}

/// Whether tests run in their long form: `WELLSPRING_LONG=1` in the environment. Says what the short one leaves out.
#[must_use]
pub fn is_long(what: &str) -> bool {
    let is_long = std::env::var_os("WELLSPRING_LONG").is_some();
    if !is_long {
        skipped(&format!("{what}. Run with WELLSPRING_LONG=1"));
    }
    is_long
}

/// Whether a C header is installed.
#[must_use]
pub fn has_header(header: &str) -> bool {
    let is_found = is_success(&format!(
        "printf '#include <{header}>\\n' | cc -E - -o /dev/null"
    ));
    if !is_found {
        skipped(&format!("there is no header {header}, or no C compiler"));
    }
    is_found
}

/// Compiles a C or C++ program, with further words for the compiler. Every warning is an error.
#[must_use]
pub fn compile(source: &Path, words: &[&str]) -> PathBuf {
    let is_cpp = source
        .extension()
        .is_some_and(|extension| extension == "cpp");
    let (compiler, standard) = if is_cpp {
        ("c++", "-std=c++17")
    } else {
        ("cc", "-std=gnu11")
    };
    let name = source.file_name().unwrap_or_default();
    let program = scratch(&name.to_string_lossy()).join("program");
    let output = Command::new(compiler)
        .args([
            standard, "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread",
        ])
        .arg(source)
        .arg("-o")
        .arg(&program)
        .args(words)
        .output()
        .unwrap();
    succeeds(&output);
    program
}

/// The status of a program and all that it wrote.
#[must_use]
pub fn text(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    let (out, err) = (String::from_utf8_lossy(out), String::from_utf8_lossy(err));
    format!("{}\n{out}{err}", output.status)
}

/// Expects success, and returns what the program wrote to standard output.
pub fn succeeds(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Shell scripts that run `torture.c`'s step "small" under a tight limit each.
pub const UNDER_LIMITS: [&str; 3] = [
    "ulimit -l 0 && exec \"$PROGRAM\" small",
    "ulimit -v 131072 && exec \"$PROGRAM\" small",
    "ulimit -s 128 && exec \"$PROGRAM\" small",
];

/// A shell script that runs the same step where /proc and /sys are empty. `None` where no file system can be mounted.
#[must_use]
pub fn without_proc_and_sys() -> Option<String> {
    let enter = "unshare --mount --map-root-user sh -c";
    let hide = "mount -t tmpfs none /proc && mount -t tmpfs none /sys";
    if !is_success(&format!("{enter} '{hide}'")) {
        skipped("no file system can be mounted here");
        return None;
    }
    Some(format!(
        "{enter} '{hide} && test ! -e /proc/self && exec \"$PROGRAM\" small'"
    ))
}
