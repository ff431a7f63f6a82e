//! Runs programs with the library preloaded, and reads what they drew.

#![allow(dead_code, reason = "no file of tests uses all of this")]

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use wellspring_sys::door_counters::{Counts, Door, DoorCounters, VARIABLE};

/// The library under test.
pub(crate) fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().join("libwellspring_preload.so")
}

/// The output of a program, and the counters of its calls.
pub(crate) struct Run {
    pub(crate) output: Output,
    pub(crate) counters: DoorCounters,
}

impl Run {
    pub(crate) fn counts(&self, door: Door) -> Counts {
        self.counters.counts(door)
    }

    pub(crate) fn text(&self) -> String {
        let (out, err) = (&self.output.stdout, &self.output.stderr);
        let (out, err) = (String::from_utf8_lossy(out), String::from_utf8_lossy(err));
        format!("{}\n{out}{err}", self.output.status)
    }

    pub(crate) fn succeeds(self) -> Self {
        assert!(self.output.status.success(), "{}", self.text());
        self
    }
}

/// Runs a shell script with the library preloaded. `exec` in it leaves one program.
pub(crate) fn run(script: &str, program: &Path) -> Run {
    let file = memfd_create("counters", MemfdFlags::CLOEXEC).unwrap();
    ftruncate(&file, 4096).unwrap();
    let counters = DoorCounters::map(&file).unwrap();
    let page = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    let script = format!("export LD_PRELOAD='{}'; {script}", library().display());
    let output = Command::new("timeout")
        .args(["120", "sh", "-c", &script])
        .env(VARIABLE, page)
        .env("PROGRAM", program)
        .output()
        .unwrap();
    Run { output, counters }
}

/// Compiles `tests/c/SOURCE`. `None` where there is no compiler.
pub(crate) fn compile(source: &str) -> Option<PathBuf> {
    if !is_installed("cc") {
        return None;
    }
    let name = format!("preload-{}-{source}.bin", std::process::id());
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/c");
    let output = Command::new("cc")
        .args([
            "-std=gnu11",
            "-O1",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-pthread",
        ])
        .arg(Path::new(folder).join(source))
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{source}: {text}");
    Some(program)
}

/// Whether a program is installed; says so if a test has to do without.
pub(crate) fn is_installed(program: &str) -> bool {
    let script = format!("command -v {program}");
    let found = Command::new("sh").args(["-c", &script]).output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("SKIPPED: {program} is not installed");
    }
    found
}
