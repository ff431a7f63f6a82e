//! systemd, the sandbox, ends of all kinds, what cannot be opened, and a service that is killed in the middle of its start.

use super::common::{
    Folder, Service, has_fuse, is_installed, is_root, quoted, wellspring_with, wellspringd,
};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::c_long;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn every_end_that_was_asked_for_is_clean_and_leaves_no_socket() {
    for signal in ["-INT", "-TERM"] {
        let mut service = Service::start("");
        let _client = service.socket("egd.sock");
        let status = service.end(signal);
        assert!(status.success(), "{signal}: {status}: {}", service.log());
        service.wait_for_notice("STOPPING=1");
        for name in ["egd.sock", "bulk.sock", "web.sock"] {
            assert!(
                !service.folder.path("run").join(name).exists(),
                "{signal}: {name}"
            );
        }
    }
}

#[test]
fn a_service_that_was_killed_starts_again_in_its_place() {
    let mut service = Service::start("");
    let killed = service.child.id();
    service.restart();
    assert_ne!(service.child.id(), killed);
    let mut stream = service.socket("egd.sock");
    stream.write_all(&[2, 1]).unwrap();
    stream.read_exact(&mut [0]).unwrap();
}

#[test]
fn a_second_service_in_the_same_place_leaves_the_first_alone_and_says_what_it_lacks() {
    let first = Service::start("");
    let mut other = wellspringd();
    other
        .arg("--config")
        .arg(first.folder.path("wellspring.toml"));
    let lines = refused_start(&mut other);
    assert_eq!(
        lines.matches("another process listens there").count(),
        4,
        "{lines}"
    );
    assert!(
        lines.contains(&format!("process {} is its writer", first.child.id())),
        "{lines}"
    );
    assert_eq!(first.status()["phase"], "ready");
}

/// Starts a service that ends without having been ready, and returns what it said.
fn refused_start(command: &mut Command) -> String {
    let ended = command.stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.ends_with("wellspringd: no door is open\n"), "{said}");
    assert!(!said.contains("ready"), "{said}");
    said
}

#[test]
fn a_service_with_a_page_and_no_door_ends_and_says_so() {
    let folder = Folder::new();
    for name in ["egd.sock", "bulk.sock", "web.sock", "vhost-user.sock"] {
        fs::create_dir_all(folder.path("run").join(name)).unwrap();
    }
    let mut command = wellspringd();
    command.arg("--config").arg(folder.configure(""));
    let said = refused_start(&mut command);
    assert_eq!(said.matches(": not open: ").count(), 4, "{said}");
    assert_eq!(said.matches("page: open: ").count(), 1, "{said}");
}

#[test]
fn a_service_without_doors_in_its_configuration_is_ready() {
    let none = ["egd", "bulk", "web", "vhost_user"].map(|door| format!("[{door}]\nlisten = []\n"));
    Service::start(&none.concat());
}

#[test]
fn what_cannot_be_opened_is_one_line_and_the_rest_opens() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let folder = Folder::new();
    fs::create_dir(folder.path("full")).unwrap();
    fs::write(folder.path("full/file"), "x").unwrap();
    let more = format!(
        "[bulk]\nlisten = [\"127.0.0.1:{port}\", \"bulk.sock\"]\n[files]\nmount = \"{}\"\n",
        folder.path("full").display()
    );
    let service = Service::start_in(folder, &more);
    let status = service.status();
    let openings = status["openings"].as_array().unwrap();
    let fault = |place: &str| {
        let found = openings
            .iter()
            .find(|opening| opening["place"].as_str().unwrap().ends_with(place));
        found.unwrap()["fault"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert!(fault(&port.to_string()).starts_with("Address already in use"));
    assert_eq!(fault("bulk.sock"), "");
    if has_fuse() {
        assert_eq!(
            fault("full"),
            "the mount point has files in it, which would be hidden"
        );
    }
    assert_eq!(fs::read(service.folder.path("full/file")).unwrap(), b"x");
}

/// A service that may open 64 descriptors.
fn start_with_few_descriptors() -> Service {
    let folder = Folder::new();
    let script = format!(
        "ulimit -n 64 && exec {} --config {}",
        quoted(env!("CARGO_BIN_EXE_wellspringd")),
        quoted(folder.configure("threads = 1\n"))
    );
    Service::spawn(folder, Command::new("sh").args(["-c", &script]))
}

fn is_served(stream: &mut UnixStream) -> bool {
    stream.write_all(&[2, 1]).is_ok() && stream.read_exact(&mut [0]).is_ok()
}

#[test]
fn without_free_descriptors_the_log_says_so_once_and_the_open_connections_are_served() {
    let service = start_with_few_descriptors();
    let mut streams: Vec<UnixStream> = (0..200).map(|_| service.socket("egd.sock")).collect();
    let words = "connections are refused: ";
    service.wait_for_log(words);
    assert!(!is_served(&mut streams[199]), "more than 64 descriptors");
    assert!(is_served(&mut streams[0]));
    assert_eq!(service.log().matches(words).count(), 1);
    // Some are left for the service itself, which makes a socket for each message to systemd.
    service.drop_notices();
    service.signal("-HUP");
    service.wait_for_notice("READY=1");
    drop(streams);
    // Until the service has seen that they are closed, others are refused.
    let until = std::time::Instant::now() + super::common::PATIENCE;
    while !is_served(&mut service.socket("egd.sock")) {
        assert!(std::time::Instant::now() < until, "still refused");
    }
}

#[test]
fn a_user_who_takes_all_descriptors_leaves_some_for_root() {
    if !is_root() {
        return;
    }
    let service = start_with_few_descriptors();
    let run = service.folder.path("run");
    std::thread::scope(|scope| {
        let taken = scope.spawn(|| {
            super::hostile::become_unprivileged();
            let connect = |_| UnixStream::connect(run.join("egd.sock")).unwrap();
            (0..200).map(connect).collect::<Vec<_>>()
        });
        let mut taken = taken.join().unwrap();
        assert!(!is_served(&mut taken[199]), "no connection was refused");
        let mut of_root: Vec<UnixStream> = (0..10).map(|_| service.socket("egd.sock")).collect();
        assert!(of_root.iter_mut().all(is_served));
        assert_eq!(service.status()["phase"], "ready");
    });
}

#[test]
fn a_mount_point_in_use_is_named_with_what_is_there() {
    if !has_fuse() {
        return;
    }
    let service = Service::start("[files]\nmount = \"/proc\"\n");
    service
        .wait_for_log("files: not open: /proc: the mount point is in use: proc is mounted there");
}

#[test]
fn systemd_can_open_the_sockets() {
    if !is_installed("systemd-socket-activate") {
        return;
    }
    let folder = Folder::new();
    let path = folder.path("activated.sock");
    let mut command = Command::new("systemd-socket-activate");
    command
        .arg("-l")
        .arg(&path)
        .args(["--fdname=egd", "-E", "NOTIFY_SOCKET", "-E", "TMPDIR"]);
    command.arg(env!("CARGO_BIN_EXE_wellspringd"));
    command.arg("--config").arg(folder.configure(""));
    // It starts the service at the first connection.
    let client = std::thread::spawn(move || {
        let until = std::time::Instant::now() + super::common::PATIENCE;
        loop {
            match UnixStream::connect(&path) {
                Ok(mut stream) => {
                    let mut bytes = [0; 32];
                    stream.write_all(&[2, 32]).unwrap();
                    stream.read_exact(&mut bytes).unwrap();
                    return bytes;
                }
                Err(error) => assert!(std::time::Instant::now() < until, "{error}"),
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    });
    let service = Service::spawn(folder, &mut command);
    assert_ne!(client.join().unwrap(), [0; 32]);
    service.wait_for_log("egd: open: from systemd");
    assert!(!service.folder.path("run/egd.sock").exists());
}

#[test]
fn the_watchdog_is_told_again_and_again() {
    let folder = Folder::new();
    let mut command = wellspringd();
    command.arg("--config").arg(folder.configure(""));
    command.env("WATCHDOG_USEC", "3000000");
    let service = Service::spawn(folder, &mut command);
    service.wait_for_notice("WATCHDOG=1");
    service.wait_for_notice("WATCHDOG=1");
}

#[test]
fn after_its_start_the_service_has_no_privilege_and_a_filter() {
    let service = Service::start("");
    let status = fs::read_to_string(format!("/proc/{}/status", service.child.id())).unwrap();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().last().unwrap().to_owned()
    };
    assert_eq!(field("NoNewPrivs:"), "1");
    assert_eq!(field("Seccomp:"), "2");
    assert_eq!(field("CapEff:"), "0000000000000000");
    assert_eq!(field("CapPrm:"), "0000000000000000");
    let limits = fs::read_to_string(format!("/proc/{}/limits", service.child.id())).unwrap();
    let core = limits
        .lines()
        .find(|line| line.starts_with("Max core file size"))
        .unwrap();
    assert!(core.split_whitespace().any(|word| word == "0"), "{core}");
    // All of its threads are inside.
    for task in fs::read_dir(format!("/proc/{}/task", service.child.id())).unwrap() {
        let text = fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        assert!(text.contains("Seccomp:\t2\n"), "{text}");
    }
}

#[test]
fn the_kernels_pool_is_fed_on_request() {
    if !is_root() {
        return;
    }
    for credit_bits in [0, 8] {
        let more = format!(
            "[kernel_pool]\nfeed = true\ncredit_bits = {credit_bits}\n[log]\nlevel = \"debug\"\n"
        );
        let service = Service::start(&more);
        service.wait_for_log("the kernel's pool was fed");
    }
}

#[test]
fn the_command_finds_the_service() {
    let Some(command) = wellspring_with("serve") else {
        return;
    };
    let folder = Folder::new();
    let config = folder.configure("");
    let mut serve = Command::new(&command);
    serve.arg("serve").arg("--config").arg(&config);
    let mut service = Service::spawn(folder, &mut serve);
    let output = Command::new(&command)
        .args(["status", "--json", "--config"])
        .arg(&config)
        .output()
        .unwrap();
    let status: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(status["process"], service.child.id());
    assert!(service.end("-INT").success());
}

// A service that is killed in the middle of its start.

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
