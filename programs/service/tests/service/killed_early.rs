//! A service that is killed in the middle of its start.

use super::common::{Folder, Service, has_fuse, wellspringd};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::c_long;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A process that is traced by this thread.
struct Traced(libc::pid_t);

impl Traced {
    /// Traces a process, and all that it forks from its first instruction on.
    fn seize(process: u32) -> std::io::Result<Self> {
        let process = process as libc::pid_t;
        let options = libc::PTRACE_O_TRACEFORK | libc::PTRACE_O_TRACEVFORK;
        // SAFETY: no memory is touched.
        let seized = unsafe {
            libc::ptrace(
                libc::PTRACE_SEIZE,
                process,
                0 as c_long,
                c_long::from(options),
            )
        };
        if seized < 0 {
            return Err(std::io::Error::last_os_error());
        }
        Ok(Self(process))
    }

    /// Waits until it stops, and returns what ptrace says of the reason.
    fn stopped(&self) -> i32 {
        let mut status = 0;
        // SAFETY: `status` is written.
        let waited = unsafe { libc::waitpid(self.0, &raw mut status, libc::__WALL) };
        assert_eq!(waited, self.0, "{}", std::io::Error::last_os_error());
        assert!(libc::WIFSTOPPED(status), "it ended: {status:#x}");
        status >> 8
    }

    fn has_open(&self, path: &str) -> bool {
        let descriptors = std::fs::read_dir(format!("/proc/{}/fd", self.0)).unwrap();
        descriptors
            .flatten()
            .filter_map(|descriptor| std::fs::read_link(descriptor.path()).ok())
            .any(|target| target == Path::new(path))
    }

    /// Lets it go on until it forks, and returns the child, which has run nothing yet.
    fn forks(&self) -> Self {
        loop {
            let reason = self.stopped();
            let forked = [libc::PTRACE_EVENT_FORK, libc::PTRACE_EVENT_VFORK];
            if forked
                .iter()
                .any(|event| reason == libc::SIGTRAP | (event << 8))
            {
                let mut child: libc::c_ulong = 0;
                // SAFETY: the number is written.
                let asked = unsafe {
                    libc::ptrace(
                        libc::PTRACE_GETEVENTMSG,
                        self.0,
                        0 as c_long,
                        &raw mut child,
                    )
                };
                assert_eq!(asked, 0);
                let child = Self(child as libc::pid_t);
                child.stopped();
                return child;
            }
            // A stop for a group, or a signal, which is passed on.
            let signal = if reason >> 8 == 0 { reason } else { 0 };
            // SAFETY: no memory is touched.
            unsafe { libc::ptrace(libc::PTRACE_CONT, self.0, 0 as c_long, c_long::from(signal)) };
        }
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        // SAFETY: no memory is touched. A process that has ended is not found.
        unsafe { libc::ptrace(libc::PTRACE_DETACH, self.0, 0 as c_long, 0 as c_long) };
    }
}

/// Between fork and exec a child has copies of all descriptors. It must not keep sockets in use, or the files alive, when
/// the service is killed at this moment.
#[test]
fn a_service_killed_while_it_forks_leaves_nothing_in_use() {
    if !has_fuse() {
        return;
    }
    let folder = Folder::new();
    let more = format!("[files]\nmount = \"{}\"\n", folder.path("files").display());
    let config = folder.configure(&more);
    let mut shell = Command::new("sh");
    let service = wellspringd();
    shell
        .args(["-c", "read line; exec \"$0\" --config \"$1\""])
        .arg(service.get_program())
        .arg(&config);
    let log = std::fs::File::create(folder.path("early")).unwrap();
    let mut early = shell
        .stdin(Stdio::piped())
        .stderr(log)
        .process_group(0)
        .spawn()
        .unwrap();
    let traced = match Traced::seize(early.id()) {
        Ok(traced) => traced,
        Err(error) => {
            early.kill().unwrap();
            early.wait().unwrap();
            return eprintln!("SKIPPED: a process cannot be traced here: {error}");
        }
    };
    early.stdin.take().unwrap().write_all(b"\n").unwrap();
    let child = traced.forks();
    kill_process(Pid::from_child(&early), Signal::KILL).unwrap();
    early.wait().unwrap();

    // Before the next start: nothing in the folder can be opened while the child keeps the files alive.
    assert!(!child.has_open("/dev/fuse"));

    let service = Service::start_in(folder, &more);
    let status = service.status();
    let openings = status["openings"].as_array().unwrap();
    assert!(openings.len() >= 6, "{status}");
    for opening in openings {
        assert_eq!(opening["fault"], serde_json::Value::Null, "{opening}");
    }
    drop(child);
}
