//! The loop of the harvester's thread: its work and its schedule.

use super::Harvester;
use super::status::HarvesterStatus;
use super::task::BackgroundTask;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use wellspring_os::waker::{WakeReason, Waker};
use wellspring_os::{os, signals};

/// A thread that is later than this for a round leaves harvesting to the readers.
pub(super) const LATE_AFTER_MS: u64 = 2000;

/// How soon a queue of mixed data that was half full is emptied again: at 64 events each time, 6400 a second.
const FLOOD_PACE_MS: u64 = 10;

/// The least time between two looks at the descriptors of the tasks, whatever they have to read.
const MIN_POLL_MS: u64 = 10;

/// The resolution of the clock, about.
const TICK_MS: u64 = 4;

/// The work of an engine that the thread needs. `EngineInner` is its only implementation; the trait keeps this file
/// independent of it.
pub(in super::super) trait Harvests: Send + Sync + 'static {
    /// The statistics that the thread writes about itself.
    fn status(&self) -> Option<&HarvesterStatus>;

    /// Readers start to harvest inline at `from_ms`. The thread sets a later time in each round.
    fn leave_to_readers_from(&self, now_ms: u64, from_ms: u64);

    /// Takes what was mixed in and reseeds if that is due. If `draws` is true, it draws on the fast sources first.
    fn round(&self, now_ms: u64, draws: bool) -> Round;

    /// The number of sources.
    fn source_count(&self) -> usize;

    /// The time between two draws on a source; `None` if it is a fast one.
    fn slow_interval_ms(&self, source: usize) -> Option<u64>;

    /// Whether the thread may use the pools: an engine without a seed is left to its readers at first.
    fn is_left_to_harvester(&self) -> bool;

    /// Draws once on a slow source.
    fn draw_slowly(&self, source: usize);

    /// The clock shows an earlier time than before: this process is probably a restored copy.
    fn clock_went_back(&self, now_ms: u64);
}

/// The result of a round.
#[derive(Default)]
pub(in super::super) struct Round {
    /// The events moved to the pools.
    pub(in super::super) events: u64,
    /// The queue of mixed data was half full.
    pub(in super::super) is_flooded: bool,
    /// A read has emptied the mailbox of a node since the last seed was posted there. `true` also if the round could not
    /// look.
    pub(in super::super) is_read: bool,
}

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
pub(super) struct Worker<E: Harvests> {
    /// Weak, so that the thread keeps no engine alive. It is an `Arc` during a round only.
    engine: Weak<E>,
    control: Arc<Control>,
    harvester: Harvester,
    /// The tasks, each with the time at which it wants to run again.
    tasks: Vec<(Box<dyn BackgroundTask<E>>, u64)>,
    /// The time of the next draw on each source, if it is a slow one.
    slow_due_ms: Vec<u64>,
    /// The time between two rounds at present.
    pace_ms: u64,
    /// The time of the next look at what was mixed in.
    round_due_ms: u64,
    /// The time of the next draw on the fast sources.
    draw_due_ms: u64,
    /// The time of the next look at the descriptors of the tasks.
    poll_due_ms: u64,
    /// The time of the last look at the clock.
    last_ms: u64,
}

/// Leaves harvesting to the readers when the thread ends, by a panic too.
struct EndOnDrop<E: Harvests>(Weak<E>);

impl<E: Harvests> Drop for EndOnDrop<E> {
    fn drop(&mut self) {
        if let Some(engine) = self.0.upgrade() {
            if let Some(status) = engine.status() {
                status.end();
            }
            engine.leave_to_readers_from(os::now_ms(), 0);
        }
    }
}

impl<E: Harvests> Worker<E> {
    pub(super) fn new(
        engine: &Arc<E>,
        control: Arc<Control>,
        harvester: Harvester,
        tasks: Vec<Box<dyn BackgroundTask<E>>>,
    ) -> Self {
        Self {
            engine: Arc::downgrade(engine),
            control,
            tasks: tasks.into_iter().map(|task| (task, 0)).collect(),
            slow_due_ms: vec![0; engine.source_count()],
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
            report(&*engine, timeout_ms);
            drop(engine);
            reason = self.sleep(timeout_ms);
        }
    }

    /// Does what is due, and returns the time of what is due next.
    fn work(&mut self, engine: &E, reason: WakeReason) -> u64 {
        let now_ms = self.look_at_clock(engine);
        if now_ms >= self.round_due_ms {
            self.harvest(engine, now_ms);
        }
        let slow_ms = self.draw_on_slow_sources(engine, now_ms);
        for (task, due_ms) in &mut self.tasks {
            if now_ms >= *due_ms || reason == WakeReason::Descriptor {
                *due_ms = task.run(engine, now_ms);
            }
        }
        let tasks_ms = self.tasks.iter().map(|&(_, due_ms)| due_ms);
        let due_ms = tasks_ms.chain([self.round_due_ms, slow_ms]).min();
        due_ms.unwrap_or(now_ms)
    }

    /// The time. If the clock went back, everything is due.
    fn look_at_clock(&mut self, engine: &E) -> u64 {
        let now_ms = os::now_ms();
        if now_ms < self.last_ms {
            self.round_due_ms = 0;
            self.draw_due_ms = 0;
            self.poll_due_ms = 0;
            self.slow_due_ms.fill(0);
            self.tasks.iter_mut().for_each(|(_, due_ms)| *due_ms = 0);
            engine.clock_went_back(now_ms);
        }
        self.last_ms = now_ms;
        now_ms
    }

    fn harvest(&mut self, engine: &E, now_ms: u64) {
        let draws = now_ms >= self.draw_due_ms;
        let round = engine.round(now_ms, draws);
        if let Some(status) = engine.status() {
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
    /// grow, like those of the rounds.
    fn draw_on_slow_sources(&mut self, engine: &E, now_ms: u64) -> u64 {
        if !engine.is_left_to_harvester() {
            return self.round_due_ms;
        }
        let stretch = (self.pace_ms / self.harvester.pace_ms).max(1);
        let mut next_ms = u64::MAX;
        for (source, due_ms) in self.slow_due_ms.iter_mut().enumerate() {
            let Some(interval_ms) = engine.slow_interval_ms(source) else {
                continue;
            };
            if now_ms >= *due_ms {
                engine.draw_slowly(source);
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
        let tasks = self.tasks.iter().filter(|_| polls);
        let descriptors = tasks.flat_map(|(task, _)| task.wakes());
        let reason = self.control.waker.wait(descriptors, timeout_ms);
        if reason == WakeReason::Descriptor {
            self.poll_due_ms = os::now_ms() + MIN_POLL_MS;
        }
        reason
    }
}

/// Reports that the thread is alive, and sets the time from which readers harvest if it is late.
fn report<E: Harvests>(engine: &E, timeout_ms: u64) {
    let now_ms = os::now_ms();
    let late_from_ms = now_ms
        .saturating_add(timeout_ms)
        .saturating_add(LATE_AFTER_MS);
    if let Some(status) = engine.status() {
        status.report(now_ms, os::thread_cpu_time_us(), late_from_ms);
    }
    engine.leave_to_readers_from(now_ms, late_from_ms);
}
