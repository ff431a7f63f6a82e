//! The taps: a key and a buffer for each thread and nesting depth, and for each [`LocalRng`](crate::LocalRng).
//!
//! ```text
//! TapMemory  the memory of a tap: of the outermost read of a thread, of a nested one, of an owner
//! Taps       the taps of an engine: their generation, and what they serve off the hot path
//! ```

use core::sync::atomic::{AtomicU64, Ordering};
use wellspring_core::tap::{FRESH_BYTES, KEY_LIMIT_BYTES, Refill, Tap, TapFields};
use wellspring_core::{Backend, wipe};
use wellspring_os::cpu::{self, Instruction};
use wellspring_os::memory::Zeroed;
use wellspring_os::sandbox;
use wellspring_os::thread_state::OwnedState;
use wellspring_os::thread_state::{State, ThreadStates};
use wellspring_os::vdso::VdsoRandom;

/// The memory of a tap.
#[repr(transparent)]
pub(crate) struct TapMemory<const BUFFER_BYTES: usize>(pub(super) Tap<BUFFER_BYTES>);

impl<const BUFFER_BYTES: usize> Zeroed for TapMemory<BUFFER_BYTES> {
    const ZERO: Self = Self(Tap::ZERO);
}

/// The tap of a read that interrupts no other read. Its buffer is as large as 8 KiB for all depths allow: so the
/// fixed cost of a refill, about 100 ns for a key and fresh entropy, is spread over 104 blocks of 64 bytes.
pub(super) type OutermostTap = TapMemory<6656>;

/// The tap of a read in a signal handler that interrupts another read. A handler draws few bytes, so the buffer is
/// small.
pub(super) type NestedTap = TapMemory<320>;

/// A tap that belongs to its owner, not to a thread. It allocates memory at its first read. With the tap's other fields and
/// the slot's header the buffer fills one page.
pub(crate) type OwnedTap = OwnedState<TapMemory<3840>>;

/// The tap of a thread's state.
pub(super) fn tap_of<'a>(state: State<'a, OutermostTap, NestedTap>) -> TapFields<'a> {
    match state {
        State::Outermost(state) => state.0.fields(),
        State::Nested(state) => state.0.fields(),
    }
}

/// The taps of an engine.
pub(crate) struct Taps {
    backend: Backend,
    /// Whether fresh entropy is mixed into every key. False in an engine without sources, which is deterministic.
    mixes_entropy: bool,
    /// How many generations there were, for people: no tap compares it. A child process goes on with its parent's count.
    generations: AtomicU64,
    pub(super) threads: ThreadStates<OutermostTap, NestedTap>,
}

impl Taps {
    pub(super) fn new(backend: Backend, mixes_entropy: bool) -> Self {
        Self {
            backend,
            mixes_entropy,
            generations: AtomicU64::new(1),
            threads: ThreadStates::new(),
        }
    }

    /// The generation as people count it: 1 at first.
    pub(super) fn generation(&self) -> u64 {
        self.generations.load(Ordering::Acquire)
    }

    /// Makes every tap fetch a fresh key at its next read. Returns the new generation. Call it when the nodes already
    /// give keys of the new seed: a key fetched before then would count as new.
    pub(super) fn announce(&self) -> u64 {
        self.threads.bump();
        self.generations.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Serves a read off the hot path from a tap that has a key.
    pub(super) fn serve(
        &self,
        mut tap: TapFields<'_>,
        mut vdso: VdsoRandom<'_>,
        refill: Refill,
        destination: &mut [u8],
    ) {
        let rest = tap.take_left(destination);
        if rest.is_empty() {
            return;
        }
        if tap.is_long(rest.len()) {
            for chunk in rest.chunks_mut(KEY_LIMIT_BYTES) {
                self.mix_fresh_entropy(&mut tap, &mut vdso);
                tap.make(self.backend, chunk);
            }
        } else {
            self.mix_fresh_entropy(&mut tap, &mut vdso);
            tap.refill(self.backend, refill, rest);
        }
    }

    /// Mixes bytes into the key that differ between copies of this machine: output of the system's generator, XORed with the
    /// cycle counter. In a sandbox it is output of the processor's generator, if there is one.
    ///
    /// A copy of the machine also copies the system's generator, whose output stays the same in both until the system
    /// learns of the copy or reseeds itself, up to a minute later. The cycle counter differs, unless both refill in the
    /// same cycle: it separates the keys, and the old key in them keeps the secret.
    #[inline(never)]
    fn mix_fresh_entropy(&self, tap: &mut TapFields<'_>, vdso: &mut VdsoRandom<'_>) {
        if !self.mixes_entropy {
            return;
        }
        let mut fresh = [0; FRESH_BYTES];
        let word = if sandbox::is_prepared() {
            Instruction::Number.draw().unwrap_or_else(cpu::cycles)
        } else {
            let _ = vdso.fill(&mut fresh);
            cpu::cycles()
        };
        for (byte, other) in fresh.iter_mut().zip(word.to_le_bytes()) {
            *byte ^= other;
        }
        tap.mix(&fresh);
        wipe(&mut fresh);
    }
}
