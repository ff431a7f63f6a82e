//! The lazy harvest: sources -> health -> queues -> pools -> mailboxes.
//!
//! There is no thread. Whoever is on a slow path when 100 ms have passed since the last harvest tries the
//! pools' lock; who gets it either reseeds or draws once on one source, whose turn it is, and the others go on.
//! That keeps it to three system calls on a reader's call. Where reads are so rare that a minute passed without a
//! reseed, all sources are drawn on at once, and the reseed follows in the same call.

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

impl Shared {
    /// The time, if it is time to harvest.
    #[inline]
    pub(super) fn harvest_due(&self) -> Option<u64> {
        let now_ms = system::now_ms();
        let last_ms = self.pools.harvested_ms.load(Ordering::Relaxed);
        (now_ms.saturating_sub(last_ms) >= RESEED_INTERVAL_MS).then_some(now_ms)
    }

    /// Harvests, if nobody else is at it: reseeds if that is due, else draws on one source.
    pub(super) fn freshen(&self, now_ms: u64, signals: &Blocked) {
        let Some(mut state) = self.pools.harvest.try_lock(signals) else {
            return;
        };
        self.pools
            .harvested_ms
            .store(now_ms.max(1), Ordering::Relaxed);
        if now_ms.saturating_sub(state.reseeded_ms) >= STALE_MS {
            state.reseeded_ms = now_ms;
            self.lock_pages_in_child();
            self.receive_root(signals);
            (0..ROUND_DRAWS).for_each(|_| self.draw_on_all(&mut state));
        }
        if !self.deliver(&mut state, now_ms, Pace::Fortuna) && !self.sources.is_empty() {
            let row = state.next_row % self.sources.len();
            state.next_row = row + 1;
            self.draw(&mut state, row, SAMPLE_BYTES);
        }
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
        (0..self.sources.len()).for_each(|row| self.draw(state, row, SEEDING_SAMPLE_BYTES));
    }

    /// Draws once on a source, and moves what all queues hold to the pools.
    fn draw(&self, state: &mut HarvestState, row: usize, bytes: usize) {
        self.draw_on(&self.sources[row], &mut state.rows[row], bytes);
        self.drain(&mut state.harvest);
    }

    fn drain(&self, harvest: &mut Harvest) {
        for queue in &self.queues {
            while let Some(event) = queue.pop() {
                harvest.absorb(&event);
            }
        }
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
