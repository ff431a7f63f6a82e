//! The service: started, troubled, killed, and started again.

use super::common::{Folder, PATIENCE, Service, has_fuse};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The time between two troubles.
const PAUSE: Duration = Duration::from_millis(300);

/// The rounds of trouble between two kills.
const ROUNDS: u32 = 24;

/// The descriptors and threads of the device files, which a service opens and starts a moment after it says that it is ready.
/// A leak in thousands of connections is more than these.
const MORE: usize = 4;

/// The growth of memory in the last life that is no leak: buffers of the allocator, which depend on how many clients came
/// at once.
pub(crate) const MORE_KIB: u64 = 8192;

/// Descriptors and threads of the service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resources {
    descriptors: usize,
    threads: usize,
}

pub(crate) struct Host {
    service: Service,
    /// The configuration, without limits.
    config: String,
    has_files: bool,
    /// The other end of the source, while it is open.
    noise: Option<File>,
    round: u32,
    lives: u32,
    orders: u32,
}

impl Host {
    pub(crate) fn start() -> Self {
        let folder = Folder::new();
        let noise = folder.path("noise");
        let made = Command::new("mkfifo").arg(&noise).status();
        assert!(made.unwrap().success());
        let mut more = format!("[engine]\nnoise_files = [\"{}\"]\n", noise.display());
        // Hostile users may connect to every socket.
        more += "[web]\nmode = 0o666\n[vhost_user]\nmode = 0o666\n";
        let has_files = has_fuse();
        if has_files {
            more += &format!("[files]\nmount = \"{}\"\n", folder.path("files").display());
        }
        Self {
            service: Service::start_in(folder, &more),
            config: more,
            has_files,
            noise: None,
            round: 0,
            lives: 1,
            orders: 0,
        }
    }

    /// Puts these lines of `[limits]` in force.
    pub(crate) fn set_limits(&mut self, lines: &str) {
        let config = format!("{}[limits]\n{lines}\n", self.config);
        self.service.folder.configure(&config);
        self.service.drop_notices();
        self.service.signal("-HUP");
        self.service.wait_for_notice("READY=1");
    }

    pub(crate) fn run(&self) -> PathBuf {
        self.service.folder.path("run")
    }

    pub(crate) fn files(&self) -> Option<PathBuf> {
        self.has_files.then(|| self.service.folder.path("files"))
    }

    pub(crate) fn lives(&self) -> u32 {
        self.lives
    }

    pub(crate) fn orders(&self) -> u32 {
        self.orders
    }

    /// One trouble of several kinds, in turn.
    pub(crate) fn trouble(&mut self, kills: bool) {
        std::thread::sleep(PAUSE);
        self.service.drop_notices();
        self.round += 1;
        if kills && self.round.is_multiple_of(ROUNDS) {
            return self.kill_and_start();
        }
        self.orders += 1;
        match self.round % 6 {
            0 => self.service.signal("-HUP"),
            1 => self.service.signal("-USR1"),
            2 => {
                let page = self.run().join("generation");
                wellspring::clone_detection::bump(&page).unwrap();
            }
            3 => self.feed(wellspring::fill),
            // Noise that fails every health test.
            4 => self.feed(|bytes| bytes.fill(7)),
            // The source has no other end: it is silent.
            _ => self.noise = None,
        }
    }

    /// Gives the source some noise.
    fn feed(&mut self, make: impl Fn(&mut [u8])) {
        // Without waiting: there is no reader while the service starts, and a pipe may be full.
        let path = self.service.folder.path("noise");
        let open = || {
            let mut options = OpenOptions::new();
            options
                .write(true)
                .custom_flags(libc::O_NONBLOCK)
                .open(&path)
                .ok()
        };
        if self.noise.is_none() {
            self.noise = open();
        }
        if let Some(noise) = &mut self.noise {
            let mut bytes = [0; 4096];
            make(&mut bytes);
            let _ = noise.write(&bytes);
        }
    }

    fn kill_and_start(&mut self) {
        self.noise = None;
        self.service.restart();
        self.lives += 1;
        // A service that says it is ready answers.
        let mut stream = self.service.socket("egd.sock");
        stream.write_all(&[2, 1]).unwrap();
        stream.read_exact(&mut [0]).unwrap();
    }

    pub(crate) fn resources(&self) -> Resources {
        let of = |kind: &str| {
            let folder = format!("/proc/{}/{kind}", self.service.child.id());
            fs::read_dir(folder).unwrap().count()
        };
        Resources {
            descriptors: of("fd"),
            threads: of("task"),
        }
    }

    /// Fails unless the service soon has no more descriptors and threads than when it was idle, but for [`MORE`].
    pub(crate) fn returns_to(&self, idle: Resources) {
        let until = Instant::now() + PATIENCE;
        loop {
            let now = self.resources();
            if now.descriptors <= idle.descriptors + MORE && now.threads <= idle.threads + MORE {
                return;
            }
            assert!(
                Instant::now() < until,
                "{now:?}, and {idle:?} when it was idle; threads: {}",
                self.thread_names()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Returns the time for which each thread of the service was ready to run and waited for a CPU. None, where the kernel
    /// does not count it.
    pub(crate) fn waits_for_cpu(&self) -> Vec<Duration> {
        let folder = format!("/proc/{}/task", self.service.child.id());
        let threads = fs::read_dir(folder).unwrap();
        let mut paths: Vec<PathBuf> = threads.map(|thread| thread.unwrap().path()).collect();
        paths.sort_unstable();
        let of = |path: &PathBuf| wait_for_cpu(&path.join("schedstat"));
        paths.iter().map(of).collect()
    }

    /// Samples of sources that did not reach the pools since the start.
    pub(crate) fn dropped_samples(&self) -> u64 {
        self.service.status()["dropped_events"].as_u64().unwrap()
    }

    /// The memory of the service, in KiB.
    pub(crate) fn memory_kib(&self) -> u64 {
        let path = format!("/proc/{}/status", self.service.child.id());
        let status = fs::read_to_string(path).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().nth(1));
        number.unwrap().parse().unwrap()
    }

    /// Fails if the memory has grown by more than this.
    pub(crate) fn has_not_grown(&self, before_kib: u64, more_kib: u64) {
        let now_kib = self.memory_kib();
        assert!(
            now_kib <= before_kib + more_kib,
            "memory leaks: {before_kib} KiB, then {now_kib} KiB"
        );
    }

    fn thread_names(&self) -> String {
        let folder = format!("/proc/{}/task", self.service.child.id());
        let threads = fs::read_dir(folder).unwrap();
        let name = |thread: std::io::Result<fs::DirEntry>| {
            fs::read_to_string(thread.unwrap().path().join("comm")).unwrap_or_default()
        };
        threads.map(name).collect::<String>().replace('\n', " ")
    }

    pub(crate) fn ends_cleanly(&mut self) {
        let status = self.service.end("-TERM");
        let log = self.service.log();
        assert!(status.success(), "{status}: {log}");
        assert!(!log.contains("panicked"), "{log}");
    }
}

/// The time for which a thread waited for a CPU: the second figure of its schedstat, in nanoseconds.
pub(crate) fn wait_for_cpu(schedstat: &Path) -> Duration {
    let figures = fs::read_to_string(schedstat).unwrap_or_default();
    let second = figures.split_whitespace().nth(1);
    Duration::from_nanos(second.and_then(|ns| ns.parse().ok()).unwrap_or_default())
}
