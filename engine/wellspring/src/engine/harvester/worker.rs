//! The loop of the harvester's thread: its work and its schedule.

use super::Harvester;
use super::tasks::Tasks;
use crate::engine::inner::EngineInner;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use wellspring_os::shared::{Shared, Weak};
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

    /// Does what is due, and returns the time of what is due next.
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
        let round = engine.collector.round(now_ms, draws, engine.seed_target());
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
    /// grow, like those of the rounds.
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
