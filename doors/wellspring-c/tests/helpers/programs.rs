//! The parts that the tests of the doors share: installed programs, folders, and the output of programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

/// A new folder below the target folder. It stays, so that a failed test can be looked at, until a later test process
/// makes its first folder.
pub(crate) fn scratch(name: &str) -> PathBuf {
    static REMOVE: Once = Once::new();
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("doors");
    REMOVE.call_once(|| remove_those_of_ended_processes(&all));
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    let process = all.join(std::process::id().to_string());
    let folder = process.join(format!("{name}-{next}"));
    fs::create_dir_all(&folder).unwrap();
    folder
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
pub(crate) fn is_success(script: &str) -> bool {
    let output = Command::new("sh").args(["-c", script]).output();
    output.is_ok_and(|output| output.status.success())
}

/// Whether a program is installed; says so if a test has to do without.
pub(crate) fn is_installed(program: &str) -> bool {
    let is_found = is_success(&format!("command -v {program}"));
    if !is_found {
        eprintln!("SKIPPED: {program} is not installed");
    }
    is_found
}

/// Whether tests that take longer run too; says so if not.
pub(crate) fn is_long() -> bool {
    let is_long = std::env::var_os("WELLSPRING_LONG").is_some();
    if !is_long {
        eprintln!("SKIPPED without WELLSPRING_LONG=1");
    }
    is_long
}

/// Whether a C header is installed.
pub(crate) fn has_header(header: &str) -> bool {
    let is_found = is_success(&format!(
        "printf '#include <{header}>\\n' | cc -E - -o /dev/null"
    ));
    if !is_found {
        eprintln!("SKIPPED: there is no header {header}, or no C compiler");
    }
    is_found
}

/// The status of a program and all that it wrote.
pub(crate) fn text(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    let (out, err) = (String::from_utf8_lossy(out), String::from_utf8_lossy(err));
    format!("{}\n{out}{err}", output.status)
}

/// Expects success, and returns what the program wrote to standard output.
pub(crate) fn succeeds(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Shell scripts that run `torture.c`'s step "small" under a tight limit each.
pub(crate) const UNDER_LIMITS: [&str; 3] = [
    "ulimit -l 0 && exec \"$PROGRAM\" small",
    "ulimit -v 131072 && exec \"$PROGRAM\" small",
    "ulimit -s 128 && exec \"$PROGRAM\" small",
];

/// A shell script that runs the same step where /proc and /sys are empty. `None` where no file system can be mounted.
pub(crate) fn without_proc_and_sys() -> Option<String> {
    let enter = "unshare --mount --map-root-user sh -c";
    let hide = "mount -t tmpfs none /proc && mount -t tmpfs none /sys";
    if !is_success(&format!("{enter} '{hide}'")) {
        eprintln!("SKIPPED: no file system can be mounted here");
        return None;
    }
    Some(format!(
        "{enter} '{hide} && test ! -e /proc/self && exec \"$PROGRAM\" small'"
    ))
}
