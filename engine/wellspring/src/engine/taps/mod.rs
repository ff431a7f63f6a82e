//! The taps: a key and a buffer for each thread and nesting depth, and for each [`LocalRng`](crate::LocalRng).
//!
//! ```text
//! storage  the memory of a tap: of a thread at a nesting depth, or of an owner
//! ```
//!
//! A small read takes bytes that are ready. Every other read follows one algorithm, whatever stores its tap: [`Taps::serve`]
//! fetches keys if the tap is not of this generation, then reads; its caller then marks the tap as current.
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
//! - **Another mode**: its reads put no bytes into a tap.
//!
//! A copy of the machine that is made during the read is the one event that a second comparison finds, after the bytes were
//! taken: the sum of the watched words is no longer the one that was handled before the tap was made current.

mod storage;

pub(crate) use storage::OwnedTap;
pub(super) use storage::OwnedTapStorage;
use storage::{NestedTap, OutermostTap, TapStorage};

use crate::error::Error;
use wellspring_core::generation::{Generation, NEVER};
use wellspring_core::tap::{FRESH_BYTES, Refill};
use wellspring_core::{Backend, KEY_BYTES};
use wellspring_os::cpu::{self, Instruction};
use wellspring_os::sandbox;
use wellspring_os::signals::SignalsBlocked;
use wellspring_os::thread_state::{DEPTHS, ThreadStates};
use wellspring_os::vdso::VdsoRandom;
use zeroize::Zeroize;

/// The taps of an engine.
pub(crate) struct Taps {
    backend: Backend,
    /// Whether fresh entropy is mixed into every key. False in an engine without sources, which is deterministic.
    mixes_entropy: bool,
    /// In ordinary memory, so a child process goes on with its parent's number; the child's wiped taps have none.
    generation: Generation,
    pub(super) threads: ThreadStates<OutermostTap, NestedTap>,
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

    /// Serves a read from any tap, which gets new keys by `fetch_keys`. The caller loads the epoch before, and afterwards
    /// marks the tap with that epoch.
    pub(super) fn serve(
        &self,
        storage: &mut impl TapStorage,
        fetch_keys: impl FnOnce(&mut [u8], &SignalsBlocked) -> Result<(), Error>,
        mut refill: Refill,
        destination: &mut [u8],
    ) -> Result<(), Error> {
        if !storage.is_current(self.generation.current()) {
            self.rekey(storage, fetch_keys)?;
            refill = Refill::Short;
        }
        let mixes = self.mixes_entropy;
        let gather =
            |vdso: &mut VdsoRandom<'_>, fresh: &mut [u8; FRESH_BYTES]| mixes && gather(vdso, fresh);
        storage.serve(self.backend, refill, gather, destination);
        Ok(())
    }

    /// Fetches keys for this depth and all deeper ones, so that the tap of a signal handler has a key.
    #[cold]
    #[inline(never)]
    fn rekey(
        &self,
        storage: &mut impl TapStorage,
        fetch_keys: impl FnOnce(&mut [u8], &SignalsBlocked) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // Signals are blocked: no handler may find a tap half rekeyed, or fork while keys are on the stack.
        let Some(signals) = SignalsBlocked::try_first() else {
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
        let fetched = fetch_keys(wanted.as_flattened_mut(), &signals);
        if fetched.is_ok() {
            storage.rekey(wanted, generation, &signals);
        }
        keys.as_flattened_mut().zeroize();
        fetched
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
        Instruction::Number.draw().unwrap_or_else(cpu::cycles)
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
