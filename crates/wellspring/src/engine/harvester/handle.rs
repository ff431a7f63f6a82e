//! Starts the harvester's thread, and ends it with the last clone of its engine.

use super::Harvester;
use super::status::HarvesterStatus;
use super::task::BackgroundTask;
use super::worker::{Control, Harvests, LATE_AFTER_MS, Worker};
use crate::error::Error;
use std::sync::{Arc, OnceLock, Weak};
use std::thread::JoinHandle;
use wellspring_os::memory::Wiped;
use wellspring_os::os;
use wellspring_os::signals::SignalsBlocked;

/// Virtual memory. A round touches about 10 KiB of it; sources are the code of others.
const STACK_BYTES: usize = 128 * 1024;

/// The thread, ended on drop.
pub(in super::super) struct HarvesterHandle<E: Harvests> {
    engine: Weak<E>,
    control: Arc<Control>,
    thread: Option<JoinHandle<()>>,
}

impl<E: Harvests> HarvesterHandle<E> {
    /// Starts the thread; `None` if this process runs one for this engine.
    pub(in super::super) fn start(
        engine: &Arc<E>,
        status: &OnceLock<Wiped<HarvesterStatus>>,
        harvester: Harvester,
        tasks: Vec<Box<dyn BackgroundTask<E>>>,
    ) -> Result<Option<Self>, Error> {
        if status.get().is_none() {
            // Another thread may have been first: its status is kept.
            let _ = status.set(Wiped::new(None).map_err(|_| Error::Memory)?);
        }
        let status = status.get().ok_or(Error::Memory)?;
        let control = Arc::new(Control::new().ok_or(Error::Thread)?);
        let now_ms = os::now_ms();
        if !status.begin(now_ms) {
            return Ok(None);
        }
        status.report(now_ms, 0, now_ms + LATE_AFTER_MS);
        engine.leave_to_readers_from(now_ms, now_ms + LATE_AFTER_MS);
        let worker = Worker::new(engine, control.clone(), harvester, tasks);
        // The new thread inherits the signal mask of this one: no handler runs on it before it blocks them itself.
        let _signals = SignalsBlocked::new();
        let builder = std::thread::Builder::new()
            .name("wellspring".into())
            .stack_size(STACK_BYTES);
        match builder.spawn(|| worker.run()) {
            Ok(thread) => Ok(Some(Self {
                engine: Arc::downgrade(engine),
                control,
                thread: Some(thread),
            })),
            Err(_) => {
                status.end();
                engine.leave_to_readers_from(now_ms, 0);
                Err(Error::Thread)
            }
        }
    }
}

impl<E: Harvests> Drop for HarvesterHandle<E> {
    /// Waits until the thread has finished its round and its tasks. Not on that thread itself, where a source can drop
    /// the last clone. Not in a child process, which has no such thread, and whose wake-up would reach the parent.
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        let engine = self.engine.upgrade();
        let status = engine.as_ref().and_then(|engine| engine.status());
        if status.is_some_and(HarvesterStatus::is_absent) {
            return core::mem::forget(thread);
        }
        drop(engine);
        self.control.end();
        if thread.thread().id() != std::thread::current().id() {
            let _ = thread.join();
        }
    }
}
