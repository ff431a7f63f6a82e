//! The device files `random`, `urandom` and `pseudo`, by FUSE.
//!
//! ```text
//! nodes         the files by name and number
//! buffer        memory for an answer
//! ahead         answers made before they are asked for
//! random_files  the handlers of reads, writes and ioctls
//! mount         the mount point, and why it cannot be one
//! guardian      a process that unmounts when the service has ended, also by `kill -9`
//! ```
//!
//! The service mounts before it gives up its privileges; the threads start when the engine is seeded. A program that
//! opens a file before that waits, and can be interrupted.

mod ahead;
mod buffer;
mod guardian;
mod mount;
mod nodes;
mod random_files;

pub use guardian::{Guardian, unmount_at_end};
pub use mount::MountFault;

use crate::state::State;
use ahead::Ahead;
use fuser::{BackgroundSession, Session};
use random_files::RandomFiles;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

/// Device files that are mounted and not served yet.
#[derive(Debug)]
pub struct MountedFiles {
    session: Session<RandomFiles>,
    guardian: Guardian,
    state: Arc<OnceLock<Arc<State>>>,
    ahead: Arc<Ahead>,
}

/// Device files that are served. They are unmounted when this is dropped.
#[derive(Debug)]
pub struct ServedFiles {
    /// `None` only while it is dropped.
    session: Option<BackgroundSession>,
    guardian: Guardian,
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
        let files = RandomFiles::new(state.clone(), ahead.clone());
        let session = mount::mount(path, files, threads)?;
        let mut guardian = guardian.map_err(MountFault::Guardian)?;
        // From here on the guardian alone unmounts, so that one code serves a clean end and `kill -9`.
        guardian.guard().map_err(MountFault::Guardian)?;
        Ok(Self {
            session,
            guardian,
            state,
            ahead,
        })
    }

    /// Serves them from `state`.
    ///
    /// # Errors
    ///
    /// When the system has no thread.
    pub fn serve(self, state: Arc<State>) -> std::io::Result<ServedFiles> {
        let _ = self.state.set(state);
        let mut served = ServedFiles {
            session: Some(self.session.spawn()?),
            guardian: self.guardian,
            ahead: self.ahead,
            wiper: None,
        };
        let ahead = served.ahead.clone();
        let wiper = thread::Builder::new().name("wiper".into());
        served.wiper = Some(wiper.spawn(move || ahead.work())?);
        Ok(served)
    }
}

impl Drop for ServedFiles {
    fn drop(&mut self) {
        let is_unmounted = self.guardian.unmount();
        let session = self.session.take().filter(|_| is_unmounted);
        if let Some(session) = session {
            // The kernel has closed its end, so that the threads end.
            let _ = session.join();
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
