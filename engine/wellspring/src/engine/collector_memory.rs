//! The memory of the collector: wiped on fork. It has the pools, the samples of fast sources, and what was mixed in.

use super::source_entry::SourceState;
use core::sync::atomic::{AtomicU32, AtomicU64};
use wellspring_core::distribution::Distribution;
use wellspring_core::event::Event;
use wellspring_core::pool::POOLS;
use wellspring_core::queue::Queue;
use wellspring_os::lock::Lock;
use wellspring_os::zeroed::Zeroed;

/// The most sources of one engine.
pub(super) const MAX_SOURCES: usize = 16;

/// The bytes asked of a source while the engine seeds itself: 8 events.
pub(super) const SEEDING_SAMPLE_BYTES: usize = 256;

/// The bytes asked of a source in a round of the harvester: 2 events.
pub(super) const SAMPLE_BYTES: usize = 64;

/// The draws that take a source twice around the 32 pools: from whatever pool it goes on, pool 0 gets two events of 32
/// bytes, which suffice for a reseed, if the source yields all that it is asked for.
pub(super) const ROUND_DRAWS: usize = 2 * POOLS * Event::MAX_BYTES / SEEDING_SAMPLE_BYTES;

/// After a minute without a reseed, a harvest makes the next reseed due.
pub(super) const STALE_MS: u64 = 60_000;

/// The events of [`mix`](super::Engine::mix) that wait for the pools at most. When there are as many, the next is dropped.
pub(super) const MIXED_EVENTS: usize = 64;

/// Wiped on fork.
#[repr(C)]
pub(super) struct CollectorMemory {
    /// From this time on a reader makes the next step of an inline harvest.
    pub(super) inline_from_ms: AtomicU64,
    /// When that time was set. A clock that shows less went back.
    pub(super) scheduled_ms: AtomicU64,
    /// The steps so far, which tell what the next one does.
    pub(super) inline_steps: AtomicU64,
    /// When a reseed was last made, or tried because it was overdue; 0 for never.
    pub(super) reseeded_ms: AtomicU64,
    /// The thread that is inside a source now, by [`this_thread`]; 0 for none.
    pub(super) drawing_thread: AtomicU64,
    /// 1 after the fast sources did not suffice for a seed.
    pub(super) fast_sources_insufficient: AtomicU32,
    /// 1 after this process locked the engine's pages: a child process does not inherit these locks.
    pub(super) pages_locked: AtomicU32,
    pub(super) state: Lock<CollectorState>,
    /// The place of data that outsiders mix in. Samples do not use it, so a flood takes no place from them.
    pub(super) mixed: Queue<MIXED_EVENTS>,
}

impl Zeroed for CollectorMemory {
    const ZERO: Self = Self {
        inline_from_ms: AtomicU64::new(0),
        scheduled_ms: AtomicU64::new(0),
        inline_steps: AtomicU64::new(0),
        reseeded_ms: AtomicU64::new(0),
        drawing_thread: AtomicU64::new(0),
        fast_sources_insufficient: AtomicU32::new(0),
        pages_locked: AtomicU32::new(0),
        state: Lock::ZERO,
        mixed: Queue::ZERO,
    };
}

/// The state behind the lock of the pools. Samples are here while they are tested, cut and hashed. A sample of a slow
/// source is drawn on the stack, where an event of [`mix`](super::Engine::mix) is too, and both are wiped.
#[repr(C)]
pub(super) struct CollectorState {
    pub(super) distribution: Distribution,
    pub(super) sources: [SourceState; MAX_SOURCES],
    pub(super) sample: [u8; SEEDING_SAMPLE_BYTES],
    pub(super) event: Event,
    /// The source that the next inline harvest draws on.
    pub(super) next_source: u64,
    /// The length of the sample that waits for its tests, 0 if none does; and its source.
    pub(super) waiting_bytes: u64,
    pub(super) waiting_source: u64,
    /// The events that the pools took so far.
    pub(super) events: u64,
}

impl Zeroed for CollectorState {
    const ZERO: Self = Self {
        distribution: Distribution::ZERO,
        sources: [const { SourceState::ZERO }; MAX_SOURCES],
        sample: [0; SEEDING_SAMPLE_BYTES],
        event: Event::ZERO,
        next_source: 0,
        waiting_bytes: 0,
        waiting_source: 0,
        events: 0,
    };
}

/// The time of a harvest.
#[derive(Clone, Copy)]
pub(super) struct Due {
    pub(super) now_ms: u64,
    /// The clock showed a later time before: this process is probably a restored copy.
    pub(super) clock_went_back: bool,
}

/// A number that no other thread alive has.
pub(super) fn this_thread() -> u64 {
    thread_local!(static MARK: u8 = const { 0 });
    MARK.with(|mark| core::ptr::from_ref(mark).addr() as u64)
}
