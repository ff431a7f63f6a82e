//! The harvester: a thread that gathers noise all the time, so that no reader has to.
//!
//! It ends with the last clone of its engine. A child process has no such thread: the memory that says so is wiped
//! there, and its readers harvest on their own calls, as they do in an engine without a harvester. They do the same
//! when the thread has ended by a panic, or was not heard of for too long.

use super::Shared;
use super::chore::Chore;
use crate::Error;
use bytemuck::Zeroable;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use wellspring_core::pool::RESEED_INTERVAL_MS;
use wellspring_core::source::Speed;
use wellspring_sys::bell::{Bell, Woken};
use wellspring_sys::signals::{self, Blocked};
use wellspring_sys::system;

/// Virtual memory; what a round touches of it is some 10 KiB, but chores and sources are others' code.
const STACK_BYTES: usize = 128 * 1024;

/// How late the thread may be for a round before readers harvest on their own calls.
const PATIENCE_MS: u64 = 2000;

/// How soon queues that were half full are looked at again: at 64 events each, a CPU may feed 6400 a second.
const FLOOD_PACE_MS: u64 = 10;

/// The least time between two looks at the chores' descriptors, whatever they have to read.
const DEAF_MS: u64 = 10;

/// The resolution of the clock, about.
const TICK_MS: u64 = 4;

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

    /// The longest time between two rounds while nobody reads, in milliseconds: from one round to the next the
    /// time doubles up to this. Default: 3200.
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

const ABSENT: u32 = 0;
const ALIVE: u32 = 1;
const ENDED: u32 = 2;

/// What the thread says of itself. Wiped on fork, as the thread is.
#[derive(Zeroable)]
#[repr(C)]
pub(super) struct HarvesterMemory {
    state: AtomicU32,
    _reserved: AtomicU32,
    rounds: AtomicU64,
    events: AtomicU64,
    cpu_time_us: AtomicU64,
    last_round_ms: AtomicU64,
    /// When the thread is late.
    late_from_ms: AtomicU64,
}

/// What can be said of a harvester.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HarvesterStats {
    /// Whether it keeps its pace. If not (it panicked, or a source or a disk keeps it waiting), readers harvest on
    /// their own calls.
    pub alive: bool,
    /// How often it looked at queues and sources.
    pub rounds: u64,
    /// The events it moved from the queues to the pools.
    pub events: u64,
    /// The time it has spent on a CPU, in microseconds.
    pub cpu_time_us: u64,
    /// How long ago its last round ended, or it was started, in milliseconds.
    pub last_round_ms_ago: u64,
}

impl Shared {
    pub(super) fn harvester_stats(&self) -> Option<HarvesterStats> {
        let memory = &self.pools.harvester;
        let state = memory.state.load(Ordering::Relaxed);
        let now_ms = system::now_ms();
        let in_time = now_ms < memory.late_from_ms.load(Ordering::Relaxed);
        (state != ABSENT).then(|| HarvesterStats {
            alive: state == ALIVE && in_time,
            rounds: memory.rounds.load(Ordering::Relaxed),
            events: memory.events.load(Ordering::Relaxed),
            cpu_time_us: memory.cpu_time_us.load(Ordering::Relaxed),
            last_round_ms_ago: now_ms.saturating_sub(memory.last_round_ms.load(Ordering::Relaxed)),
        })
    }
}

/// Ends the thread when the last clone of the engine is dropped.
pub(super) struct Tether {
    engine: Weak<Shared>,
    reins: Arc<Reins>,
    thread: Option<JoinHandle<()>>,
}

struct Reins {
    end: AtomicBool,
    bell: Bell,
}

impl Tether {
    /// Starts the thread; `None` if this process has one at work on this engine.
    pub(super) fn start(
        engine: &Arc<Shared>,
        harvester: Harvester,
        chores: Vec<Box<dyn Chore>>,
    ) -> Result<Option<Self>, Error> {
        let bell = Bell::new().ok_or(Error::Thread)?;
        let memory = &engine.pools.harvester;
        if memory.state.swap(ALIVE, Ordering::AcqRel) == ALIVE {
            return Ok(None);
        }
        let now_ms = system::now_ms();
        memory.last_round_ms.store(now_ms, Ordering::Relaxed);
        engine.leave_harvest_until(now_ms + PATIENCE_MS);
        let reins = Arc::new(Reins {
            end: AtomicBool::new(false),
            bell,
        });
        let worker = Worker {
            engine: Arc::downgrade(engine),
            reins: reins.clone(),
            chores: chores.into_iter().map(|chore| (chore, 0)).collect(),
            slow_due_ms: vec![0; engine.sources.len()],
            pace_ms: harvester.pace_ms,
            harvester,
            harvest_ms: 0,
            draw_ms: 0,
            listens_from_ms: 0,
        };
        // The thread begins with the mask of this one, and no handler runs on it even before it blocks them.
        let _signals = Blocked::new();
        let builder = std::thread::Builder::new()
            .name("wellspring".into())
            .stack_size(STACK_BYTES);
        match builder.spawn(|| worker.run()) {
            Ok(thread) => Ok(Some(Self {
                engine: Arc::downgrade(engine),
                reins,
                thread: Some(thread),
            })),
            Err(_) => {
                engine.end_harvester();
                Err(Error::Thread)
            }
        }
    }
}

impl Drop for Tether {
    /// Waits for the thread to finish its round and its chores. Not in a child process, which has no such thread,
    /// and whose bell would ring in the parent.
    fn drop(&mut self) {
        let state = |engine: Arc<Shared>| engine.pools.harvester.state.load(Ordering::Acquire);
        let Some(thread) = self.thread.take() else {
            return;
        };
        if self.engine.upgrade().map(state) == Some(ABSENT) {
            return core::mem::forget(thread);
        }
        self.reins.end.store(true, Ordering::Release);
        self.reins.bell.ring();
        let _ = thread.join();
    }
}

impl Shared {
    /// Leaves the harvest to the thread, as long as that is heard of in time.
    fn leave_harvest_until(&self, late_from_ms: u64) {
        let (pools, relaxed) = (&self.pools, Ordering::Relaxed);
        pools.harvester.late_from_ms.store(late_from_ms, relaxed);
        pools.lazy_from_ms.store(late_from_ms, relaxed);
    }

    fn end_harvester(&self) {
        self.pools.harvester.state.store(ENDED, Ordering::Release);
        self.leave_harvest_until(0);
    }
}

/// The thread's own side.
struct Worker {
    /// Not an `Arc`, so that the thread keeps no engine alive; it is one during a round only.
    engine: Weak<Shared>,
    reins: Arc<Reins>,
    harvester: Harvester,
    /// With the time at which each wants to be called again.
    chores: Vec<(Box<dyn Chore>, u64)>,
    /// When each source, if it is a slow one, is to be drawn on again.
    slow_due_ms: Vec<u64>,
    /// The time between two rounds at present.
    pace_ms: u64,
    /// When the queues are to be looked at again.
    harvest_ms: u64,
    /// When fast sources are to be drawn on again.
    draw_ms: u64,
    /// When the chores' descriptors are to be looked at again.
    listens_from_ms: u64,
}

impl Worker {
    fn run(mut self) {
        /// However the thread ends.
        struct End(Weak<Shared>);

        impl Drop for End {
            fn drop(&mut self) {
                if let Some(engine) = self.0.upgrade() {
                    engine.end_harvester();
                }
            }
        }

        signals::block_for_good();
        let _end = End(self.engine.clone());
        let mut woken = Woken::Time;
        while let Some(engine) = self.engine.upgrade() {
            if self.reins.end.load(Ordering::Acquire) {
                let finish = |(chore, _): &mut (Box<dyn Chore>, _)| chore.finish(&engine);
                return self.chores.iter_mut().for_each(finish);
            }
            let due_ms = self.work(&engine, woken);
            let timeout_ms = due_ms.saturating_sub(system::now_ms()).max(TICK_MS);
            self.report(&engine, timeout_ms);
            drop(engine);
            woken = self.sleep(timeout_ms);
        }
    }

    /// Does what is due, and says when to come back.
    fn work(&mut self, engine: &Shared, woken: Woken) -> u64 {
        let now_ms = system::now_ms();
        if now_ms >= self.harvest_ms {
            self.harvest(engine, now_ms);
        }
        let slow_ms = self.draw_on_slow_sources(engine, now_ms);
        for (chore, due_ms) in &mut self.chores {
            if now_ms >= *due_ms || woken == Woken::Descriptor {
                *due_ms = chore.run(engine, now_ms);
            }
        }
        let chores_ms = self.chores.iter().map(|&(_, due_ms)| due_ms);
        chores_ms
            .chain([self.harvest_ms, slow_ms])
            .min()
            .unwrap_or(0)
    }

    fn harvest(&mut self, engine: &Shared, now_ms: u64) {
        let draws = now_ms >= self.draw_ms;
        let round = engine.harvest_round(now_ms, draws);
        let memory = &engine.pools.harvester;
        memory.rounds.fetch_add(1, Ordering::Relaxed);
        memory.events.fetch_add(round.events, Ordering::Relaxed);
        if draws {
            self.pace_ms = match round.is_read {
                true => self.harvester.pace_ms,
                false => (2 * self.pace_ms).min(self.harvester.idle_pace_ms),
            };
            self.draw_ms = now_ms + self.pace_ms;
        }
        self.harvest_ms = match round.is_flooded && round.is_read {
            true => now_ms + FLOOD_PACE_MS,
            false => self.draw_ms,
        };
    }

    /// Draws on each slow source whose time has come, one draw each; says when the next one's comes. While nobody
    /// reads, they wait longer, as the rounds do.
    fn draw_on_slow_sources(&mut self, engine: &Shared, now_ms: u64) -> u64 {
        if !engine.is_helped() {
            return self.harvest_ms;
        }
        let stretch = (self.pace_ms / self.harvester.pace_ms).max(1);
        let mut next_ms = u64::MAX;
        for (row, due_ms) in self.slow_due_ms.iter_mut().enumerate() {
            let Speed::Slow { interval_ms } = engine.sources[row].source.speed() else {
                continue;
            };
            if now_ms >= *due_ms {
                engine.draw_slowly(row);
                *due_ms = now_ms.saturating_add(interval_ms.saturating_mul(stretch));
            }
            next_ms = next_ms.min(*due_ms);
        }
        next_ms
    }

    fn report(&self, engine: &Shared, timeout_ms: u64) {
        let now_ms = system::now_ms();
        let memory = &engine.pools.harvester;
        let cpu_time_us = system::thread_cpu_time_us();
        memory.cpu_time_us.store(cpu_time_us, Ordering::Relaxed);
        memory.last_round_ms.store(now_ms, Ordering::Relaxed);
        engine.leave_harvest_until(
            now_ms
                .saturating_add(timeout_ms)
                .saturating_add(PATIENCE_MS),
        );
    }

    /// Sleeps. A descriptor that stays readable does not keep the thread awake.
    fn sleep(&mut self, timeout_ms: u64) -> Woken {
        let listens = system::now_ms() >= self.listens_from_ms;
        let timeout_ms = if listens {
            timeout_ms
        } else {
            timeout_ms.min(DEAF_MS)
        };
        let chores = self.chores.iter().filter(|_| listens);
        let woken = self
            .reins
            .bell
            .wait(chores.filter_map(|(chore, _)| chore.wakes()), timeout_ms);
        if woken == Woken::Descriptor {
            self.listens_from_ms = system::now_ms() + DEAF_MS;
        }
        woken
    }
}
