//! The four read modes.

use super::memory::{NestedState, OutermostState};
use super::{Phase, Shared};
use crate::{Error, Mode};
use core::sync::atomic::Ordering;
use wellspring_core::KEY_BYTES;
use wellspring_core::generator::Reservation;
use wellspring_core::node::Node;
use wellspring_core::tap::Tap;
use wellspring_sys::cpu;
use wellspring_sys::nest::{DEPTHS, Fresh, Level, Owned, State};
use wellspring_sys::signals::Blocked;
use wellspring_sys::system;
use zeroize::Zeroize;

impl Shared {
    /// The hot path of `PerThread`: from the thread's outermost tap, if that has enough of this generation.
    #[inline(always)]
    pub(crate) fn take(&self, destination: &mut [u8]) -> bool {
        let from_tap = |state: &mut OutermostState| {
            state.tap.is_current(self.generation.current()) && state.tap.take(destination)
        };
        let seen = self.copies.watched.seen();
        self.mode == Mode::PerThread
            && self.nest.outermost(from_tap) == Some(true)
            && self.copies.watched.now() == seen
    }

    /// Any read, waiting for the first seed.
    #[cold]
    #[inline(never)]
    pub(crate) fn fill_slowly(&self, destination: &mut [u8]) {
        while self.read(destination).is_err() {
            system::pause();
        }
    }

    /// Any read, without waiting for the first seed.
    #[cold]
    #[inline(never)]
    pub(crate) fn read(&self, destination: &mut [u8]) -> Result<(), Error> {
        self.unless_copied(|| self.read_once(destination))
    }

    fn read_once(&self, destination: &mut [u8]) -> Result<(), Error> {
        if self.mode == Mode::PerThread {
            let node = || self.local_node() as u32;
            let tapped = self
                .nest
                .with(node, |level| self.read_level(level, destination));
            // Deeper than the thread has taps, or out of memory: a key for this read alone.
            return tapped.unwrap_or_else(|| self.read_reserved(self.local_node(), destination));
        }
        if let Some(now_ms) = self.harvest_due() {
            self.freshen(now_ms, &Blocked::new());
        }
        match self.mode {
            Mode::Canonical => self.read_canonical(destination),
            Mode::Concurrent => self.read_reserved(0, destination),
            Mode::PerNode | Mode::PerThread => self.read_reserved(self.local_node(), destination),
        }
    }

    fn read_level(
        &self,
        level: &mut Level<'_, OutermostState, NestedState>,
        destination: &mut [u8],
    ) -> Result<(), Error> {
        let is_current = |level: &mut Level<'_, _, _>| {
            let generation = self.generation.current();
            match level.state() {
                State::Outermost(OutermostState { tap, .. }) => tap.is_current(generation),
                State::Nested(NestedState { tap, .. }) => tap.is_current(generation),
            }
        };
        let due = self.harvest_due();
        if due.is_some() || !is_current(level) {
            let signals = Blocked::new();
            if let Some(now_ms) = due {
                self.freshen(now_ms, &signals);
            }
            if !is_current(level) {
                self.rekey_depths(level, &signals)?;
            }
        }
        match level.state_and_fresh() {
            (State::Outermost(state), fresh) => self.read_tap(&mut state.tap, fresh, destination),
            (State::Nested(state), fresh) => self.read_tap(&mut state.tap, fresh, destination),
        }
        Ok(())
    }

    /// Any read of a tap that someone owns, waiting for the first seed.
    #[cold]
    #[inline(never)]
    pub(crate) fn fill_owned_slowly<const B: usize>(
        &self,
        tap: &mut Owned<Tap<B>>,
        destination: &mut [u8],
    ) {
        while self.read_owned(tap, destination).is_err() {
            system::pause();
        }
    }

    /// Any read of a tap that someone owns, without waiting for the first seed.
    #[cold]
    #[inline(never)]
    pub(crate) fn read_owned<const B: usize>(
        &self,
        tap: &mut Owned<Tap<B>>,
        destination: &mut [u8],
    ) -> Result<(), Error> {
        self.unless_copied(|| self.read_owned_once(tap, destination))
    }

    fn read_owned_once<const B: usize>(
        &self,
        tap: &mut Owned<Tap<B>>,
        destination: &mut [u8],
    ) -> Result<(), Error> {
        let node = || self.local_node() as u32;
        let tapped = tap.with(node, |tap, fresh| {
            let due = self.harvest_due();
            if due.is_some() || !tap.is_current(self.generation.current()) {
                let signals = Blocked::new();
                if let Some(now_ms) = due {
                    self.freshen(now_ms, &signals);
                }
                let generation = self.generation.current();
                if !tap.is_current(generation) {
                    let mut keys = [[0; KEY_BYTES]];
                    self.fetch_keys(&mut keys, &signals)?;
                    tap.rekey(&keys[0], generation);
                    keys.as_flattened_mut().zeroize();
                }
            }
            self.read_tap(tap, fresh, destination);
            Ok(())
        });
        tapped.unwrap_or_else(|| self.read_reserved(self.local_node(), destination))
    }

    /// Any read of a tap that has a key of the present generation.
    fn read_tap<const B: usize>(
        &self,
        tap: &mut Tap<B>,
        mut fresh: Fresh<'_>,
        destination: &mut [u8],
    ) {
        let mix = |noise: &mut [u8; KEY_BYTES]| {
            if self.mixes_fresh {
                // A copy of the machine copies the system's generator as well, whose output is the same in both
                // until the system is told or reseeds itself, a minute later. The cycle counter is not, unless
                // both refill in the very same cycle; it parts the keys, and the key in it keeps the secret.
                let _ = fresh.fill(noise);
                let cycles = cpu::cycles().to_le_bytes();
                noise
                    .iter_mut()
                    .zip(cycles)
                    .for_each(|(noise, cycle)| *noise ^= cycle);
            }
            self.mixes_fresh
        };
        tap.read(self.backend, mix, destination);
    }

    /// Fetches keys for this depth and all deeper ones at once, so that a signal handler finds its tap ready.
    fn rekey_depths(
        &self,
        level: &mut Level<'_, OutermostState, NestedState>,
        signals: &Blocked,
    ) -> Result<(), Error> {
        let generation = self.generation.current();
        let mut keys = [[0; KEY_BYTES]; DEPTHS];
        self.fetch_keys(&mut keys, signals)?;
        let (outermost, nested) = level.states(signals);
        if let Some(state) = outermost {
            state.tap.rekey(&keys[0], generation);
        }
        for (state, key) in nested.iter_mut().zip(&keys[1..]) {
            state.tap.rekey(key, generation);
        }
        keys.as_flattened_mut().zeroize();
        Ok(())
    }

    /// Keys for taps, from the node of the CPU this thread runs on. The generation was read before.
    fn fetch_keys(&self, keys: &mut [[u8; KEY_BYTES]], signals: &Blocked) -> Result<(), Error> {
        let keys = keys.as_flattened_mut();
        let mut reservation = Reservation::default();
        self.reserve(self.local_node(), keys.len(), signals, &mut reservation)?;
        // No handler runs, so nobody forks meanwhile.
        reservation.generate(self.backend, keys);
        Ok(())
    }

    /// random(4) with concurrent_read=1, on a node: the lock is held to set the output aside, not to make it.
    fn read_reserved(&self, number: usize, destination: &mut [u8]) -> Result<(), Error> {
        loop {
            let (number, incarnation) = {
                let mut reservation = Reservation::default();
                let signals = Blocked::new();
                let found = self.reserve(number, destination.len(), &signals, &mut reservation)?;
                drop(signals);
                reservation.generate(self.backend, destination);
                found
            };
            // In a child that was forked meanwhile, by a signal handler, the parent makes the same bytes.
            if self.nodes[number].is(incarnation) {
                return Ok(());
            }
        }
    }

    /// Sets output aside on a node, and says on which and in which incarnation of it.
    pub(super) fn reserve(
        &self,
        number: usize,
        bytes: usize,
        signals: &Blocked,
        reservation: &mut Reservation,
    ) -> Result<(usize, u64), Error> {
        loop {
            let ready = self.phase() == Phase::Ready;
            let number = if ready { number } else { 0 };
            let memory = &self.nodes[number];
            let mut node = memory.node.lock(signals);
            self.receive(number, &mut node);
            if node.is_seeded() {
                memory.fetches.fetch_add(1, Ordering::Relaxed);
                node.reserve(self.backend, bytes, reservation);
                if self.nodes.len() > 1 {
                    // Whose turn the next seed is: one node has no other to compare itself with.
                    memory.inlet.spend(bytes);
                }
                return Ok((number, memory.incarnation()));
            }
            drop(node);
            self.seed(signals)?;
        }
    }

    /// random(4) with concurrent_read=0: the root's lock is held while a chunk of at most 4096 bytes is made.
    fn read_canonical(&self, destination: &mut [u8]) -> Result<(), Error> {
        let memory = &self.nodes[0];
        'whole: loop {
            let mut incarnation = None;
            let mut rest = &mut *destination;
            loop {
                let signals = Blocked::new();
                let mut node = memory.node.lock(&signals);
                self.receive(0, &mut node);
                if !node.is_seeded() {
                    drop(node);
                    self.seed(&signals)?;
                    continue;
                }
                if *incarnation.get_or_insert(memory.incarnation()) != memory.incarnation() {
                    continue 'whole;
                }
                memory.fetches.fetch_add(1, Ordering::Relaxed);
                rest = node.generator().read_chunk(self.backend, rest);
                if rest.is_empty() {
                    break;
                }
            }
            if incarnation.is_some_and(|incarnation| memory.is(incarnation)) {
                return Ok(());
            }
        }
    }

    /// A number that changes in a child process.
    pub(super) fn incarnation(&self) -> u64 {
        let (root, signals) = (&self.nodes[0], Blocked::new());
        let _node = root.node.lock(&signals);
        root.incarnation()
    }

    /// Whether this is still the process that had the number.
    pub(super) fn is(&self, incarnation: u64) -> bool {
        self.nodes[0].is(incarnation)
    }

    /// Has node 0 take what the harvest side posted, so that the phase is known.
    pub(super) fn receive_root(&self, signals: &Blocked) {
        let mut node = self.nodes[0].node.lock(signals);
        self.receive(0, &mut node);
    }

    /// Empties a node's mailbox; and once node 0 has been credited 128 bits, initialises the others.
    pub(super) fn receive(&self, number: usize, node: &mut Node) {
        node.receive(&self.nodes[number].inlet);
        if number != 0 || self.phase() == Phase::Ready || !node.is_seeded() {
            return;
        }
        if !node.is_ready() {
            return self.enter(Phase::Early);
        }
        for (number, memory) in self.nodes.iter().enumerate().skip(1) {
            node.initialise(self.backend, number, &memory.inlet);
        }
        self.enter(Phase::Ready);
    }
}
