//! The seeds of the kernel module, on request: restored at the start, saved then, at every interval, and at the end.
//!
//! A thread of its own does it, since it writes to the disk. The module asks for CAP_SYS_ADMIN, which the service keeps
//! for it.

use crate::process::panics::ends_process;
use crate::state::State;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use wellspring::seed_file::Identity;
use wellspring_module::{ModuleSeeds, ModuleSeedsError};

/// The name among the openings.
pub(crate) const NAME: &str = "kernel-module";

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
        .any(|opening| opening.name == NAME && opening.fault.is_none());
    let saved = module.seeds.save();
    if let Ok(nodes) = saved {
        log::info!("the seeds of {nodes} nodes of the kernel module are saved");
    }
    if saved.is_ok() != was_open {
        state.doors.tried(NAME, place, saved);
    }
    saved.is_ok()
}
