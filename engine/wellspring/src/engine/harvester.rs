//! The harvester: a thread that gathers noise, so that no reader has to.
//!
//! ```text
//! HarvesterHandle  starts the thread, and ends it with the last clone of its engine
//! Worker           the loop of the thread: its work and its schedule
//! Tasks            its other tasks: notices of clones, the seed file
//! ```
//!
//! A child process made by `fork` has no such thread: the memory that says so is wiped there, and its readers harvest
//! inline, as in an engine without a harvester. They do the same when the thread has panicked, or is 2 s late.

#[cfg(target_os = "linux")]
use crate::clone_detection::CloneEvents;
use crate::engine::inner::EngineInner;
use crate::error::Error;
use crate::seed_file::SAVE_INTERVAL_MS;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use wellspring_core::pool::RESEED_INTERVAL_MS;
use wellspring_os::descriptor::BorrowedFd;
use wellspring_os::memory::Wiped;
use wellspring_os::shared::{Shared, Weak};
use wellspring_os::signals::SignalsBlocked;
use wellspring_os::waker::{WakeReason, Waker};
use wellspring_os::{os, signals};

/// A running harvester, which ends when the last clone of its engine drops this. Not by its own type: the drop of that
/// joins a thread, and would be linked into programs that start none.
pub(super) type Running = Arc<dyn Send + Sync>;

/// How a harvester works; [`EngineBuilder::harvester`](crate::EngineBuilder::harvester) starts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Harvester {
    pace_ms: u64,
    idle_pace_ms: u64,
}

impl Harvester {
    /// The time between two rounds while the engine is read, in milliseconds. Default, and least: 100, which is the
    /// least time between two reseeds (FS&K 9.5.5).
    #[must_use]
    pub const fn pace_ms(mut self, pace_ms: u64) -> Self {
        self.pace_ms = if pace_ms > RESEED_INTERVAL_MS {
            pace_ms
        } else {
            RESEED_INTERVAL_MS
        };
        self
    }

    /// The longest time between two rounds without reads, in milliseconds: from one round to the next the time
    /// doubles up to this. Default: 3200.
    #[must_use]
    pub const fn idle_pace_ms(mut self, idle_pace_ms: u64) -> Self {
        self.idle_pace_ms = idle_pace_ms;
        self
    }
}

impl Default for Harvester {
    fn default() -> Self {
        Self {
            pace_ms: RESEED_INTERVAL_MS,
            idle_pace_ms: 32 * RESEED_INTERVAL_MS,
        }
    }
}

/// Virtual memory. A round touches about 10 KiB of it; sources are the code of others.
const STACK_BYTES: usize = 128 * 1024;

/// The thread, ended on drop.
pub(super) struct HarvesterHandle {
    engine: Weak<EngineInner>,
    control: Arc<Control>,
    thread: Option<JoinHandle<()>>,
}

impl HarvesterHandle {
    /// Starts the thread; `None` if this process runs one for this engine.
    pub(super) fn start(
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

/// A thread that is later than this for a round leaves harvesting to the readers.
pub(super) const LATE_AFTER_MS: u64 = 2000;

/// How soon a queue of mixed data that was half full is emptied again: at 64 events each time, 6400 a second.
const FLOOD_PACE_MS: u64 = 10;

/// The least time between two looks at the descriptors of the tasks, whatever they have to read.
const MIN_POLL_MS: u64 = 10;

/// The resolution of the clock, about.
const TICK_MS: u64 = 4;

/// How the handle ends the thread.
pub(super) struct Control {
    ends: AtomicBool,
    waker: Waker,
}

impl Control {
    /// `None` if the system has no descriptor left.
    pub(super) fn new() -> Option<Self> {
        Some(Self {
            ends: AtomicBool::new(false),
            waker: Waker::new()?,
        })
    }

    pub(super) fn end(&self) {
        self.ends.store(true, Ordering::Release);
        self.waker.wake();
    }
}

/// The thread's own side.
pub(super) struct Worker {
    /// Weak, so that the thread keeps no engine alive. It owns during a round only.
    engine: Weak<EngineInner>,
    control: Arc<Control>,
    harvester: Harvester,
    tasks: Tasks,
    /// The time of the next draw on each source, if it is a slow one.
    slow_due_ms: Vec<u64>,
    /// The time between two rounds at present.
    pace_ms: u64,
    /// The time of the next look for mixed data.
    round_due_ms: u64,
    /// The time of the next draw on the fast sources.
    draw_due_ms: u64,
    /// The time of the next look at the descriptors of the tasks.
    poll_due_ms: u64,
    /// The time of the last look at the clock.
    last_ms: u64,
}

/// Leaves harvesting to the readers when the thread ends, by a panic too.
struct EndOnDrop(Weak<EngineInner>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        if let Some(engine) = self.0.upgrade() {
            if let Some(status) = engine.harvester.get() {
                status.end();
            }
            engine.collector.schedule_inline_harvest(os::now_ms(), 0);
        }
    }
}

impl Worker {
    pub(super) fn new(
        engine: &Shared<EngineInner>,
        control: Arc<Control>,
        harvester: Harvester,
    ) -> Self {
        Self {
            engine: Shared::downgrade(engine),
            control,
            tasks: Tasks::new(engine),
            slow_due_ms: vec![0; engine.collector.sources.len()],
            pace_ms: harvester.pace_ms,
            harvester,
            round_due_ms: 0,
            draw_due_ms: 0,
            poll_due_ms: 0,
            last_ms: 0,
        }
    }

    pub(super) fn run(mut self) {
        signals::block_for_good();
        let _end = EndOnDrop(self.engine.clone());
        let mut reason = WakeReason::Timeout;
        while let Some(engine) = self.engine.upgrade() {
            if self.control.ends.load(Ordering::Acquire) {
                return;
            }
            let due_ms = self.work(&engine, reason);
            let timeout_ms = due_ms.saturating_sub(os::now_ms()).max(TICK_MS);
            report(&engine, timeout_ms);
            drop(engine);
            reason = self.sleep(timeout_ms);
        }
    }

    /// Does the work that is due, and returns the time when more is due.
    fn work(&mut self, engine: &EngineInner, reason: WakeReason) -> u64 {
        let now_ms = self.look_at_clock(engine);
        if now_ms >= self.round_due_ms {
            self.harvest(engine, now_ms);
        }
        let slow_ms = self.draw_on_slow_sources(engine, now_ms);
        if now_ms >= self.tasks.look_due_ms || reason == WakeReason::Descriptor {
            self.tasks.run(engine, now_ms);
        }
        self.tasks.look_due_ms.min(self.round_due_ms).min(slow_ms)
    }

    /// The time. If the clock went back, everything is due.
    fn look_at_clock(&mut self, engine: &EngineInner) -> u64 {
        let now_ms = os::now_ms();
        if now_ms < self.last_ms {
            self.round_due_ms = 0;
            self.draw_due_ms = 0;
            self.poll_due_ms = 0;
            self.slow_due_ms.fill(0);
            self.tasks.clock_went_back();
            engine.look_for_clones(now_ms, true);
        }
        self.last_ms = now_ms;
        now_ms
    }

    fn harvest(&mut self, engine: &EngineInner, now_ms: u64) {
        let draws = now_ms >= self.draw_due_ms;
        let round = engine
            .collector
            .round(now_ms, draws, &engine.nodes, &engine.taps);
        if let Some(status) = engine.harvester.get() {
            status.count_round(round.events);
        }
        if draws {
            self.pace_ms = if round.is_read {
                self.harvester.pace_ms
            } else {
                let slower_ms = self.pace_ms.saturating_mul(2);
                slower_ms.min(self.harvester.idle_pace_ms)
            };
            self.draw_due_ms = now_ms.saturating_add(self.pace_ms);
        }
        self.round_due_ms = if round.is_flooded && round.is_read {
            now_ms + FLOOD_PACE_MS
        } else {
            self.draw_due_ms
        };
    }

    /// Draws once on each slow source that is due; returns the time of the next. Without reads the intervals
    /// grow, as between rounds.
    fn draw_on_slow_sources(&mut self, engine: &EngineInner, now_ms: u64) -> u64 {
        if !engine.collector.is_left_to_harvester(&engine.nodes) {
            return self.round_due_ms;
        }
        let stretch = (self.pace_ms / self.harvester.pace_ms).max(1);
        let mut next_ms = u64::MAX;
        let sources = engine.collector.sources.iter();
        for ((number, source), due_ms) in sources.enumerate().zip(&mut self.slow_due_ms) {
            let Some(interval_ms) = source.slow_interval_ms else {
                continue;
            };
            if now_ms >= *due_ms {
                engine.collector.draw_slowly(number);
                *due_ms = now_ms.saturating_add(interval_ms.saturating_mul(stretch));
            }
            next_ms = next_ms.min(*due_ms);
        }
        next_ms
    }

    /// Sleeps. A descriptor that stays readable does not keep the thread awake.
    fn sleep(&mut self, timeout_ms: u64) -> WakeReason {
        let polls = os::now_ms() >= self.poll_due_ms;
        let timeout_ms = if polls {
            timeout_ms
        } else {
            timeout_ms.min(MIN_POLL_MS)
        };
        let descriptors = self.tasks.wakes().filter(|_| polls);
        let reason = self.control.waker.wait(descriptors, timeout_ms);
        if reason == WakeReason::Descriptor {
            self.poll_due_ms = os::now_ms() + MIN_POLL_MS;
        }
        reason
    }
}

/// Reports that the thread is alive, and sets the time from which readers harvest if it is late.
fn report(engine: &EngineInner, timeout_ms: u64) {
    let now_ms = os::now_ms();
    let late_from_ms = now_ms
        .saturating_add(timeout_ms)
        .saturating_add(LATE_AFTER_MS);
    if let Some(status) = engine.harvester.get() {
        status.report(now_ms, os::thread_cpu_time_us(), late_from_ms);
    }
    engine
        .collector
        .schedule_inline_harvest(now_ms, late_from_ms);
}

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
            engine.diverge(&[]);
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
