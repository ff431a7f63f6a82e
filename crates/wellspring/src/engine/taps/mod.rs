//! The taps: a key and a buffer for each thread and nesting depth, and for each [`LocalRng`](crate::LocalRng).
//!
//! ```text
//! place          where a tap lives: with a thread, or with its owner
//! thread_pseudo  the threads' generators of the statistical tier, which live beside the taps
//! ```
//!
//! A small read takes bytes that are ready: [`Taps::take`]. Every other read follows one algorithm, [`Taps::read`],
//! wherever its tap lives: fetch keys if the tap is not of this generation, then read, then say that the tap is current.
//!
//! # Why one comparison is enough on the hot path
//!
//! The hot path compares one number, the epoch of [`ThreadStates`]. A tap is *current* in an epoch, and the hot path
//! takes from a current tap only.
//!
//! - **A reseed, a clone, an operator's order**: each of them ends with [`Taps::announce`], which bumps the generation
//!   and then begins an epoch. A read on the long way does it the other way round: it loads the epoch, then compares the
//!   generation, and marks its tap with the epoch that it loaded. So a tap that is current in the present epoch has a
//!   key of the last generation announced (`wellspring-sys/tests/loom.rs`).
//! - **A fork**: the child's tap is wiped and has no bytes to give; a fork under the read is noticed by the serial of
//!   the slot, which is compared after the bytes were taken.
//! - **A nested read**: while a read is at work the thread's epoch is a number that no epoch has.
//! - **Another engine**: no two engines are ever in the same epoch.
//! - **Another mode**: no read of theirs puts bytes into a tap, so a tap that a statistical read made current has none.

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
use wellspring_sys::thread_state::{DEPTHS, Miss, ThreadStates};
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
    pub(super) fn generation(&self) -> u64 {
        self.generation.current()
    }

    /// Moves every tap to a fresh key at its next read. To be called after the seed that it announces can be seen by
    /// those who fetch keys. Returns the new generation.
    pub(super) fn announce(&self) -> u64 {
        let generation = self.generation.bump();
        self.threads.begin_epoch();
        generation
    }

    /// The taps in use.
    pub(super) fn count(&self) -> usize {
        self.threads.count()
    }

    /// A tap that belongs to its holder, not to a thread.
    pub(super) fn new_owned(&self) -> OwnedTap {
        OwnedTap::new(&self.threads)
    }

    /// The hot path: takes from the thread's outermost tap, if that is current.
    #[inline(always)]
    pub(super) fn take<T: Take>(&self, take: T) -> Result<T::Taken, Miss> {
        let take = |state: &mut OutermostTap| take.take_from(&mut state.tap);
        self.threads.try_current(take)?.ok_or(Miss::NONE)
    }

    /// To be called after a miss, before any other read.
    #[inline(always)]
    pub(super) fn settle(&self, miss: Miss) {
        self.threads.settle(miss);
    }

    /// The hot path of an owned tap.
    #[inline(always)]
    pub(super) fn take_owned<T: Take>(&self, owned: &mut OwnedTap, take: T) -> Option<T::Taken> {
        owned.try_current(&self.threads, |tap| take.take_from(tap))?
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
        let epoch = self.threads.epoch();
        self.threads.try_with(node, |state| {
            self.read(state, fetch, destination)?;
            state.mark_current(epoch);
            Ok(())
        })
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
        let epoch = self.threads.epoch();
        let read = owned.with(node, |place| self.read(place, fetch, destination))?;
        if read.is_ok() {
            owned.mark_current(epoch);
        }
        Some(read)
    }

    /// Any read of a tap. The epoch was loaded before, by whom marks the tap as current in it afterwards.
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

/// What the hot path takes from a tap of any size.
pub(crate) trait Take {
    type Taken;

    /// `None` if fewer bytes are ready.
    fn take_from<const BUFFER_BYTES: usize>(
        self,
        tap: &mut Tap<BUFFER_BYTES>,
    ) -> Option<Self::Taken>;
}

/// Bytes for memory of the caller.
pub(crate) struct Fill<'a>(pub(crate) &'a mut [u8]);

impl Take for Fill<'_> {
    type Taken = ();

    #[inline(always)]
    fn take_from<const BUFFER_BYTES: usize>(self, tap: &mut Tap<BUFFER_BYTES>) -> Option<()> {
        tap.take(self.0).then_some(())
    }
}

/// Bytes for registers.
pub(crate) struct Bytes<const N: usize>;

impl<const N: usize> Take for Bytes<N> {
    type Taken = [u8; N];

    #[inline(always)]
    fn take_from<const BUFFER_BYTES: usize>(self, tap: &mut Tap<BUFFER_BYTES>) -> Option<[u8; N]> {
        tap.take_bytes()
    }
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
