//! The noise side: draws on the sources, and turns their noise into seeds for the nodes.
//!
//! ```text
//! source -> health -> queue -> pools -> inlets of the nodes -> generation
//! ```
//!
//! With a [harvester](super::harvester) its thread makes a round every 100 ms. Without one, readers on the slow path
//! harvest [inline](super::inline_harvest).

use super::collector_memory::{
    CollectorMemory, CollectorState, Drained, MAX_SOURCES, QUEUE_EVENTS, QueueMemory, ROUND_DRAWS,
    SAMPLE_BYTES, SEEDING_SAMPLE_BYTES, STALE_MS, this_thread,
};
use super::harvester::Round;
use super::inherited;
use super::nodes::Nodes;
use super::phase::Phase;
use super::pool_meters::PoolMeters;
use super::source_entry::SourceEntry;
use super::stats::SourceStats;
use super::taps::Taps;
use crate::error::Error;
use core::sync::atomic::Ordering;
use wellspring_core::event::Event;
use wellspring_core::pool::Pace;
use wellspring_core::sha256::Sha256;
use wellspring_core::topology::Topology;
use wellspring_core::wipe;
use wellspring_sys::lock::Guard;
use wellspring_sys::memory::Wiped;
use wellspring_sys::signals::Blocked;
use wellspring_sys::{cpu, os, sandbox, stack};
use zeroize::Zeroize;

/// The draws on all fast sources before seeding stops for now: enough for a source that yields 32 bytes at a time.
const FIRST_DRAWS: usize = 34;

/// The nodes that get seeds, and the taps to which the seeds are announced.
#[derive(Clone, Copy)]
pub(super) struct SeedTarget<'a> {
    pub(super) nodes: &'a Nodes,
    pub(super) taps: &'a Taps,
}

impl Round {
    fn add(&mut self, drained: Drained) {
        self.events += drained.all as u64;
        self.is_flooded |= drained.fullest >= QUEUE_EVENTS / 2;
    }
}

/// The sources, the queues and the pools of an engine.
pub(super) struct Collector {
    sources: Vec<SourceEntry>,
    queues: Vec<Wiped<QueueMemory>>,
    pub(super) memory: Wiped<CollectorMemory>,
    /// In its own place: a new engine moves over the stack, of which the first read of a process promises to take little.
    pub(super) pool_meters: Box<PoolMeters>,
}

impl Collector {
    /// Takes the sources, unless it fails: then the caller drops them, whose code for that is in each program already.
    #[inline(never)]
    pub(super) fn new(sources: &mut Vec<SourceEntry>, topology: &Topology) -> Result<Self, Error> {
        if sources.len() > MAX_SOURCES {
            return Err(Error::TooManySources);
        }
        let mut queues = Vec::with_capacity(topology.cpus());
        for cpu in 0..topology.cpus() {
            queues.push(Wiped::new(topology.system_node(topology.node_of(cpu)))?);
        }
        let memory = Wiped::<CollectorMemory>::new(topology.system_node(0))?;
        memory.pages_locked.store(1, Ordering::Relaxed);
        Ok(Self {
            pool_meters: Box::default(),
            sources: core::mem::take(sources),
            queues,
            memory,
        })
    }

    /// The queues, one for each CPU.
    pub(super) fn queues(&self) -> &[Wiped<QueueMemory>] {
        &self.queues
    }

    /// Whether the last reseed is a minute old, or the clock went back since.
    pub(super) fn is_stale(&self, now_ms: u64) -> bool {
        now_ms.abs_diff(self.memory.reseeded_ms.load(Ordering::Relaxed)) >= STALE_MS
    }

    /// Notes that a reseed was made, or is tried because it is overdue.
    pub(super) fn note_reseed(&self, now_ms: u64) {
        self.memory.reseeded_ms.store(now_ms, Ordering::Relaxed);
    }

    /// The sources.
    pub(super) fn sources(&self) -> &[SourceEntry] {
        &self.sources
    }

    /// Takes the lock of the pools, unless another thread has it.
    pub(super) fn try_lock<'a>(
        &'a self,
        signals: &'a Blocked,
    ) -> Option<Guard<'a, CollectorState>> {
        self.memory.state.try_lock(signals)
    }

    /// A round of the harvester: empties the queues and reseeds if that is due. If `draws` is true, it draws on the
    /// fast sources first.
    ///
    /// Until the engine is ready, its readers seed it, and this does nothing: they may hold the lock of the pools now.
    /// Exception: if the fast sources were not enough, the harvester helps.
    pub(super) fn round(&self, now_ms: u64, draws: bool, target: SeedTarget<'_>) -> Round {
        let mut round = Round {
            is_read: true,
            ..Round::default()
        };
        if !self.is_left_to_harvester(target.nodes) {
            return round;
        }
        let signals = Blocked::new();
        let Some(mut state) = self.memory.state.try_lock(&signals) else {
            return round;
        };
        round.is_read = target.nodes.are_read();
        let is_stale = draws && round.is_read && self.is_stale(now_ms);
        if is_stale {
            self.note_reseed(now_ms);
        }
        let (draws, bytes) = match (draws, is_stale) {
            (false, _) => (0, 0),
            (true, false) => (1, SAMPLE_BYTES),
            (true, true) => (ROUND_DRAWS, SEEDING_SAMPLE_BYTES),
        };
        for _ in 0..draws {
            for source in self.fast_sources() {
                self.draw(&mut state, source, bytes);
            }
            round.add(self.drain(&mut state));
        }
        round.add(self.drain(&mut state));
        self.deliver(&mut state, now_ms, Pace::Fortuna, target, &signals);
        drop(state);
        stack::erase_below();
        round
    }

    /// Draws on a slow source, without a lock, and moves its sample to the pools.
    pub(super) fn draw_slowly(&self, source: usize) {
        let mut sample = [0; SEEDING_SAMPLE_BYTES];
        if let Some(length) = self.sources[source].sample(&mut sample) {
            let signals = Blocked::new();
            // The lock is busy: drop the sample.
            if let Some(mut state) = self.memory.state.try_lock(&signals) {
                let CollectorState { sources, event, .. } = &mut *state;
                let push = &mut |event: &Event| self.push(event);
                self.sources[source].admit(
                    &mut sources[source],
                    &mut sample[..length],
                    event,
                    push,
                );
                self.drain(&mut state);
            }
        }
        sample.zeroize();
        stack::erase_below();
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
        target: SeedTarget<'_>,
        signals: &Blocked,
    ) -> Result<(), Error> {
        self.refuse_own_sources()?;
        self.lock_pages_in_child(target.nodes);
        let mut state = self.memory.state.lock(signals);
        target.nodes.receive_root(signals);
        if target.nodes.phase() >= need {
            return Ok(());
        }
        // An engine without sources is deterministic, and inherits nothing.
        let inherits = !self.sources.is_empty();
        let _ = inherits && inherited::absorb(&mut state, 0);
        for _ in 0..FIRST_DRAWS {
            self.draw_on_fast_sources(&mut state);
            self.deliver(&mut state, os::now_ms(), Pace::Fortuna, target, signals);
            target.nodes.receive_root(signals);
            if target.nodes.phase() >= need {
                return Ok(());
            }
        }
        if inherits && inherited::absorb(&mut state, inherited::CREDIT_BITS) {
            self.deliver(&mut state, os::now_ms(), Pace::Ordered, target, signals);
            target.nodes.receive_root(signals);
            if target.nodes.phase() >= need {
                return Ok(());
            }
        }
        let insufficient = &self.memory.fast_sources_insufficient;
        insufficient.store(1, Ordering::Relaxed);
        Err(Error::NotSeeded)
    }

    /// Draws on all fast sources and reseeds now, because an operator ordered it.
    pub(super) fn reseed(&self, target: SeedTarget<'_>) -> Result<(), Error> {
        self.refuse_own_sources()?;
        let signals = Blocked::new();
        let mut state = self.memory.state.lock(&signals);
        for _ in 0..2 {
            target.nodes.receive_root(&signals);
            // A whole round: noise of every fast source reaches pool 0, and every seed is made of pool 0.
            (0..ROUND_DRAWS).for_each(|_| self.draw_on_fast_sources(&mut state));
            if self.deliver(&mut state, os::now_ms(), Pace::Ordered, target, &signals) {
                return Ok(());
            }
        }
        Err(Error::NotSeeded)
    }

    /// Sends data of unknown quality to the pools by turns, without credit. Lossy: a full or busy queue drops it.
    ///
    /// `block` blocks signals if the caller has not: a push that a handler leaves by siglongjmp keeps its place taken, and
    /// stops the queue for good.
    pub(super) fn mix<B>(&self, data: &[u8], block: impl FnOnce() -> B) {
        let counter = cpu::cycles() as u32;
        let pool = self.memory.mixed_events.fetch_add(1, Ordering::Relaxed) as usize;
        let mut event = Event::ZERO;
        if data.len() <= Event::MAX_BYTES {
            event.set(counter, pool, data, 0);
        } else {
            let mut digest = [0; Event::MAX_BYTES];
            let mut hash = Sha256::ZERO;
            hash.update(data);
            hash.finish_into(&mut digest);
            event.set(counter, pool, &digest, 0);
            wipe(&mut digest);
        }
        let _signals = block();
        self.push(&event);
    }

    /// Starts a source again; returns whether there is one of this name.
    pub(super) fn restart_source(&self, name: &str) -> bool {
        let source = self.sources.iter().find(|source| source.name() == name);
        source.inspect(|source| source.restart()).is_some()
    }

    #[inline]
    pub(super) fn stats(&self, now_ms: u64) -> Vec<SourceStats> {
        let sources = self.sources.iter();
        sources.map(|source| source.stats(now_ms)).collect()
    }

    /// The events dropped so far because a queue was full or busy.
    pub(super) fn events_dropped(&self) -> u64 {
        self.queues.iter().map(|queue| queue.0.dropped()).sum()
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
            self.queues.iter().for_each(Wiped::lock_pages);
            nodes.lock_pages();
        }
    }

    fn fast_sources(&self) -> impl Iterator<Item = usize> {
        (0..self.sources.len()).filter(|&source| self.sources[source].is_fast())
    }

    #[inline(never)]
    pub(super) fn draw_on_fast_sources(&self, state: &mut CollectorState) {
        for source in self.fast_sources() {
            self.draw(state, source, SEEDING_SAMPLE_BYTES);
            self.drain(state);
        }
    }

    /// Adds the event to the queue of this CPU.
    #[inline(never)]
    pub(super) fn push(&self, event: &Event) -> bool {
        self.queues[os::current_cpu() % self.queues.len()]
            .0
            .push(event)
    }

    /// Moves what all queues hold to the pools.
    #[inline(never)]
    pub(super) fn drain(&self, state: &mut CollectorState) -> Drained {
        let mut drained = Drained::default();
        for queue in &self.queues {
            // At most 64 events, a full queue: a thread that fills it as fast as this empties it must not keep us here.
            let mut count = 0;
            while count < QUEUE_EVENTS && queue.0.pop_into(&mut state.event) {
                self.absorb(state);
                count += 1;
            }
            drained.fullest = drained.fullest.max(count);
            drained.all += count;
        }
        state.event.zeroize();
        drained
    }

    /// Adds the event to its pool.
    #[inline(never)]
    pub(super) fn absorb(&self, state: &mut CollectorState) {
        state.distribution.absorb(&state.event);
        let pool = state.event.pool();
        self.pool_meters
            .copy_one(state.distribution.accumulator(), pool);
    }

    /// Reseeds if that is due, and announces it to the taps.
    ///
    /// Every reseed goes to node 0, and a full mailbox there stops all reseeds. So if any node has taken its seed since
    /// the last reseed and node 0 has not, because all readers are on other nodes, node 0 takes its seed here.
    pub(super) fn deliver(
        &self,
        state: &mut CollectorState,
        now_ms: u64,
        pace: Pace,
        target: SeedTarget<'_>,
        signals: &Blocked,
    ) -> bool {
        let nodes = target.nodes;
        if nodes.are_read() && !nodes.inlet(0).is_empty() {
            nodes.receive_root(signals);
        }
        let inlet = |number: usize| nodes.inlet(number);
        let delivered = state
            .distribution
            .deliver(now_ms, pace, nodes.in_use(), inlet);
        if delivered {
            self.note_reseed(now_ms);
            self.pool_meters.copy(state.distribution.accumulator());
            target.taps.announce();
        }
        delivered
    }
}
