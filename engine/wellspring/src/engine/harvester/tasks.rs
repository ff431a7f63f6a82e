//! The other tasks of the harvester's thread: it listens for notices of clones, and writes the seed file.

#[cfg(target_os = "linux")]
use crate::clone_detection::CloneEvents;
use crate::engine::inner::EngineInner;
use crate::seed_file::SAVE_INTERVAL_MS;
use wellspring_os::descriptor::BorrowedFd;
use wellspring_os::os;

/// The time between two looks at clocks and pages.
const LOOK_INTERVAL_MS: u64 = 1000;

/// The time before a save is repeated that failed, also because the engine was not ready.
const RETRY_MS: u64 = 10_000;

pub(super) struct Tasks {
    #[cfg(target_os = "linux")]
    events: CloneEvents,
    pub(super) look_due_ms: u64,
    save_due_ms: u64,
}

impl Tasks {
    pub(super) fn new(engine: &EngineInner) -> Self {
        // The file was written when the engine was built. Without credit it is written again as soon as that gives some.
        let seed_file = engine.seed_file.as_ref();
        let has_credit = seed_file.is_some_and(|file| file.store.has_credit());
        let save_due_ms = if has_credit {
            os::now_ms() + SAVE_INTERVAL_MS
        } else {
            0
        };
        Self {
            #[cfg(target_os = "linux")]
            events: CloneEvents::default(),
            look_due_ms: 0,
            save_due_ms,
        }
    }

    /// Descriptors that become readable when a notice came.
    pub(super) fn wakes(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        #[cfg(target_os = "linux")]
        return self.events.wakes();
        #[cfg(not(target_os = "linux"))]
        core::iter::empty()
    }

    /// Answers notices, looks at the clocks and pages, and writes the seed file every ten minutes.
    pub(super) fn run(&mut self, engine: &EngineInner, now_ms: u64) {
        // One divergence answers all waiting notices.
        #[cfg(target_os = "linux")]
        if std::iter::from_fn(|| self.events.next_event()).count() > 0 {
            engine.diverge();
        }
        engine.look_for_clones(now_ms, false);
        self.look_due_ms = now_ms + LOOK_INTERVAL_MS;
        if engine.seed_file.is_some() && now_ms >= self.save_due_ms {
            let pause_ms = match engine.save_seed() {
                Ok(()) => SAVE_INTERVAL_MS,
                Err(_) => RETRY_MS,
            };
            self.save_due_ms = now_ms + pause_ms;
        }
    }

    /// Everything is due.
    pub(super) fn clock_went_back(&mut self) {
        self.look_due_ms = 0;
        self.save_due_ms = 0;
    }
}
