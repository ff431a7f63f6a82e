//! Starts the harvester's thread, and ends it with the last clone of its engine.

use super::worker::{Control, LATE_AFTER_MS, Worker};
use super::{Harvester, Running};
use crate::engine::inner::EngineInner;
use crate::error::Error;
use std::sync::Arc;
use std::thread::JoinHandle;
use wellspring_os::memory::Wiped;
use wellspring_os::os;
use wellspring_os::shared::{Shared, Weak};
use wellspring_os::signals::SignalsBlocked;

/// Virtual memory. A round touches about 10 KiB of it; sources are the code of others.
const STACK_BYTES: usize = 128 * 1024;

/// The thread, ended on drop.
pub(in super::super) struct HarvesterHandle {
    engine: Weak<EngineInner>,
    control: Arc<Control>,
    thread: Option<JoinHandle<()>>,
}

impl HarvesterHandle {
    /// Starts the thread; `None` if this process runs one for this engine.
    pub(in super::super) fn start(
        engine: &Shared<EngineInner>,
        harvester: Harvester,
    ) -> Result<Option<Running>, Error> {
        if engine.harvester.get().is_none() {
            // Another thread may have been first: its status is kept.
            let _ = engine
                .harvester
                .set(Wiped::new(None).map_err(|_| Error::Memory)?);
        }
        let status = engine.harvester.get().ok_or(Error::Memory)?;
        let control = Arc::new(Control::new().ok_or(Error::Thread)?);
        let now_ms = os::now_ms();
        if !status.begin(now_ms) {
            return Ok(None);
        }
        status.report(now_ms, 0, now_ms + LATE_AFTER_MS);
        engine
            .collector
            .schedule_inline_harvest(now_ms, now_ms + LATE_AFTER_MS);
        let worker = Worker::new(engine, control.clone(), harvester);
        // The new thread inherits the signal mask of this one: no handler runs on it before it blocks them itself.
        let _signals = SignalsBlocked::new();
        let builder = std::thread::Builder::new()
            .name("wellspring".into())
            .stack_size(STACK_BYTES);
        match builder.spawn(|| worker.run()) {
            Ok(thread) => Ok(Some(Arc::new(Self {
                engine: Shared::downgrade(engine),
                control,
                thread: Some(thread),
            }))),
            Err(_) => {
                status.end();
                engine.collector.schedule_inline_harvest(now_ms, 0);
                Err(Error::Thread)
            }
        }
    }
}

impl Drop for HarvesterHandle {
    /// Waits until the thread has finished its round and its tasks. Not on that thread itself, where a source can drop
    /// the last clone. Not in a child process, which has no such thread, and whose wake-up would reach the parent.
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        let engine = self.engine.upgrade();
        let status = engine.as_ref().and_then(|engine| engine.harvester.get());
        if status.is_some_and(|status| status.is_absent()) {
            return core::mem::forget(thread);
        }
        drop(engine);
        self.control.end();
        if thread.thread().id() != std::thread::current().id() {
            let _ = thread.join();
        }
    }
}
