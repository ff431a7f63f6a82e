//! The harvest: sources -> health -> queues -> pools -> mailboxes.
//!
//! Where there is a [harvester](super::harvester), its thread makes a round every 100 ms. Without one, whoever is on
//! a slow path when 100 ms have passed since the last harvest tries the pools' lock; who gets it either reseeds or
//! draws once on one source, whose turn it is, and the others go on. That keeps it to three system calls on a reader's
//! call. Where reads are so rare that a minute passed without a reseed, all sources are drawn on at once, and the
//! reseed follows in the same call.

use super::builder::MAX_SOURCES;
use super::rows::RowState;
use super::{Phase, Shared};
use crate::Error;
use core::sync::atomic::Ordering;
use sha2::{Digest, Sha256};
use wellspring_core::harvest::Event;
use wellspring_core::node::{Harvest, Pace};
use wellspring_core::pool::RESEED_INTERVAL_MS;
use wellspring_sys::memory::Wiped;
use wellspring_sys::signals::Blocked;
use wellspring_sys::{cpu, system};
use zeroize::Zeroize;

/// What a source is asked for on a reader's call: 2 events. getrandom(2) takes half a microsecond for it
/// when warm.
const SAMPLE_BYTES: usize = 64;

/// What a source is asked for by a seeding: 8 events.
pub(super) const SEEDING_SAMPLE_BYTES: usize = 256;

/// The draws that take a source once around the pools and past pool 0 again, which then has its 64 bytes, if the
/// source yields all that a seeding asks for.
const ROUND_DRAWS: usize = 5;

/// The draws on all sources before an engine gives up seeding itself for now: enough for a source that yields
/// an event of 32 bytes at a time.
const FIRST_DRAWS: usize = 34;

/// What a queue holds.
const QUEUE_EVENTS: usize = 64;

/// How old the last reseed may be before a harvest makes the next one due: a minute of use.
const STALE_MS: u64 = 60_000;

/// What the owner of the pools has. Behind their lock.
#[derive(Default)]
pub(super) struct HarvestState {
    pub(super) harvest: Harvest,
    rows: [RowState; MAX_SOURCES],
    /// Whose turn the next draw is.
    next_row: usize,
    /// When a reseed was last made or tried for being overdue.
    reseeded_ms: u64,
}

/// What the queues held.
#[derive(Default)]
struct Drained {
    fullest: usize,
    all: usize,
}

/// What a round of the harvester found.
#[derive(Default)]
pub(super) struct Round {
    /// How many events it moved to the pools.
    pub(super) events: u64,
    /// Whether a queue was half full.
    pub(super) is_flooded: bool,
    /// Whether someone has read since the last reseed: node 0 took its seed.
    pub(super) is_read: bool,
}

impl Round {
    fn add(&mut self, drained: Drained) {
        self.events += drained.all as u64;
        self.is_flooded |= drained.fullest >= QUEUE_EVENTS / 2;
    }
}

impl Shared {
    /// The time, if it is time to harvest on a reader's call. Never, while a harvester keeps its pace.
    #[inline]
    pub(super) fn harvest_due(&self) -> Option<u64> {
        let now_ms = system::now_ms();
        (now_ms >= self.pools.lazy_from_ms.load(Ordering::Relaxed)).then_some(now_ms)
    }

    /// Harvests, if nobody else is at it: reseeds if that is due, else draws on one source.
    pub(super) fn freshen(&self, now_ms: u64, signals: &Blocked) {
        let Some(mut state) = self.pools.harvest.try_lock(signals) else {
            return;
        };
        self.pools
            .lazy_from_ms
            .store(now_ms + RESEED_INTERVAL_MS, Ordering::Relaxed);
        self.look_for_copies(now_ms);
        if now_ms.saturating_sub(state.reseeded_ms) >= STALE_MS {
            state.reseeded_ms = now_ms;
            self.lock_pages_in_child();
            self.receive_root(signals);
            (0..ROUND_DRAWS).for_each(|_| self.draw_on_all(&mut state));
        }
        if !self.deliver(&mut state, now_ms, Pace::Fortuna) {
            let in_turn = (0..self.sources.len()).map(|step| state.next_row + step);
            let mut rows = in_turn.map(|row| row % self.sources.len());
            if let Some(row) = rows.find(|&row| self.sources[row].is_fast()) {
                state.next_row = row + 1;
                self.draw(&mut state, row, SAMPLE_BYTES);
            }
        }
    }

    /// A round of the harvester: empties the queues, reseeds if that is due, and, if it `draws`, draws on the fast
    /// sources.
    ///
    /// An engine without a seed is left to its readers, who may be at the pools at this moment: unless its fast
    /// sources alone did not suffice them.
    pub(super) fn harvest_round(&self, now_ms: u64, draws: bool) -> Round {
        let mut round = Round {
            is_read: true,
            ..Round::default()
        };
        if !self.is_helped() {
            return round;
        }
        let signals = Blocked::new();
        let Some(mut state) = self.pools.harvest.try_lock(&signals) else {
            return round;
        };
        round.is_read = self.nodes[0].inlet.is_empty();
        if draws {
            let is_stale = round.is_read && now_ms.saturating_sub(state.reseeded_ms) >= STALE_MS;
            let draws = if is_stale { ROUND_DRAWS } else { 1 };
            if is_stale {
                state.reseeded_ms = now_ms;
            }
            for _ in 0..draws {
                let bytes = if is_stale {
                    SEEDING_SAMPLE_BYTES
                } else {
                    SAMPLE_BYTES
                };
                for row in self.fast_rows() {
                    self.draw_on(&self.sources[row], &mut state.rows[row], bytes);
                }
                round.add(self.drain(&mut state.harvest));
            }
        } else {
            round.add(self.drain(&mut state.harvest));
        }
        self.deliver(&mut state, now_ms, Pace::Fortuna);
        round
    }

    /// Draws on a slow source, without a lock, and takes what it yielded to the pools.
    pub(super) fn draw_slowly(&self, row: usize) {
        let source = &self.sources[row];
        let mut sample = [0; SEEDING_SAMPLE_BYTES];
        if let Some(length) = source.sample(&mut sample) {
            let signals = Blocked::new();
            // Taken: an operator reseeds. Noise is lossy.
            if let Some(mut state) = self.pools.harvest.try_lock(&signals) {
                self.admit(source, &mut state.rows[row], &mut sample[..length]);
                self.drain(&mut state.harvest);
            }
        }
        sample.zeroize();
    }

    /// Whether the pools are the harvester's too.
    pub(super) fn is_helped(&self) -> bool {
        self.phase() != Phase::Empty || self.pools.starves.load(Ordering::Relaxed) != 0
    }

    /// Seeds an engine that is not seeded, as far as its sources go.
    #[cold]
    pub(super) fn seed(&self, signals: &Blocked) -> Result<(), Error> {
        self.lock_pages_in_child();
        let mut state = self.pools.harvest.lock(signals);
        for _ in 0..FIRST_DRAWS {
            self.receive_root(signals);
            if self.phase() != Phase::Empty {
                return Ok(());
            }
            self.draw_on_all(&mut state);
            self.deliver(&mut state, system::now_ms(), Pace::Fortuna);
        }
        self.pools.starves.store(1, Ordering::Relaxed);
        Err(Error::NotSeeded)
    }

    /// Locks the engine's pages in a child process, whose first read comes by here.
    fn lock_pages_in_child(&self) {
        if self.pools.locked.swap(1, Ordering::Relaxed) == 0 {
            self.pools.lock_pages();
            self.nodes.iter().for_each(Wiped::lock_pages);
            self.queues.iter().for_each(Wiped::lock_pages);
        }
    }

    pub(super) fn reseed(&self) -> Result<u64, Error> {
        let signals = Blocked::new();
        let mut state = self.pools.harvest.lock(&signals);
        for _ in 0..2 {
            self.receive_root(&signals);
            // A whole round, so that every source has a part in pool 0, which every seed is made of.
            (0..ROUND_DRAWS).for_each(|_| self.draw_on_all(&mut state));
            if self.deliver(&mut state, system::now_ms(), Pace::Ordered) {
                return Ok(self.generation.current());
            }
        }
        self.generation.bump();
        Err(Error::NotSeeded)
    }

    pub(super) fn mix(&self, data: &[u8]) {
        let cycles = cpu::cycles();
        let destination = cycles as usize;
        let event = match data.len() {
            ..=Event::MAX_BYTES => Event::new(cycles as u32, destination, data, 0),
            _ => Event::new(cycles as u32, destination, &Sha256::digest(data), 0),
        };
        self.push(&event);
    }

    fn draw_on_all(&self, state: &mut HarvestState) {
        for row in self.fast_rows() {
            self.draw(state, row, SEEDING_SAMPLE_BYTES);
        }
    }

    /// The sources that may be drawn on by anyone.
    fn fast_rows(&self) -> impl Iterator<Item = usize> {
        (0..self.sources.len()).filter(|&row| self.sources[row].is_fast())
    }

    /// Draws once on a source, and moves what all queues hold to the pools.
    fn draw(&self, state: &mut HarvestState, row: usize, bytes: usize) {
        self.draw_on(&self.sources[row], &mut state.rows[row], bytes);
        self.drain(&mut state.harvest);
    }

    /// Moves what all queues hold to the pools, and says how many events the fullest held, and all.
    fn drain(&self, harvest: &mut Harvest) -> Drained {
        let mut drained = Drained::default();
        for queue in &self.queues {
            // Not more than it holds: whoever feeds it as fast as this empties it shall not keep us here.
            let events = (0..QUEUE_EVENTS).map_while(|_| queue.pop());
            let count = events.map(|event| harvest.absorb(&event)).count();
            drained.fullest = drained.fullest.max(count);
            drained.all += count;
        }
        drained
    }

    /// Reseeds if it is due, and tells the taps.
    fn deliver(&self, state: &mut HarvestState, now_ms: u64, pace: Pace) -> bool {
        let nodes = match self.phase() {
            Phase::Ready => self.nodes.len(),
            Phase::Empty | Phase::Early => 1,
        };
        let inlet = |number: usize| &self.nodes[number].inlet;
        let delivered = state.harvest.deliver(now_ms, pace, nodes, inlet);
        if delivered {
            state.reseeded_ms = now_ms;
            self.generation.bump();
        }
        delivered
    }
}
