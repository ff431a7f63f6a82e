//! The device files `random`, `urandom` and `pseudo`, by FUSE.
//!
//! ```text
//! nodes         the files by name and number
//! buffer        memory for an answer
//! ahead         answers made before they are asked for
//! random_files  the handlers of reads, writes and ioctls
//! io_ring       an io_uring that carries the commands of FUSE, and nothing else
//! mapping       memory from mmap(2)
//! slot          the memory in which a request of io_uring and its answer are
//! relay         passes requests other than reads and writes on to the handlers
//! queues        a thread on each CPU, which answers the requests of io_uring
//! mount         the mount point, and why it cannot be one
//! guardian      a process that unmounts when the service has ended, also by `kill -9`
//! ```
//!
//! The service mounts before it gives up its privileges; the threads start when the engine is seeded. A program that
//! opens a file before that waits, and can be interrupted.

mod ahead;
mod buffer;
mod guardian;
mod io_ring;
mod mapping;
mod mount;
mod nodes;
mod queues;
mod random_files;
mod relay;
mod slot;

pub use guardian::{Guardian, unmount_at_end};
pub(crate) use io_ring::REGISTER_ENABLE_RINGS;
pub use mount::MountFault;

use crate::process::panics::ends_process;
use crate::state::State;
use ahead::Ahead;
use fuser::{BackgroundSession, Session};
use queues::{OnFailure, Queues, ServedQueues};
use random_files::RandomFiles;
use relay::Relay;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};

/// Device files that are mounted and not served yet.
#[derive(Debug)]
pub struct MountedFiles {
    session: Session<RandomFiles>,
    files: RandomFiles,
    /// If requests come by io_uring.
    queues: Option<Queues>,
    path: PathBuf,
    guardian: Guardian,
    state: Arc<OnceLock<Arc<State>>>,
    ahead: Arc<Ahead>,
}

/// Device files that are served. They are unmounted when this is dropped.
#[derive(Debug)]
pub struct ServedFiles {
    /// `None` only while it is dropped.
    session: Option<BackgroundSession>,
    /// The threads that answer requests by io_uring.
    queues: Vec<JoinHandle<()>>,
    guardian: Arc<Mutex<Guardian>>,
    ahead: Arc<Ahead>,
    /// The thread that wipes answers for which no reader comes.
    wiper: Option<JoinHandle<()>>,
}

impl MountedFiles {
    /// Mounts the files at `path`, for which the guardian was started. `threads` is the number of readers that are served
    /// at the same time.
    ///
    /// # Errors
    ///
    /// The reason why they cannot be mounted.
    pub fn mount(
        path: &Path,
        threads: usize,
        guardian: std::io::Result<Guardian>,
    ) -> Result<Self, MountFault> {
        let state = Arc::new(OnceLock::new());
        let ahead = Arc::new(Ahead::new(threads));
        let queues = Queues::prepare();
        let files = RandomFiles::new(state.clone(), ahead.clone(), queues.is_some());
        let session = mount::mount(path, files.clone(), threads)?;
        let mut guardian = guardian.map_err(MountFault::Guardian)?;
        // From here on the guardian alone unmounts, so that one code serves a clean end and `kill -9`.
        guardian.guard().map_err(MountFault::Guardian)?;
        Ok(Self {
            session,
            queues: queues.filter(|_| files.by_rings()),
            files,
            path: path.to_owned(),
            guardian,
            state,
            ahead,
        })
    }

    /// Whether requests come by io_uring.
    #[must_use]
    pub fn by_rings(&self) -> bool {
        self.queues.is_some()
    }

    /// Serves them from `state`.
    ///
    /// # Errors
    ///
    /// When the system has no thread.
    pub fn serve(self, state: Arc<State>) -> std::io::Result<ServedFiles> {
        let _ = self.state.set(state.clone());
        let guardian = Arc::new(Mutex::new(self.guardian));
        let mut queues = ServedQueues::default();
        let mut by = Some("/dev/fuse");
        if let Some(prepared) = self.queues {
            let device = self.session.as_fd().try_clone_to_owned()?;
            let relay = Arc::new(Relay::start(self.files.for_relay())?);
            let on_failure = unmounts(&state, &self.path, &guardian);
            match prepared.serve(&device, &self.files, &relay, &on_failure) {
                Ok(served) => queues = served,
                Err(error) => on_failure(error),
            }
            by = queues.by();
        }
        if let Some(by) = by {
            state.doors.served("files", self.path.display(), by);
        }
        let mut served = ServedFiles {
            session: Some(self.session.spawn()?),
            queues: queues.threads,
            guardian,
            ahead: self.ahead,
            wiper: None,
        };
        let ahead = served.ahead.clone();
        let wiper = thread::Builder::new().name("wiper".into());
        served.wiper = Some(wiper.spawn(move || ends_process(|| ahead.work()))?);
        Ok(served)
    }
}

/// Unmounts when a thread has failed: its readers get errors then, and do not wait without end.
fn unmounts(state: &Arc<State>, path: &Path, guardian: &Arc<Mutex<Guardian>>) -> OnFailure {
    let (state, path, guardian) = (state.clone(), path.to_owned(), guardian.clone());
    Arc::new(move |error| {
        let fault = format!("unmounted, since io_uring failed: {error}");
        state.doors.failed("files", path.display(), fault);
        lock(&guardian).start_to_unmount();
    })
}

fn lock(guardian: &Mutex<Guardian>) -> MutexGuard<'_, Guardian> {
    guardian.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ServedFiles {
    /// Whether programs no longer find the files: another program unmounted or covered them, or cut the connection.
    #[must_use]
    pub fn are_lost(&self) -> bool {
        lock(&self.guardian).has_lost_mount()
    }
}

impl Drop for ServedFiles {
    fn drop(&mut self) {
        let is_unmounted = lock(&self.guardian).unmount();
        let session = self.session.take().filter(|_| is_unmounted);
        if let Some(session) = session {
            // The kernel has closed its end, so that the threads end.
            let _ = session.join();
            for queue in self.queues.drain(..) {
                let _ = queue.join();
            }
        } else {
            // The threads wait for requests until the process ends, and readers get errors then.
            tracing::warn!(
                "the files stay mounted: the process that unmounts was killed; the next start unmounts"
            );
        }
        self.ahead.end();
        if let Some(wiper) = self.wiper.take() {
            let _ = wiper.join();
        }
    }
}
