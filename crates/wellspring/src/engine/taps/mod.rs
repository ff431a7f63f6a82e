//! The taps: a key and a buffer for each thread and nesting depth, and for each [`LocalRng`](crate::LocalRng).
//!
//! ```text
//! storage        the memory of a tap: of a thread at a nesting depth, or of an owner
//! thread_pseudo  the threads' generators of the statistical tier, stored beside the taps
//! ```
//!
//! A small read takes bytes that are ready: [`Taps::take`]. Every other read follows one algorithm, whatever stores its
//! tap. [`Taps::read`] fetches keys if the tap is not of this generation, then reads; its caller then marks the tap as
//! current.
//!
//! # Why one comparison is enough on the hot path
//!
//! The hot path compares one number, the epoch of [`ThreadStates`], with the epoch that the last read marked
//! its tap with. If they are equal the tap is *current*, and the hot path takes from a current tap only.
//!
//! - **A reseed, by the engine, after a copy of the machine or by an operator**: each ends with [`Taps::announce`],
//!   which bumps the generation and then begins an epoch. A read off the hot path uses the opposite order: it loads the
//!   epoch, then compares the generation, and marks its tap with the epoch that it loaded. So a tap that is current in
//!   the present epoch has a key of the last generation announced (`wellspring-os/tests/loom.rs`).
//! - **A fork**: the child's tap is wiped and has no bytes. A fork during the read, by a signal handler, changes the
//!   serial of the slot, which the read compares after it took the bytes.
//! - **A nested read**, in a signal handler: during a read the thread's taps are marked with a number that no epoch
//!   has.
//! - **Another engine**: no two engines are ever in the same epoch.
//! - **Another mode**: its reads put no bytes into a tap. A statistical read does mark the tap as current, but has
//!   first erased the bytes of an older generation.

mod storage;
mod thread_pseudo;

pub(crate) use storage::OwnedTap;
use storage::{NestedTap, OutermostTap, TapStorage};

use crate::error::Error;
use wellspring_core::generation::{Generation, NEVER};
use wellspring_core::tap::{FRESH_BYTES, Refill, Tap};
use wellspring_core::{Backend, KEY_BYTES};
use wellspring_os::cpu::{self, Instruction};
use wellspring_os::sandbox;
use wellspring_os::signals::Blocked;
use wellspring_os::thread_state::{CurrentThread, DEPTHS, Epoch, Miss, ThreadStates};
use wellspring_os::vdso::VdsoRandom;
use zeroize::Zeroize;

/// Fetches keys from the node of this CPU.
pub(super) type FetchKeys<'a> = &'a dyn Fn(&mut [u8], &Blocked) -> Result<(), Error>;

/// The work that a read off the hot path does for later reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Work {
    pub(super) refill: Refill,
    /// The next read has a slice of a harvest to make: the tap is not marked as current, so that it takes this way too.
    pub(super) leaves_slice: bool,
}

impl Work {
    pub(super) const ALL: Self = Self {
        refill: Refill::Whole,
        leaves_slice: false,
    };

    /// The epoch to mark the tap with.
    #[inline(always)]
    fn epoch(self, present: Epoch) -> Epoch {
        if self.leaves_slice {
            present.none()
        } else {
            present
        }
    }
}

/// The taps of an engine.
pub(super) struct Taps {
    backend: Backend,
    /// Whether fresh entropy is mixed into every key. False in an engine without sources, which is deterministic.
    mixes_entropy: bool,
    /// In ordinary memory, so a child process goes on with its parent's number; the child's wiped taps have none.
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

    /// Returns the generation that the key of a tap must have.
    pub(super) fn generation(&self) -> u64 {
        self.generation.current()
    }

    /// Makes every tap fetch a fresh key at its next read. Returns the new generation. Call it when the nodes already
    /// give keys of the new seed: a key fetched before then would count as new.
    pub(super) fn announce(&self) -> u64 {
        let generation = self.generation.bump();
        self.threads.begin_epoch();
        generation
    }

    /// Returns the number of taps in use.
    pub(super) fn count(&self) -> usize {
        self.threads.count()
    }

    /// Makes a tap that belongs to its owner, not to a thread.
    pub(super) fn new_owned(&self) -> OwnedTap {
        OwnedTap::new(&self.threads)
    }

    /// The hot path: takes ready bytes from the thread's outermost tap, if that is current.
    #[inline(always)]
    pub(super) fn take<T: Take>(&self, take: T) -> Result<T::Taken, Miss> {
        self.take_on(CurrentThread::find(), take)
    }

    /// Like [`take`](Self::take), on a thread that the caller has found.
    #[inline(always)]
    pub(super) fn take_on<T: Take>(
        &self,
        thread: CurrentThread,
        take: T,
    ) -> Result<T::Taken, Miss> {
        let take = |state: &mut OutermostTap| take.take_from(&mut state.tap);
        self.threads.try_current_on(thread, take)?.ok_or(Miss::NONE)
    }

    /// Call it after a miss, before any other read. If the process forked during the read that missed, this erases, in
    /// the child, what that read wrote to the tap.
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
    /// Returns `None` if the thread has no tap: the read is nested deeper than 4 levels, the system has no memory,
    /// or the thread is ending.
    #[inline(always)]
    pub(super) fn read_thread(
        &self,
        node: impl Fn() -> u32,
        fetch: FetchKeys<'_>,
        work: Work,
        destination: &mut [u8],
    ) -> Option<Result<(), Error>> {
        let epoch = work.epoch(self.threads.epoch());
        self.threads.try_with(node, |state| {
            self.read(state, fetch, work.refill, destination)?;
            state.mark_current(epoch);
            Ok(())
        })
    }

    /// Reads from an owned tap. Returns `None` if the system has no memory for it.
    #[inline(always)]
    pub(super) fn read_owned(
        &self,
        owned: &mut OwnedTap,
        node: impl Fn() -> u32,
        fetch: FetchKeys<'_>,
        work: Work,
        destination: &mut [u8],
    ) -> Option<Result<(), Error>> {
        let epoch = work.epoch(self.threads.epoch());
        let read = owned.with(node, |storage| {
            self.read(storage, fetch, work.refill, destination)
        })?;
        if read.is_ok() {
            owned.mark_current(epoch);
        }
        Some(read)
    }

    /// Reads from any tap. The caller loads the epoch before, and afterwards marks the tap with that epoch.
    fn read(
        &self,
        storage: &mut impl TapStorage,
        fetch: FetchKeys<'_>,
        mut refill: Refill,
        destination: &mut [u8],
    ) -> Result<(), Error> {
        if !storage.is_current(self.generation.current()) {
            self.rekey(storage, fetch)?;
            refill = Refill::Short;
        }
        let mixes = self.mixes_entropy;
        let gather =
            |vdso: &mut VdsoRandom<'_>, fresh: &mut [u8; FRESH_BYTES]| mixes && gather(vdso, fresh);
        storage.read(self.backend, refill, gather, destination);
        Ok(())
    }

    /// Fetches keys for this depth and all deeper ones, so that the tap of a signal handler has a key.
    #[cold]
    #[inline(never)]
    fn rekey(&self, storage: &mut impl TapStorage, fetch: FetchKeys<'_>) -> Result<(), Error> {
        // Signals are blocked: no handler may find a tap half rekeyed, or fork while keys are on the stack.
        let Some(signals) = Blocked::try_first() else {
            // This is a signal handler in a process without system calls, and the interrupted code may hold the lock of
            // the node. So go on with the key that the tap has.
            let has_key = !storage.is_current(NEVER);
            return if has_key {
                Ok(())
            } else {
                Err(Error::NotSeeded)
            };
        };
        // Read before the fetch: after a bump during the fetch the tap has the older number, and fetches again.
        let generation = self.generation.current();
        let mut keys = [[0; KEY_BYTES]; DEPTHS];
        let wanted = &mut keys[..storage.depths()];
        let fetched = fetch(wanted.as_flattened_mut(), &signals);
        if fetched.is_ok() {
            storage.rekey(wanted, generation, &signals);
        }
        keys.as_flattened_mut().zeroize();
        fetched
    }
}

/// A way to take ready bytes: the hot path makes it with a tap of any size.
pub(crate) trait Take {
    type Taken;

    /// Takes the bytes. Returns `None` if fewer are ready.
    fn take_from<const BUFFER_BYTES: usize>(
        self,
        tap: &mut Tap<BUFFER_BYTES>,
    ) -> Option<Self::Taken>;
}

/// Takes as many bytes as the caller's memory holds, and writes them there.
pub(crate) struct Fill<'a>(pub(crate) &'a mut [u8]);

impl Take for Fill<'_> {
    type Taken = ();

    #[inline(always)]
    fn take_from<const BUFFER_BYTES: usize>(self, tap: &mut Tap<BUFFER_BYTES>) -> Option<()> {
        tap.take(self.0).then_some(())
    }
}

/// Takes `N` bytes, in registers.
pub(crate) struct Bytes<const N: usize>;

impl<const N: usize> Take for Bytes<N> {
    type Taken = [u8; N];

    #[inline(always)]
    fn take_from<const BUFFER_BYTES: usize>(self, tap: &mut Tap<BUFFER_BYTES>) -> Option<[u8; N]> {
        tap.take_bytes()
    }
}

/// Writes bytes that differ between copies of this machine: output of the system's generator, XORed with the cycle
/// counter. In a sandbox it is output of the processor's generator, if there is one. The bytes are mixed into the next
/// key of a tap. Always returns `true`.
///
/// A copy of the machine also copies the system's generator, whose output stays the same in both until the system
/// learns of the copy or reseeds itself, up to a minute later. The cycle counter differs, unless both refill in the
/// same cycle: it separates the keys, and the old key in them keeps the secret.
fn gather(vdso: &mut VdsoRandom<'_>, fresh: &mut [u8; FRESH_BYTES]) -> bool {
    let word = if sandbox::is_prepared() {
        Instruction::Rdrand.draw().unwrap_or_else(cpu::cycles)
    } else {
        let _ = vdso.fill(fresh);
        cpu::cycles()
    };
    fresh
        .iter_mut()
        .zip(word.to_le_bytes())
        .for_each(|(byte, other)| *byte ^= other);
    true
}
