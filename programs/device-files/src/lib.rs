//! The device files `random`, `urandom` and `pseudo`, by FUSE.
//!
//! ```text
//! random_files  the files by name and number, and the handlers of all requests; answers reads: at once, in turns, or when
//!               their user has a share again
//! mount         the mount point, why it cannot be one, and a process that unmounts when the service has ended
//! ```
//!
//! The service mounts before it gives up its privileges; the threads start when the engine is seeded. A program that
//! opens a file before that waits, and can be interrupted.

#![forbid(unsafe_code)]

mod mount;
mod random_files;

pub use mount::{Guardian, MountFault, unmount_at_end};

use fuser::{BackgroundSession, Session};
use random_files::{RandomFiles, Reads};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use wellspring_service_core::process::ends_process;
use wellspring_service_core::state::State;

/// Device files that are mounted and not served yet.
#[derive(Debug)]
pub struct MountedFiles {
    session: Session<RandomFiles>,
    guardian: Guardian,
    state: Arc<OnceLock<Arc<State>>>,
    reads: Arc<Reads>,
}

/// Device files that are served. They are unmounted when this is dropped.
#[derive(Debug)]
pub struct ServedFiles {
    /// `None` only while it is dropped.
    session: Option<BackgroundSession>,
    guardian: Guardian,
    reads: Arc<Reads>,
    /// The thread for reads that were paused. `None` only before it starts and after its end.
    pauses: Option<JoinHandle<()>>,
}

impl MountedFiles {
    /// Mounts the files at `path`, for which the guardian was started. `threads` is the number of long reads that are
    /// answered at the same time.
    pub fn mount(
        path: &Path,
        threads: usize,
        guardian: std::io::Result<Guardian>,
    ) -> Result<Self, MountFault> {
        let state = Arc::new(OnceLock::new());
        let reads = Arc::new(Reads::new(threads));
        let files = RandomFiles::new(state.clone(), reads.clone());
        // One more than may answer long reads.
        let session = mount::mount(path, files, threads + 1)?;
        let no_guardian = |error| format!("no process to unmount with: {error}");
        let mut guardian = guardian.map_err(no_guardian)?;
        // From here on the guardian alone unmounts, so that one code serves a clean end and `kill -9`.
        guardian.guard().map_err(no_guardian)?;
        Ok(Self {
            session,
            guardian,
            state,
            reads,
        })
    }

    /// Serves them from `state`.
    pub fn serve(self, state: Arc<State>) -> std::io::Result<ServedFiles> {
        let _ = self.state.set(state.clone());
        let mut served = ServedFiles {
            session: Some(self.session.spawn()?),
            guardian: self.guardian,
            reads: self.reads,
            pauses: None,
        };
        let reads = served.reads.clone();
        let pauses = thread::Builder::new().name("pauses".into());
        let work = move || ends_process(|| reads.answer_paused(&state));
        served.pauses = Some(pauses.spawn(work)?);
        Ok(served)
    }
}

impl ServedFiles {
    /// Whether programs no longer find the files: another program unmounted or covered them, or cut the connection.
    pub fn are_lost(&self) -> bool {
        self.guardian.has_lost_mount()
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
            log::warn!(
                "the files stay mounted: the process that unmounts was killed; the next start unmounts"
            );
        }
        self.reads.end();
        if let Some(pauses) = self.pauses.take() {
            let _ = pauses.join();
        }
    }
}
