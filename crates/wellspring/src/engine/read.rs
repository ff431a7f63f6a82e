//! The four read modes.

use super::memory::ThreadState;
use super::{Phase, Shared};
use crate::{Error, Mode};
use core::sync::atomic::Ordering;
use wellspring_core::KEY_BYTES;
use wellspring_core::generator::Claim;
use wellspring_core::node::Node;
use wellspring_core::tap::Tap;
use wellspring_sys::nest::{DEPTHS, Level, Owned};
use wellspring_sys::signals::Blocked;
use wellspring_sys::system;
use zeroize::Zeroize;

impl Shared {
    /// The hot path of `PerThread`: from the thread's tap, if that has enough of this generation.
    #[inline(always)]
    pub(crate) fn take(&self, destination: &mut [u8]) -> bool {
        self.mode == Mode::PerThread
            && self.nest.with(
                || self.local_node() as u32,
                |level| {
                    let tap = &mut level.state().tap;
                    tap.is_current(self.generation.current()) && tap.take(destination)
                },
            ) == Some(true)
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
        self.freshen();
        match self.mode {
            Mode::Canonical => self.read_canonical(destination),
            Mode::Concurrent => self.read_claimed(0, destination),
            Mode::PerNode => self.read_claimed(self.local_node(), destination),
            Mode::PerThread => {
                let node = || self.local_node() as u32;
                let tapped = self.nest.with(node, |level| {
                    let generation = self.generation.current();
                    if !level.state().tap.is_current(generation) {
                        self.rekey_depths(level, generation)?;
                    }
                    let (state, mut fresh) = level.state_and_fresh();
                    self.read_tap(&mut state.tap, |noise| fresh.fill(noise), destination);
                    Ok(())
                });
                // Deeper than the thread has taps, or out of memory: a key for this read alone.
                tapped.unwrap_or_else(|| self.read_claimed(self.local_node(), destination))
            }
        }
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
        self.freshen();
        let node = || self.local_node() as u32;
        let tapped = tap.with(node, |level| {
            let generation = self.generation.current();
            if !level.state().is_current(generation) {
                let mut key = [[0; KEY_BYTES]];
                self.fetch_keys(&mut key)?;
                level.state().rekey(&key[0], generation);
                key.as_flattened_mut().zeroize();
            }
            let (tap, mut fresh) = level.state_and_fresh();
            self.read_tap(tap, |noise| fresh.fill(noise), destination);
            Ok(())
        });
        tapped.unwrap_or_else(|| self.read_claimed(self.local_node(), destination))
    }

    /// Any read of a tap that has a key of the present generation.
    fn read_tap<const B: usize>(
        &self,
        tap: &mut Tap<B>,
        mut fresh: impl FnMut(&mut [u8; KEY_BYTES]) -> bool,
        destination: &mut [u8],
    ) {
        tap.read(
            self.kernel,
            |noise| self.mixes_fresh && fresh(noise),
            destination,
        );
    }

    /// Fetches keys for this depth and all deeper ones at once, so that a signal handler finds its tap ready.
    fn rekey_depths(
        &self,
        level: &mut Level<'_, ThreadState>,
        generation: u64,
    ) -> Result<(), Error> {
        let signals = Blocked::new();
        let states = level.states(&signals);
        let mut keys = [[0; KEY_BYTES]; DEPTHS];
        let keys_needed = &mut keys[..states.len()];
        self.fetch_keys(keys_needed)?;
        for (state, key) in states.iter_mut().zip(keys_needed) {
            state.tap.rekey(key, generation);
        }
        keys.as_flattened_mut().zeroize();
        Ok(())
    }

    /// Keys for taps, from the node of the CPU this thread runs on. The generation was read before.
    fn fetch_keys(&self, keys: &mut [[u8; KEY_BYTES]]) -> Result<(), Error> {
        self.read_claimed(self.local_node(), keys.as_flattened_mut())
    }

    /// random(4) with concurrent_read=1, on a node: the lock is held to set the output aside, not to make it.
    fn read_claimed(&self, number: usize, destination: &mut [u8]) -> Result<(), Error> {
        loop {
            let (number, incarnation, claim) = self.claim(number, destination.len())?;
            claim.generate(self.kernel, destination);
            // In a child that was forked meanwhile, by a signal handler, the parent makes the same bytes.
            if self.nodes[number].is(incarnation) {
                return Ok(());
            }
        }
    }

    fn claim(&self, number: usize, bytes: usize) -> Result<(usize, u64, Claim), Error> {
        loop {
            let ready = self.phase() == Phase::Ready;
            let number = if ready { number } else { 0 };
            let memory = &self.nodes[number];
            let mut node = memory.node.lock();
            self.receive(number, &mut node);
            if node.is_seeded() {
                memory.fetches.fetch_add(1, Ordering::Relaxed);
                let claim = node.claim(self.kernel, bytes);
                return Ok((number, memory.incarnation(), claim));
            }
            drop(node);
            self.seed()?;
        }
    }

    /// random(4) with concurrent_read=0: the root's lock is held while a chunk of at most 4096 bytes is made.
    fn read_canonical(&self, destination: &mut [u8]) -> Result<(), Error> {
        let memory = &self.nodes[0];
        'whole: loop {
            let mut incarnation = None;
            let mut rest = &mut *destination;
            loop {
                let mut node = memory.node.lock();
                self.receive(0, &mut node);
                if !node.is_seeded() {
                    drop(node);
                    self.seed()?;
                    continue;
                }
                if *incarnation.get_or_insert(memory.incarnation()) != memory.incarnation() {
                    continue 'whole;
                }
                memory.fetches.fetch_add(1, Ordering::Relaxed);
                rest = node.generator().read_chunk(self.kernel, rest);
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
        let root = &self.nodes[0];
        let _node = root.node.lock();
        root.incarnation()
    }

    /// Whether this is still the process that had the number.
    pub(super) fn is(&self, incarnation: u64) -> bool {
        self.nodes[0].is(incarnation)
    }

    /// Has node 0 take what the harvest side posted, so that the phase is known.
    pub(super) fn receive_root(&self) {
        let mut node = self.nodes[0].node.lock();
        self.receive(0, &mut node);
    }

    /// Empties a node's mailbox; and once node 0 has been credited 128 bits, initialises the others.
    fn receive(&self, number: usize, node: &mut Node) {
        node.receive(&self.nodes[number].inlet);
        if number != 0 || self.phase() == Phase::Ready || !node.is_seeded() {
            return;
        }
        if !node.is_ready() {
            return self.enter(Phase::Early);
        }
        for (number, memory) in self.nodes.iter().enumerate().skip(1) {
            node.initialise(self.kernel, number, &memory.inlet);
        }
        self.enter(Phase::Ready);
    }
}
