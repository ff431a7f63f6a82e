//! The kernel, served on request: bytes for its pool, and the seeds of our kernel module.

use rustix::fs::{Mode, OFlags, open};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use wellspring::seed_file::Identity;
use wellspring_module::{ModuleSeeds, ModuleSeedsError, RNDADDENTROPY};
use wellspring_service_core::process::ends_process;
use wellspring_service_core::state::State;
use zeroize::Zeroize;

/// The file of the kernel's pool.
pub(crate) const POOL_PATH: &str = "/dev/random";

/// The length of one write. The kernel's own seeds are as long.
const BYTES: usize = 32;

/// `struct rand_pool_info` of linux/random.h.
#[repr(C)]
struct PoolInfo {
    credit_bits: i32,
    bytes: i32,
    buffer: [u8; BYTES],
}

/// The kernel's pool.
#[derive(Debug)]
pub(crate) struct KernelPool {
    file: OwnedFd,
    interval: Duration,
    credit_bits: u64,
    next: Instant,
}

impl KernelPool {
    /// Opens the pool, to be fed every `interval`, the first time at once.
    pub(crate) fn open(interval: Duration, credit_bits: u64) -> io::Result<Self> {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOCTTY;
        Ok(Self {
            file: open(POOL_PATH, flags, Mode::empty())?,
            interval,
            credit_bits,
            next: Instant::now(),
        })
    }

    /// Feeds the pool if the interval has passed and the engine is seeded. Returns whether it fed the pool. After
    /// an error the next try is one interval later.
    pub(crate) fn feed(&mut self, state: &State, now: Instant) -> io::Result<bool> {
        let mut info = PoolInfo {
            credit_bits: i32::try_from(self.credit_bits).unwrap_or(0),
            bytes: BYTES as i32,
            buffer: [0; BYTES],
        };
        if now < self.next || state.try_fill(&mut info.buffer).is_err() {
            return Ok(false);
        }
        self.next = now + self.interval;
        let fed = self.write(&info);
        info.buffer.zeroize();
        fed.map(|()| true)
    }

    fn write(&self, info: &PoolInfo) -> io::Result<()> {
        if info.credit_bits == 0 {
            rustix::io::write(&self.file, &info.buffer)?;
            return Ok(());
        }
        // SAFETY: the request reads a `rand_pool_info`, and of its buffer no more than `bytes`, which is its length.
        match unsafe { libc::ioctl(self.file.as_raw_fd(), RNDADDENTROPY, &raw const *info) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

// The seeds of the kernel module, on request: restored at the start, saved then, at every interval, and at the end.
//
// A thread of its own does it, since it writes to the disk. The module asks for CAP_SYS_ADMIN, which the service keeps
// for it.

/// The name among the openings.
pub(crate) const MODULE_NAME: &str = "kernel-module";

/// The time until the next try after seeds could not be saved, for instance since the module is not seeded yet.
const NEXT_TRY: Duration = Duration::from_secs(10);

/// The device of the module, and the file for its seeds.
#[derive(Debug)]
pub(crate) struct OpenModule {
    seeds: ModuleSeeds,
    path: PathBuf,
    interval: Duration,
}

impl OpenModule {
    /// Opens the device. The file at `path` is not read before [`KernelSeeds::start`].
    pub(crate) fn open(path: PathBuf, interval: Duration) -> Result<Self, ModuleSeedsError> {
        // The firmware's identity of the machine can be read by root alone.
        let seeds = ModuleSeeds::open(&path, Identity::system())?;
        Ok(Self {
            seeds,
            path,
            interval,
        })
    }
}

/// The thread that restores and saves. When this is dropped, it saves once more and ends.
#[derive(Debug)]
pub(crate) struct KernelSeeds {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl KernelSeeds {
    /// Starts the thread.
    pub(crate) fn start(state: &Arc<State>, module: OpenModule) -> io::Result<Self> {
        let (end, ends) = channel();
        let state = state.clone();
        let builder = std::thread::Builder::new().name("kernel-seeds".into());
        let thread = builder.spawn(move || ends_process(|| run(&state, module, &ends)))?;
        Ok(Self {
            end: Some(end),
            thread: Some(thread),
        })
    }
}

impl Drop for KernelSeeds {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(state: &State, mut module: OpenModule, ends: &Receiver<()>) {
    match module.seeds.restore() {
        Ok(restored) => {
            let (nodes, found) = (restored.nodes, restored.found);
            let words = format!("{nodes} nodes of the kernel module got a seed: {found}");
            state.event_log.add(found.is_fault(), words);
        }
        Err(error) => {
            let words = format!("the kernel module got no seed: {error}");
            state.event_log.add(true, words);
        }
    }
    loop {
        let is_saved = save(state, &module);
        let pause = if is_saved {
            module.interval
        } else {
            module.interval.min(NEXT_TRY)
        };
        if ends.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    save(state, &module);
}

/// Saves, and shows among the openings whether it succeeded.
fn save(state: &State, module: &OpenModule) -> bool {
    let place = module.path.display();
    let openings = state.doors.openings();
    let was_open = openings
        .iter()
        .any(|opening| opening.name == MODULE_NAME && opening.fault.is_none());
    let saved = module.seeds.save();
    if let Ok(nodes) = saved {
        log::info!("the seeds of {nodes} nodes of the kernel module are saved");
    }
    if saved.is_ok() != was_open {
        state.doors.tried(MODULE_NAME, place, saved);
    }
    saved.is_ok()
}
