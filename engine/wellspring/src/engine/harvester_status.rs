//! The statistics of a harvester, which its thread writes.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use wellspring_os::memory::Zeroed;

const ABSENT: u32 = 0;
const ALIVE: u32 = 1;
const ENDED: u32 = 2;

/// Wiped on fork, as the thread is.
#[repr(C)]
pub(super) struct HarvesterStatus {
    state: AtomicU32,
    _reserved: u32,
    rounds: AtomicU64,
    events: AtomicU64,
    cpu_time_us: AtomicU64,
    last_round_ms: AtomicU64,
    /// From this time on the thread is late.
    late_from_ms: AtomicU64,
}

impl Zeroed for HarvesterStatus {
    const ZERO: Self = Self {
        state: AtomicU32::new(ABSENT),
        _reserved: 0,
        rounds: AtomicU64::new(0),
        events: AtomicU64::new(0),
        cpu_time_us: AtomicU64::new(0),
        last_round_ms: AtomicU64::new(0),
        late_from_ms: AtomicU64::new(0),
    };
}

/// Statistics of a harvester.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HarvesterStats {
    /// Whether it keeps its pace. If not (it panicked, or a source or a disk keeps it waiting), readers harvest inline.
    pub alive: bool,
    /// How often it looked for mixed data and at sources.
    pub rounds: u64,
    /// The events it moved to the pools: from fast sources, and of mixed data.
    pub events: u64,
    /// The time it has spent on a CPU, in microseconds.
    pub cpu_time_us: u64,
    /// The time since its last round ended, or since its start, in milliseconds.
    pub last_round_ms_ago: u64,
}

impl HarvesterStatus {
    /// Marks the thread as alive; `false` if it was.
    pub(super) fn begin(&self, now_ms: u64) -> bool {
        self.last_round_ms.store(now_ms, Ordering::Relaxed);
        self.state.swap(ALIVE, Ordering::AcqRel) != ALIVE
    }

    pub(super) fn end(&self) {
        self.state.store(ENDED, Ordering::Release);
        self.late_from_ms.store(0, Ordering::Relaxed);
    }

    /// Whether this process has no such thread and never had: it is a child of the process that started it.
    pub(super) fn is_absent(&self) -> bool {
        self.state.load(Ordering::Acquire) == ABSENT
    }

    pub(super) fn count_round(&self, events: u64) {
        self.rounds.fetch_add(1, Ordering::Relaxed);
        self.events.fetch_add(events, Ordering::Relaxed);
    }

    pub(super) fn report(&self, now_ms: u64, cpu_time_us: u64, late_from_ms: u64) {
        self.cpu_time_us.store(cpu_time_us, Ordering::Relaxed);
        self.last_round_ms.store(now_ms, Ordering::Relaxed);
        self.late_from_ms.store(late_from_ms, Ordering::Relaxed);
    }

    /// `None` if this process has no harvester.
    pub(super) fn stats(&self, now_ms: u64) -> Option<HarvesterStats> {
        let state = self.state.load(Ordering::Relaxed);
        let is_in_time = now_ms < self.late_from_ms.load(Ordering::Relaxed);
        (state != ABSENT).then(|| HarvesterStats {
            alive: state == ALIVE && is_in_time,
            rounds: self.rounds.load(Ordering::Relaxed),
            events: self.events.load(Ordering::Relaxed),
            cpu_time_us: self.cpu_time_us.load(Ordering::Relaxed),
            last_round_ms_ago: now_ms.saturating_sub(self.last_round_ms.load(Ordering::Relaxed)),
        })
    }
}
