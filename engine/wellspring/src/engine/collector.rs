//! The noise side: draws on the sources, and turns their noise into seeds for the nodes.
//!
//! ```text
//! source -> health -> pools -> inlets of the nodes -> generation
//! mix    -> queue  -> pools
//! ```
//!
//! With a [harvester](super::harvester) its thread makes a round every 100 ms. Without one, readers off the hot path
//! harvest inline, in steps.

use super::nodes::{Nodes, Phase, Taps};
use super::samples::{
    CollectorState, MAX_SOURCES, PoolMeters, SEEDING_SAMPLE_BYTES, Samples, SourceEntry,
    SourceStats, this_thread,
};
use crate::error::Error;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use wellspring_core::pool::{Event, POOLS, Queue, RESEED_INTERVAL_MS, Trigger};
use wellspring_core::sha256::{DIGEST_BYTES, Sha256};
use wellspring_core::topology::Topology;
use wellspring_core::wipe;
use wellspring_os::inheritance::with_secret;
use wellspring_os::lock::Lock;
use wellspring_os::memory::{Wiped, Zeroed, try_box};
use wellspring_os::signals::SignalsBlocked;
use wellspring_os::{cpu, memory, os, sandbox};
use zeroize::Zeroize;

/// The draws on all fast sources before seeding stops for now: enough for a source that yields 32 bytes at a time.
const FIRST_DRAWS: usize = 34;

/// How long the sample of a slow source waits for the lock of the pools, in milliseconds. An order holds it for as long
/// as the fast sources take to yield 2 KiB each.
const MAX_LOCK_WAIT_MS: u32 = 1000;

/// How long an order waits for a thread that was taken off its CPU in the middle of a [`mix`](Collector::mix).
const MAX_MIX_WAIT_MS: u32 = 10;

/// The result of a round.
#[derive(Default)]
pub(super) struct Round {
    /// The events moved to the pools.
    pub(super) events: u64,
    /// The queue of mixed data was half full.
    pub(super) is_flooded: bool,
    /// A read has emptied the mailbox of a node since the last seed was posted there. `true` as well if the round could
    /// not look.
    pub(super) is_read: bool,
}

/// The sources and the pools of an engine.
pub(super) struct Collector {
    pub(super) sources: Vec<SourceEntry>,
    /// The events of slow sources that were dropped. In ordinary memory: a child process continues the count.
    pub(super) dropped_events: AtomicU64,
    pub(super) memory: Wiped<CollectorMemory>,
    /// In a box: a new engine moves over the stack, and the first read of a process must take little stack.
    pub(super) pool_meters: Box<PoolMeters>,
}

impl Collector {
    pub(super) fn new(sources: Vec<SourceEntry>, topology: &Topology) -> Result<Self, Error> {
        if sources.len() > MAX_SOURCES {
            return Err(Error::TooManySources);
        }
        let memory = Wiped::<CollectorMemory>::new(topology.system_node(0))?;
        memory.pages_locked.store(1, Ordering::Relaxed);
        Ok(Self {
            pool_meters: try_box(PoolMeters::default())?,
            sources,
            dropped_events: AtomicU64::new(0),
            memory,
        })
    }

    /// Whether there was no reseed yet, the last one is a minute old, or the clock went back since.
    pub(super) fn is_stale(&self, now_ms: u64) -> bool {
        let reseeded_ms = self.memory.reseeded_ms.load(Ordering::Relaxed);
        reseeded_ms == 0 || now_ms.abs_diff(reseeded_ms) >= STALE_MS
    }

    /// Notes that a reseed was made, or is tried because it is overdue.
    pub(super) fn note_reseed(&self, now_ms: u64) {
        self.memory.reseeded_ms.store(now_ms, Ordering::Relaxed);
    }

    /// The way of a sample to the pools.
    pub(super) fn samples(&self) -> Samples<'_> {
        Samples {
            sources: &self.sources,
            drawing_thread: &self.memory.drawing_thread,
            meters: &self.pool_meters,
        }
    }

    /// A round of the harvester: takes mixed data in, and reseeds if that is due. If `draws` is true, it draws on the
    /// fast sources first.
    ///
    /// Until the engine is ready, its readers seed it, and this does nothing: they may hold the lock of the pools now.
    /// Exception: if the fast sources were not enough, the harvester helps.
    pub(super) fn round(&self, now_ms: u64, draws: bool, nodes: &Nodes, taps: &Taps) -> Round {
        let mut round = Round {
            is_read: true,
            ..Round::default()
        };
        if !self.is_left_to_harvester(nodes) {
            return round;
        }
        let signals = SignalsBlocked::new();
        let Some(mut state) = self.memory.state.try_lock(&signals) else {
            return round;
        };
        round.is_read = nodes.are_read();
        let is_stale = draws && self.is_stale(now_ms);
        if is_stale {
            self.note_reseed(now_ms);
        }
        let (draws, bytes) = match (draws, is_stale) {
            (false, _) => (0, 0),
            (true, false) => (1, SAMPLE_BYTES),
            (true, true) => (ROUND_DRAWS, SEEDING_SAMPLE_BYTES),
        };
        let events = state.events;
        for _ in 0..draws {
            self.samples().draw_on_fast_sources(&mut state, bytes);
        }
        round.is_flooded = self.take_mixed(&mut state, MIXED_EVENTS) >= MIXED_EVENTS / 2;
        round.events = state.events.wrapping_sub(events);
        self.deliver(&mut state, now_ms, nodes, taps, &signals);
        drop(state);
        memory::erase_below();
        round
    }

    /// Draws on a slow source, without a lock, and moves its sample to the pools.
    pub(super) fn draw_slowly(&self, source: usize) {
        let mut sample = [0; SEEDING_SAMPLE_BYTES];
        if let Some(length) = self.sources[source].sample(&mut sample) {
            self.admit_slow(source, &sample[..length]);
        }
        sample.zeroize();
        memory::erase_below();
    }

    /// Moves a sample to the pools. The harvester waits for their lock, but not without end: a fast source that never
    /// returns would keep it from its other tasks.
    fn admit_slow(&self, source: usize, sample: &[u8]) {
        let signals = SignalsBlocked::new();
        for _ in 0..MAX_LOCK_WAIT_MS {
            if let Some(mut state) = self.memory.state.try_lock(&signals) {
                return self.samples().admit_slow(&mut state, source, sample);
            }
            os::pause();
        }
        let events = sample.len().div_ceil(Event::MAX_BYTES) as u64;
        self.dropped_events.fetch_add(events, Ordering::Relaxed);
    }

    /// Whether the harvester may draw and reseed now: the engine is ready, or its fast sources were not enough.
    pub(super) fn is_left_to_harvester(&self, nodes: &Nodes) -> bool {
        let insufficient = &self.memory.fast_sources_insufficient;
        nodes.phase() == Phase::Ready || insufficient.load(Ordering::Relaxed) != 0
    }

    /// Draws until the engine has reached the phase `need`, as far as its sources go.
    ///
    /// # Errors
    ///
    /// [`Error::NotSeeded`]; [`Error::SourceReadsEngine`] if a source of this engine is what reads.
    #[cold]
    pub(super) fn seed(
        &self,
        need: Phase,
        nodes: &Nodes,
        taps: &Taps,
        signals: &SignalsBlocked,
    ) -> Result<(), Error> {
        self.refuse_own_sources()?;
        self.lock_pages_in_child(nodes);
        let mut state = self.memory.state.lock(signals);
        nodes.receive_root(signals);
        if nodes.phase() >= need {
            return Ok(());
        }
        // An engine without sources is deterministic, and inherits nothing.
        let inherits = !self.sources.is_empty();
        let _ = inherits && absorb_inherited(&mut state, 0);
        self.take_mixed(&mut state, MIXED_EVENTS);
        let is_reached = |state: &mut CollectorState| {
            self.deliver(state, os::now_ms(), nodes, taps, signals);
            // One seed with little credit, for the first early reader. Later ones would spend credit that a seed needs.
            if need == Phase::Early && nodes.phase() == Phase::Empty {
                self.deliver_at(
                    Trigger::Scheduled,
                    state,
                    os::now_ms(),
                    nodes,
                    taps,
                    signals,
                );
            }
            nodes.phase() >= need
        };
        for _ in 0..FIRST_DRAWS {
            self.samples()
                .draw_on_fast_sources(&mut state, SEEDING_SAMPLE_BYTES);
            if is_reached(&mut state) {
                return Ok(());
            }
        }
        if inherits && absorb_inherited(&mut state, INHERITED_CREDIT_BITS) && is_reached(&mut state)
        {
            return Ok(());
        }
        let insufficient = &self.memory.fast_sources_insufficient;
        insufficient.store(1, Ordering::Relaxed);
        Err(Error::NotSeeded)
    }

    /// Draws on all fast sources and reseeds every node now, because an operator ordered it. The caller announces it,
    /// even after an error: data mixed in before has reached the nodes.
    pub(super) fn reseed(&self, nodes: &Nodes) -> Result<(), Error> {
        self.refuse_own_sources()?;
        let signals = SignalsBlocked::new();
        let mut state = self.memory.state.lock(&signals);
        self.take_mixed_before(&mut state);
        nodes.receive_root(&signals);
        let trigger = match nodes.phase() {
            Phase::Ready => Trigger::Forced,
            Phase::Empty | Phase::Early => Trigger::Pooled,
        };
        for _ in 0..2 {
            // A whole round: noise of every fast source reaches pool 0, and every seed is made of pool 0.
            for _ in 0..ROUND_DRAWS {
                self.samples()
                    .draw_on_fast_sources(&mut state, SEEDING_SAMPLE_BYTES);
            }
            let pools = state.distribution.accumulator();
            if pools.is_due(os::now_ms(), trigger) {
                break;
            }
        }
        let now_ms = os::now_ms();
        let is_seeded = state.distribution.order(now_ms, trigger, nodes.inlet(0));
        nodes.stir_all(state.distribution.chain(), &signals);
        if !is_seeded {
            return Err(Error::NotSeeded);
        }
        self.note_reseed(now_ms);
        self.pool_meters.copy(state.distribution.accumulator());
        Ok(())
    }

    /// Keeps data of unknown quality for the pools, without credit. Lossy: if the queue is full or busy, it is dropped.
    ///
    /// Signals are blocked for the push: a push that a handler leaves by siglongjmp keeps its place taken, and stops the queue
    /// for good.
    pub(super) fn mix(&self, data: &[u8]) {
        let counter = cpu::cycles() as u32;
        let mut event = Event::ZERO;
        if data.len() <= Event::MAX_BYTES {
            event.set(counter, 0, data, 0);
        } else {
            let mut digest = [0; Event::MAX_BYTES];
            let mut hash = Sha256::ZERO;
            hash.update(data);
            hash.finish_into(&mut digest);
            event.set(counter, 0, &digest, 0);
            wipe(&mut digest);
        }
        let _signals = SignalsBlocked::try_first();
        self.memory.mixed.push(&event);
    }

    /// Moves at most `most` events of mixed data to the pools. Returns how many there were.
    #[inline(never)]
    pub(super) fn take_mixed(&self, state: &mut CollectorState, most: usize) -> usize {
        let mut count = 0;
        while count < most && self.memory.mixed.pop_into(&mut state.event) {
            state.distribution.mix(&state.event);
            count += 1;
        }
        state.event.zeroize();
        state.events = state.events.wrapping_add(count as u64);
        count
    }

    /// Moves all data to the pools that was mixed in before this call. Threads that mix meanwhile do not prolong it.
    fn take_mixed_before(&self, state: &mut CollectorState) {
        let mut left = self.memory.mixed.len();
        for _ in 0..MAX_MIX_WAIT_MS {
            left -= self.take_mixed(state, left);
            if left == 0 {
                return;
            }
            // Another thread is in the middle of its push, and later events wait behind it.
            os::pause();
        }
    }

    /// Whether a source may yet bring the credit for a seed: it claims some, and did not fail for good when it was drawn on.
    pub(super) fn may_be_seeded(&self) -> bool {
        self.sources.iter().any(SourceEntry::may_yield_credit)
    }

    /// Starts a source again; returns whether a source has this name.
    pub(super) fn restart_source(&self, name: &str) -> bool {
        let source = self.sources.iter().find(|source| source.name == name);
        source.inspect(|source| source.restart()).is_some()
    }

    pub(super) fn stats(&self, now_ms: u64) -> Vec<SourceStats> {
        let sources = self.sources.iter();
        sources.map(|source| source.stats(now_ms)).collect()
    }

    /// A source that reads the engine which draws on it would wait for a lock that its own thread holds.
    fn refuse_own_sources(&self) -> Result<(), Error> {
        if self.memory.drawing_thread.load(Ordering::Relaxed) == this_thread() {
            return Err(Error::SourceReadsEngine);
        }
        Ok(())
    }

    /// A child process does not inherit memory locks. Its first slow read locks the pages again, here.
    pub(super) fn lock_pages_in_child(&self, nodes: &Nodes) {
        if !sandbox::is_prepared() && self.memory.pages_locked.swap(1, Ordering::Relaxed) == 0 {
            self.memory.lock_pages();
            nodes.lock_pages();
        }
    }

    /// Reseeds if that is due, and announces it to the taps. Before the engine is ready, its credit is pooled.
    pub(super) fn deliver(
        &self,
        state: &mut CollectorState,
        now_ms: u64,
        nodes: &Nodes,
        taps: &Taps,
        signals: &SignalsBlocked,
    ) {
        let trigger = match nodes.phase() {
            Phase::Ready => Trigger::Scheduled,
            Phase::Empty | Phase::Early => Trigger::Pooled,
        };
        self.deliver_at(trigger, state, now_ms, nodes, taps, signals);
    }

    #[inline(never)]
    fn deliver_at(
        &self,
        trigger: Trigger,
        state: &mut CollectorState,
        now_ms: u64,
        nodes: &Nodes,
        taps: &Taps,
        signals: &SignalsBlocked,
    ) {
        let distribution = &mut state.distribution;
        if !distribution.accumulator().is_due(now_ms, trigger) || !nodes.make_room(0, signals) {
            return;
        }
        let root = nodes.inlet(0);
        let Some(mut round) = distribution.deliver(now_ms, trigger, nodes.in_use(), root) else {
            return;
        };
        while let Some(number) = distribution.next(&mut round) {
            let inlet = nodes.inlet(number);
            if round.wants(number, inlet) && nodes.make_room(number, signals) {
                distribution.post(&mut round, number, inlet);
            }
        }
        if nodes.phase() != Phase::Ready {
            nodes.receive_root(signals);
        }
        self.note_reseed(now_ms);
        self.pool_meters.copy(distribution.accumulator());
        taps.announce();
    }
}

// Harvests on readers' calls, where no harvester makes them.
//
// A round of such harvests takes 100 ms and is cut into steps of about a microsecond. A read makes one of them:
//
// ```text
// look     for signs of a copy of the machine
// sample   take a sample for an event from a fast source
// admit    test it, and hash it into a pool
// sample   the same with the next fast source
// admit
// deliver  at most 4 events of mixed data to the pools; and a seed if one is due
// ```
//
// The reader that sets the time of the next step makes the step that is due. The others go on. If no reseed happened
// for a minute, or the clock went back, one reader makes a whole harvest: it draws 8 times on all fast sources, and
// reseeds.
//
// A read that fetches a key or fills a buffer leaves the step to the next read of its thread, which has ready bytes: so
// no read makes both. It does so for 4 ms. After that, any read off the hot path makes the step.

/// A part of a harvest, for one read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HarvestStep {
    Look,
    Sample,
    Admit,
    Deliver,
    Whole,
}

/// The fate of the step that was due when a read began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HarvestedStep {
    /// No step was due, or another thread has made it.
    None,
    /// The read made it, and is late.
    Made,
    /// The next read of this thread has to make it, and must not take the hot path.
    LeftToNextRead,
}

/// The steps of a round, in their order.
const ROUND: [HarvestStep; 6] = [
    HarvestStep::Look,
    HarvestStep::Sample,
    HarvestStep::Admit,
    HarvestStep::Sample,
    HarvestStep::Admit,
    HarvestStep::Deliver,
];

/// The time from one step to the next.
const STEP_INTERVAL_MS: u64 = RESEED_INTERVAL_MS / ROUND.len() as u64;

/// How long a step that is due is left to a read with ready bytes. The clock shows steps of this length.
const LEAVE_MS: u64 = 4;

/// The most events of mixed data that a step moves to the pools: SHA-256 takes about 200 ns for each, which goes to its
/// pool and to the hash for the next order.
const STEP_EVENTS: usize = 4;

/// The time of a harvest.
#[derive(Clone, Copy)]
pub(super) struct Due {
    pub(super) now_ms: u64,
    /// The clock showed a later time before: this process is probably a restored copy.
    pub(super) clock_went_back: bool,
}

impl Collector {
    /// Whether a reader has to harvest inline now. Not while a harvester keeps its pace.
    #[inline]
    pub(super) fn inline_harvest_due(&self) -> Option<Due> {
        let now_ms = os::now_ms();
        let clock_went_back = now_ms < self.memory.scheduled_ms.load(Ordering::Relaxed);
        let is_due = now_ms >= self.memory.inline_from_ms.load(Ordering::Relaxed);
        (is_due || clock_went_back).then_some(Due {
            now_ms,
            clock_went_back,
        })
    }

    /// No reader harvests inline before `from_ms`.
    pub(super) fn schedule_inline_harvest(&self, now_ms: u64, from_ms: u64) {
        self.memory.inline_from_ms.store(from_ms, Ordering::Relaxed);
        self.memory.scheduled_ms.store(now_ms, Ordering::Relaxed);
    }

    /// Whether a read that has other work may leave the step that is due to the next one.
    pub(super) fn may_leave_step(&self, due: Due) -> bool {
        let from_ms = self.memory.inline_from_ms.load(Ordering::Relaxed);
        !due.clock_went_back && due.now_ms < from_ms.saturating_add(LEAVE_MS)
    }

    /// Takes the step that is due, and schedules the next. Returns `None` if another thread has taken it.
    pub(super) fn take_step(&self, due: Due) -> Option<HarvestStep> {
        let (memory, relaxed) = (&self.memory, Ordering::Relaxed);
        let from_ms = memory.inline_from_ms.load(relaxed);
        if due.now_ms < from_ms && !due.clock_went_back {
            return None;
        }
        let next_ms = due.now_ms + STEP_INTERVAL_MS;
        let exchanged = memory
            .inline_from_ms
            .compare_exchange(from_ms, next_ms, relaxed, relaxed);
        exchanged.ok()?;
        memory.scheduled_ms.store(due.now_ms, relaxed);
        if due.clock_went_back || self.is_stale(due.now_ms) {
            return Some(HarvestStep::Whole);
        }
        let number = memory.inline_steps.fetch_add(1, relaxed);
        Some(ROUND[number as usize % ROUND.len()])
    }

    /// Makes a step, unless another thread has the lock of the pools. The caller looks for clones.
    pub(super) fn harvest_step(
        &self,
        step: HarvestStep,
        now_ms: u64,
        nodes: &Nodes,
        taps: &Taps,
        signals: &SignalsBlocked,
    ) {
        let Some(mut state) = self.memory.state.try_lock(signals) else {
            return;
        };
        let samples = self.samples();
        match step {
            HarvestStep::Look => {}
            HarvestStep::Sample => {
                // A sample that still waits, because the lock was busy when it was to be admitted, comes first.
                if !samples.admit_waiting(&mut state) {
                    samples.sample_next_source(&mut state);
                }
            }
            HarvestStep::Admit => {
                samples.admit_waiting(&mut state);
            }
            HarvestStep::Deliver => {
                self.take_mixed(&mut state, STEP_EVENTS);
                self.deliver(&mut state, now_ms, nodes, taps, signals);
            }
            HarvestStep::Whole => {
                self.note_reseed(now_ms);
                self.lock_pages_in_child(nodes);
                for _ in 0..ROUND_DRAWS {
                    samples.draw_on_fast_sources(&mut state, SEEDING_SAMPLE_BYTES);
                }
                self.take_mixed(&mut state, STEP_EVENTS);
                self.deliver(&mut state, now_ms, nodes, taps, signals);
            }
        }
    }
}

// The memory, its sizes, and the secret that a child inherits.

/// The bytes asked of a source in a round of the harvester: 2 events.
pub(super) const SAMPLE_BYTES: usize = 64;

/// The draws that take a source twice around the 32 pools: wherever it starts, pool 0 gets two events of 32 bytes,
/// which suffice for a reseed, if the source yields all bytes it is asked for.
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
    /// The thread that is inside a source now, by [`this_thread`]; 0 for no thread.
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

/// The credit of a secret, in bits: all of them, because only a seeded parent draws one for its child.
const INHERITED_CREDIT_BITS: u32 = 8 * DIGEST_BYTES as u32;

/// Writes the next secret of the chain, and replaces the end of the chain by another hash of itself, from which this
/// secret cannot be computed. Returns `false` if the process got no secret from its parent.
#[inline(never)]
pub(super) fn next_secret(secret: &mut [u8; DIGEST_BYTES]) -> bool {
    let made = with_secret(|line| {
        let mut hash = Sha256::ZERO;
        hash.update(b"out");
        hash.update(line);
        hash.finish_into(secret);
        hash.update(b"on");
        hash.update(line);
        hash.finish_into(line);
    });
    made.is_some()
}

/// Puts two secrets into pool 0, as many bytes as a reseed takes, if this process has a secret from its parent. Returns
/// whether it has.
fn absorb_inherited(state: &mut CollectorState, credit_bits: u32) -> bool {
    let mut secret = [0; Event::MAX_BYTES];
    let has_secret = (0..2).all(|_| {
        let has_secret = next_secret(&mut secret);
        if has_secret {
            state.event.set(0, 0, &secret, credit_bits);
            state.distribution.absorb(&state.event);
        }
        has_secret
    });
    state.event.zeroize();
    wipe(&mut secret);
    has_secret
}
