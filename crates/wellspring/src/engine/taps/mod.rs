//! The taps: a key and a buffer for each thread and nesting depth, and for each [`LocalRng`](crate::LocalRng).
//!
//! ```text
//! place          where a tap lives: with a thread, or with its owner
//! thread_pseudo  the threads' generators of the statistical tier, which live beside the taps
//! ```
//!
//! A small read takes bytes that are ready: [`Taps::take`]. Every other read follows one algorithm, [`Taps::read`],
//! wherever its tap lives: fetch keys if the tap is not of this generation, then read.

mod place;
mod thread_pseudo;

pub(crate) use place::OwnedTap;
use place::{NestedTap, OutermostTap, Place};

use crate::error::Error;
use wellspring_core::generation::{Generation, NEVER};
use wellspring_core::tap::Tap;
use wellspring_core::{Backend, KEY_BYTES};
use wellspring_sys::cpu;
use wellspring_sys::signals::Blocked;
use wellspring_sys::thread_state::{DEPTHS, ThreadStates};
use wellspring_sys::vdso::VdsoRandom;
use zeroize::Zeroize;

/// Fetches keys from the node of this CPU.
pub(super) type FetchKeys<'a> = &'a dyn Fn(&mut [u8], &Blocked) -> Result<(), Error>;

/// The taps of an engine.
pub(super) struct Taps {
    backend: Backend,
    /// Fresh entropy is mixed into every key. Not in an engine without sources, which is deterministic.
    mixes_entropy: bool,
    /// In ordinary memory: a child process goes on from here, and its wiped taps carry no generation at all.
    generation: Generation,
    threads: ThreadStates<OutermostTap, NestedTap>,
}

impl Taps {
    pub(super) fn new(backend: Backend, mixes_entropy: bool) -> Self {
        Self {
            backend,
            mixes_entropy,
            generation: Generation::new(),
            threads: ThreadStates::new(),
        }
    }

    /// The generation that every tap compares with its own.
    #[inline(always)]
    pub(super) fn generation(&self) -> &Generation {
        &self.generation
    }

    /// The taps in use.
    pub(super) fn count(&self) -> usize {
        self.threads.count()
    }

    /// A tap that belongs to its holder, not to a thread.
    pub(super) fn new_owned(&self) -> OwnedTap {
        OwnedTap::new(&self.threads)
    }

    /// The hot path: takes ready bytes of this generation from the thread's outermost tap.
    #[inline(always)]
    pub(super) fn take(&self, destination: &mut [u8]) -> bool {
        let generation = self.generation.current();
        let take = |state: &mut OutermostTap| take(&mut state.tap, generation, destination);
        self.threads.try_outermost(take) == Some(true)
    }

    /// The hot path of an owned tap.
    #[inline(always)]
    pub(super) fn take_owned(&self, owned: &mut OwnedTap, destination: &mut [u8]) -> bool {
        let generation = self.generation.current();
        owned.try_with(|tap| take(tap, generation, destination)) == Some(true)
    }

    /// Reads from the tap of this thread at its present depth.
    ///
    /// `None` if it has no tap: deeper than 4 levels, out of memory, or at the very end of the thread.
    #[inline(always)]
    pub(super) fn read_thread(
        &self,
        node: impl Fn() -> u32,
        fetch: FetchKeys<'_>,
        destination: &mut [u8],
    ) -> Option<Result<(), Error>> {
        self.threads
            .try_with(node, |state| self.read(state, fetch, destination))
    }

    /// Reads from an owned tap. `None` if the system has no memory for it.
    #[inline(always)]
    pub(super) fn read_owned(
        &self,
        owned: &mut OwnedTap,
        node: impl Fn() -> u32,
        fetch: FetchKeys<'_>,
        destination: &mut [u8],
    ) -> Option<Result<(), Error>> {
        owned.with(node, |place| self.read(place, fetch, destination))
    }

    /// Any read of a tap.
    fn read(
        &self,
        place: &mut impl Place,
        fetch: FetchKeys<'_>,
        destination: &mut [u8],
    ) -> Result<(), Error> {
        if !place.is_current(self.generation.current()) {
            self.rekey(place, fetch)?;
        }
        let mixes = self.mixes_entropy;
        let fresh =
            |vdso: &mut VdsoRandom<'_>, key: &mut [u8; KEY_BYTES]| mixes && gather(vdso, key);
        place.read(self.backend, fresh, destination);
        Ok(())
    }

    /// Fetches keys for this depth and all deeper ones, so that a signal handler finds its tap ready.
    #[cold]
    #[inline(never)]
    fn rekey(&self, place: &mut impl Place, fetch: FetchKeys<'_>) -> Result<(), Error> {
        // No handler runs: none finds a depth half rekeyed, and none forks while keys are on the stack.
        let Some(signals) = Blocked::try_first() else {
            // A handler in a process without system calls. What it interrupted may hold the node, so it goes on with
            // the key that it has.
            let has_key = !place.is_current(NEVER);
            return if has_key {
                Ok(())
            } else {
                Err(Error::NotSeeded)
            };
        };
        // Read before the fetch: a bump during the fetch leaves the tap with the older number.
        let generation = self.generation.current();
        let mut keys = [[0; KEY_BYTES]; DEPTHS];
        let wanted = &mut keys[..place.depths()];
        let fetched = fetch(wanted.as_flattened_mut(), &signals);
        if fetched.is_ok() {
            place.rekey(wanted, generation, &signals);
        }
        keys.as_flattened_mut().zeroize();
        fetched
    }
}

#[inline(always)]
fn take<const B: usize>(tap: &mut Tap<B>, generation: u64, destination: &mut [u8]) -> bool {
    tap.is_current(generation) && tap.take(destination)
}

/// Writes what differs between copies of this machine. It is mixed into the next key of a tap.
///
/// A copy of the machine also copies the system's generator, whose output stays the same in both until the system
/// learns of the copy or reseeds itself, up to a minute later. The cycle counter differs, unless both refill in the
/// same cycle: it separates the keys, and the old key in them keeps the secret.
fn gather(vdso: &mut VdsoRandom<'_>, entropy: &mut [u8; KEY_BYTES]) -> bool {
    let _ = vdso.fill(entropy);
    let cycles = cpu::cycles().to_le_bytes();
    entropy
        .iter_mut()
        .zip(cycles)
        .for_each(|(byte, cycle)| *byte ^= cycle);
    true
}
