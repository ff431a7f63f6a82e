//! Runs programs under a configuration with the provider, and reads what they drew.

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use std::fs;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use wellspring_sys::door_counters::{Counts, Door, DoorCounters, VARIABLE};

pub(crate) const DOOR: &str = env!("CARGO_MANIFEST_DIR");

/// A new folder below the target folder.
pub(crate) fn scratch() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("openssl-{}-{next}", std::process::id());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The installed configuration for the provider under test, with changes.
pub(crate) fn configuration(change: impl FnOnce(String) -> String) -> PathBuf {
    let folder = scratch();
    let test = std::env::current_exe().unwrap();
    let module = folder.join("wellspring.so");
    fs::copy(
        test.parent().unwrap().join("libwellspring_openssl.so"),
        &module,
    )
    .unwrap();
    let text = fs::read_to_string(format!("{DOOR}/openssl.cnf.in")).unwrap();
    let text = text.replace(
        "module = @module@",
        &format!("module = {}", module.display()),
    );
    let path = folder.join("openssl.cnf");
    fs::write(&path, change(text)).unwrap();
    path
}

/// The output of a program, and the counters of its calls.
pub(crate) struct Run {
    pub(crate) output: Output,
    counters: DoorCounters,
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

/// Runs a shell script under a configuration, in a folder of its own.
pub(crate) fn run(script: &str, configuration: &Path) -> Run {
    let file = memfd_create("counters", MemfdFlags::CLOEXEC).unwrap();
    ftruncate(&file, 4096).unwrap();
    let counters = DoorCounters::map(&file).unwrap();
    let output = Command::new("timeout")
        .args(["120", "sh", "-c", script])
        .env("OPENSSL_CONF", configuration)
        .env(
            VARIABLE,
            format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()),
        )
        .current_dir(configuration.parent().unwrap())
        .output()
        .unwrap();
    Run { output, counters }
}

/// Whether all programs are installed, and OpenSSL is version 3; says so if a test has to do without.
pub(crate) fn are_installed(programs: &[&str]) -> bool {
    let succeeds = |script: &str| {
        let output = Command::new("sh").args(["-c", script]).output();
        output.is_ok_and(|output| output.status.success())
    };
    for program in programs {
        if !succeeds(&format!("command -v {program}")) {
            eprintln!("SKIPPED: {program} is not installed");
            return false;
        }
    }
    let is_new = succeeds("openssl version | grep -q 'OpenSSL 3'");
    if !is_new {
        eprintln!("SKIPPED: there is no OpenSSL 3");
    }
    is_new
}
