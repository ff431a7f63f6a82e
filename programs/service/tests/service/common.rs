//! Starts the service, waits until it says that it is ready, and counts what it has of the system.

use super::LIFE;
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, getrlimit, pidfd_open, pidfd_send_signal, setrlimit,
};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
#[allow(unused_imports, reason = "the soak uses none of them")]
pub(crate) use testkit::programs::{copy_program, is_installed, is_long};

/// Longer than the service needs on a machine that is busy with something else; only a failed test waits so long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A folder of a test's own, removed at its end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("wsd-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a configuration whose sockets are in this folder, and returns its path. `more` goes on in the section
    /// `[service]`, and may begin with the key `user`.
    pub(crate) fn configure(&self, more: &str) -> PathBuf {
        let path = self.path("wellspring.toml");
        let run = self.path("run");
        // A user of the machine with the service's name would change what these tests see.
        let user = if more.starts_with("user = ") {
            ""
        } else {
            "user = \"root\"\n"
        };
        let text = format!(
            "[service]\nruntime_dir = \"{}\"\n{user}{more}",
            run.display()
        );
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A service with files, and the folder where they are.
pub(crate) fn start_with_files() -> (Service, PathBuf) {
    start_with_files_and("")
}

/// The same, with more lines of configuration.
pub(crate) fn start_with_files_and(more: &str) -> (Service, PathBuf) {
    let folder = Folder::new();
    let mount = folder.path("files");
    let files = format!("[files]\nmount = \"{}\"\nthreads = 2\n", mount.display());
    (Service::start_in(folder, &(files + more)), mount)
}

pub(crate) fn wellspringd() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wellspringd"));
    command.stdin(Stdio::null());
    command
}

/// A service that runs.
pub(crate) struct Service {
    pub(crate) child: Child,
    pub(crate) folder: Folder,
    notify: UnixDatagram,
    limit: LifeLimit,
}

/// Kills a service after [`LIFE`]. The kernel gives its readers errors then: a test fails in place of waiting without end.
struct LifeLimit {
    _end: Sender<()>,
}

impl LifeLimit {
    fn start(child: &Child) -> Self {
        let (end, ends) = channel();
        let process = pidfd_open(Pid::from_child(child), PidfdFlags::empty()).unwrap();
        std::thread::spawn(move || {
            if ends.recv_timeout(LIFE) == Err(RecvTimeoutError::Timeout) {
                let _ = pidfd_send_signal(process, Signal::KILL);
            }
        });
        Self { _end: end }
    }
}

impl Service {
    /// Starts the service with these lines of configuration after `[service]`, and waits until it is ready.
    pub(crate) fn start(more: &str) -> Self {
        Self::start_in(Folder::new(), more)
    }

    pub(crate) fn start_in(folder: Folder, more: &str) -> Self {
        let mut command = wellspringd();
        command.arg("--config").arg(folder.configure(more));
        Self::spawn(folder, &mut command)
    }

    /// Starts a command that is the service or starts it.
    pub(crate) fn spawn(folder: Folder, command: &mut Command) -> Self {
        let socket = folder.path("notify.sock");
        let _ = fs::remove_file(&socket);
        let notify = UnixDatagram::bind(&socket).unwrap();
        // Every user may write to it, as to systemd's socket: the service may have become another user.
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o777)).unwrap();
        notify.set_read_timeout(Some(PATIENCE)).unwrap();
        let log = fs::File::create(folder.path("log")).unwrap();
        command.env("NOTIFY_SOCKET", &socket).stderr(log);
        let child = command.spawn().unwrap();
        let service = Self {
            limit: LifeLimit::start(&child),
            child,
            folder,
            notify,
        };
        service.wait_for_notice("READY=1");
        service
    }

    /// Kills it by SIGKILL and starts it again in the same place. The log goes on.
    pub(crate) fn restart(&mut self) {
        self.end("-KILL");
        self.start_again();
    }

    /// Starts it again after its end, in the same place. The log goes on.
    pub(crate) fn start_again(&mut self) {
        // Old messages, which the service sent before it was killed.
        self.drop_notices();
        let log = fs::OpenOptions::new()
            .append(true)
            .open(self.folder.path("log"));
        let mut command = wellspringd();
        command
            .arg("--config")
            .arg(self.folder.path("wellspring.toml"));
        command.env("NOTIFY_SOCKET", self.folder.path("notify.sock"));
        self.child = command.stderr(log.unwrap()).spawn().unwrap();
        self.limit = LifeLimit::start(&self.child);
        self.wait_for_notice("READY=1");
    }

    /// Takes what the service has told systemd, as systemd does all the time.
    pub(crate) fn drop_notices(&self) {
        self.notify.set_nonblocking(true).unwrap();
        while self.notify.recv(&mut [0; 4096]).is_ok() {}
        self.notify.set_nonblocking(false).unwrap();
    }

    /// Waits until the service tells systemd this.
    pub(crate) fn wait_for_notice(&self, words: &str) {
        let mut message = [0; 4096];
        loop {
            let length = match self.notify.recv(&mut message) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                length => length.unwrap_or_else(|error| panic!("{words}: {error}: {}", self.log())),
            };
            let text = String::from_utf8_lossy(&message[..length]);
            if text.lines().any(|line| line == words) {
                return;
            }
        }
    }

    /// Returns the messages that the service sends to systemd within this time.
    pub(crate) fn notices_within(&self, time: Duration) -> String {
        let until = std::time::Instant::now() + time;
        let mut told = String::new();
        loop {
            let left = until.saturating_duration_since(std::time::Instant::now());
            if left.is_zero() {
                self.notify.set_read_timeout(Some(PATIENCE)).unwrap();
                return told;
            }
            self.notify.set_read_timeout(Some(left)).unwrap();
            let mut message = [0; 4096];
            if let Ok(length) = self.notify.recv(&mut message) {
                told += &String::from_utf8_lossy(&message[..length]);
            }
        }
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path("log")).unwrap_or_default()
    }

    /// Waits for a line of the log that has these words.
    pub(crate) fn wait_for_log(&self, words: &str) {
        self.wait_for_log_lines(words, 1);
    }

    /// Waits until these words are in the log as many times.
    pub(crate) fn wait_for_log_lines(&self, words: &str, lines: usize) {
        let until = std::time::Instant::now() + PATIENCE;
        while self.log().matches(words).count() < lines {
            assert!(
                std::time::Instant::now() < until,
                "not {lines} times '{words}' in: {}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn socket(&self, name: &str) -> UnixStream {
        let stream = UnixStream::connect(self.folder.path("run").join(name)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// A document of the web socket, without its head.
    pub(crate) fn get(&self, path: &str) -> String {
        let mut stream = self.socket("web.sock");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 "), "{path}: {head}");
        body.into()
    }

    pub(crate) fn status(&self) -> Value {
        serde_json::from_str(&self.get("/status.json")).unwrap()
    }

    /// The status of a door.
    pub(crate) fn door(&self, name: &str) -> Value {
        let status = self.status();
        let doors = status["doors"].as_array().unwrap();
        doors
            .iter()
            .find(|door| door["name"] == name)
            .unwrap()
            .clone()
    }

    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill")
            .args([signal, &self.child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
    }

    /// Waits for its end, and returns its exit status. A service that does not end is killed: `None`.
    fn ended_in_time(&mut self) -> Option<std::process::ExitStatus> {
        let status = self.status_in_time();
        if status.is_none() {
            self.child.kill().unwrap();
            // A thread that waits for a file system in user space can outlive even SIGKILL.
            self.status_in_time();
        }
        status
    }

    fn status_in_time(&mut self) -> Option<std::process::ExitStatus> {
        let until = std::time::Instant::now() + PATIENCE;
        while std::time::Instant::now() < until {
            if let Some(status) = self.child.try_wait().unwrap() {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }

    /// Waits for its end, and returns its exit status. A service that does not end is killed, and that is a failure.
    pub(crate) fn wait_for_end(&mut self) -> std::process::ExitStatus {
        let status = self.ended_in_time();
        status.unwrap_or_else(|| panic!("it did not end: {}", self.log()))
    }

    /// Ends it by a signal, and returns its exit status.
    pub(crate) fn end(&mut self, signal: &str) -> std::process::ExitStatus {
        self.signal(signal);
        self.wait_for_end()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            self.signal("-TERM");
            // If it does not end, the test that dropped it has failed already, or another test says so.
            let _ = self.ended_in_time();
        }
    }
}

pub(crate) fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("SKIPPED: this needs root");
    }
    is_root
}

/// Whether files can be mounted here.
pub(crate) fn has_fuse() -> bool {
    let has = Path::new("/dev/fuse").exists();
    if !has {
        eprintln!("SKIPPED: there is no /dev/fuse");
    }
    has && is_root()
}

/// Raises the limit of open files of the tests, and of the services that they start, as far as this user may. Returns it.
#[allow(dead_code, reason = "the soak does not use it")]
pub(crate) fn raise_limit_of_files() -> usize {
    let most = getrlimit(Resource::Nofile).maximum;
    let raised = Rlimit {
        current: most,
        maximum: most,
    };
    setrlimit(Resource::Nofile, raised).unwrap();
    most.map_or(usize::MAX, |most| most as usize)
}

/// A path as a word of a shell command, whatever is in it.
pub(crate) fn quoted(path: impl AsRef<Path>) -> String {
    let path = path.as_ref().to_str().unwrap();
    format!("'{}'", path.replace('\'', "'\\''"))
}

/// Runs a shell command that must succeed.
pub(crate) fn sh(command: &str) -> Output {
    let output = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{command}: {output:?}");
    output
}

/// Fails if the bytes look like anything but random ones: zeros, or the same block twice.
pub(crate) fn assert_random(bytes: &[u8]) {
    let blocks: Vec<&[u8]> = bytes.chunks_exact(16).collect();
    let mut sorted = blocks.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), blocks.len(), "a block of 16 bytes twice");
    assert!(!blocks.contains(&&[0; 16][..]), "zeros");
}

/// The command `wellspring`, if it was built and has a subcommand.
pub(crate) fn wellspring_with(subcommand: &str) -> Option<PathBuf> {
    let command = Path::new(env!("CARGO_BIN_EXE_wellspringd")).with_file_name("wellspring");
    let help = Command::new(&command).args([subcommand, "--help"]).output();
    if help.is_ok_and(|output| output.status.success()) {
        return Some(command);
    }
    eprintln!(
        "SKIPPED: there is no {} with '{subcommand}': cargo build -p wellspring-cli",
        command.display()
    );
    None
}

// The resources of the system that a service has: descriptors, mappings, threads and memory.

#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) descriptors: usize,
    pub(crate) mappings: usize,
    pub(crate) threads: usize,
    /// Page tables, and pages of its own and of guests.
    pub(crate) memory_kib: usize,
}

impl Held {
    pub(crate) fn by(service: &Service) -> Self {
        let process = format!("/proc/{}", service.child.id());
        let read = |name: &str| fs::read_to_string(format!("{process}/{name}")).unwrap();
        let count = |name: &str| fs::read_dir(format!("{process}/{name}")).unwrap().count();
        Self {
            descriptors: count("fd"),
            mappings: read("maps").lines().count(),
            threads: count("task"),
            memory_kib: ["RssAnon:", "RssShmem:", "VmPTE:"]
                .into_iter()
                .map(|field| Self::kib(service, field))
                .sum(),
        }
    }

    /// A field of the service's status in /proc, in KiB.
    pub(crate) fn kib(service: &Service, field: &str) -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", service.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(field)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Waits until the service has no more than this. Arenas, stacks and caches of the allocator, which stay, are bounded.
    pub(crate) fn wait_until_back(self, service: &Service) {
        let until = Instant::now() + PATIENCE;
        loop {
            let now = Self::by(service);
            let is_back = now.descriptors <= self.descriptors
                && now.threads <= self.threads
                && now.mappings <= self.mappings + 64
                && now.memory_kib <= self.memory_kib + 16 * 1024;
            if is_back {
                return;
            }
            assert!(Instant::now() < until, "before: {self:?}, still: {now:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// The processes that this process has started with this option.
pub(crate) fn children(process: u32, option: &str) -> Vec<String> {
    let parent = format!("PPid:\t{process}\n");
    let is_child = |folder: &PathBuf| {
        let words = fs::read_to_string(folder.join("cmdline"));
        fs::read_to_string(folder.join("status")).is_ok_and(|status| status.contains(&parent))
            && words.is_ok_and(|words| words.contains(option))
    };
    let folders = fs::read_dir("/proc")
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let children = folders.filter(is_child);
    children
        .map(|folder| folder.file_name().unwrap().to_string_lossy().into_owned())
        .collect()
}
