//! The memory of a tap: of a thread at a nesting depth, or of an owner, such as a [`LocalRng`](crate::LocalRng).

use core::sync::atomic::{AtomicU64, Ordering};
use wellspring_core::tap::{FRESH_BYTES, Refill, Tap};
use wellspring_core::{Backend, KEY_BYTES};
use wellspring_os::owned::OwnedState;
use wellspring_os::signals::Blocked;
use wellspring_os::thread_state::{Epoch, State, StateRef, ThreadStates};
use wellspring_os::vdso::VdsoRandom;
use wellspring_os::zeroed::Zeroed;

/// The memory of a thread at one nesting depth: a tap, and a generator of the statistical tier.
#[repr(C, align(64))]
pub(super) struct ThreadTap<const BUFFER_BYTES: usize> {
    pub(super) tap: Tap<BUFFER_BYTES>,
    /// The generator of the statistical tier.
    pub(super) pseudo: PseudoWords,
    _reserved: [u64; 4],
}

/// The state of xoshiro256++. That generator has no state of all zeros, so zeros mean that it was never seeded.
///
/// Atomic, only so that the compiler loads all words first and keeps their order. Without that it compared the first word,
/// then loaded the others with the last two exchanged, and a draw took 1.7 ns in place of 1.4 on Sapphire Rapids.
#[repr(transparent)]
pub(super) struct PseudoWords([AtomicU64; 4]);

impl Zeroed for PseudoWords {
    const ZERO: Self = Self([const { AtomicU64::new(0) }; 4]);
}

impl PseudoWords {
    #[inline(always)]
    pub(super) fn load(&self) -> [u64; 4] {
        self.0.each_ref().map(|word| word.load(Ordering::Relaxed))
    }

    #[inline(always)]
    pub(super) fn store(&self, words: [u64; 4]) {
        for (place, word) in self.0.iter().zip(words) {
            place.store(word, Ordering::Relaxed);
        }
    }
}

impl<const BUFFER_BYTES: usize> Zeroed for ThreadTap<BUFFER_BYTES> {
    const ZERO: Self = Self {
        tap: Tap::ZERO,
        pseudo: PseudoWords::ZERO,
        _reserved: [0; 4],
    };
}

/// The tap of a read that interrupts no other one. Its buffer is as large as 8 KiB for all depths allow: so the fixed
/// cost of a refill, about 100 ns for a key and fresh entropy, is spread over 104 blocks of 64 bytes.
pub(super) type OutermostTap = ThreadTap<6656>;

/// The tap of a read in a signal handler that interrupts another read. A handler draws few bytes, so the buffer is
/// small.
pub(super) type NestedTap = ThreadTap<320>;

/// The buffer of an owned tap: with the tap's other fields and the slot's header it fills one page.
const OWNED_BUFFER_BYTES: usize = 3840;

#[repr(transparent)]
struct OwnedMemory(Tap<OWNED_BUFFER_BYTES>);

impl Zeroed for OwnedMemory {
    const ZERO: Self = Self(Tap::ZERO);
}

/// The tap of a read, and the taps that get their keys together with it.
pub(super) trait TapStorage {
    /// Returns the number of taps that get their keys together: those of this depth and of all deeper ones.
    fn depths(&self) -> usize;

    /// Returns whether the key of this read's tap is of this generation.
    fn is_current(&mut self, generation: u64) -> bool;

    /// Gives each tap its key, this read's tap first.
    fn rekey(&mut self, keys: &[[u8; KEY_BYTES]], generation: u64, signals: &Blocked);

    /// Reads from the tap, which has a key. `gather` writes fresh entropy for the tap's next key, and returns whether
    /// it did.
    fn read(
        &mut self,
        backend: Backend,
        refill: Refill,
        gather: impl Fn(&mut VdsoRandom<'_>, &mut [u8; FRESH_BYTES]) -> bool,
        destination: &mut [u8],
    );
}

impl TapStorage for StateRef<'_, OutermostTap, NestedTap> {
    fn depths(&self) -> usize {
        self.depths_from_here()
    }

    fn is_current(&mut self, generation: u64) -> bool {
        match self.state() {
            State::Outermost(state) => state.tap.is_current(generation),
            State::Nested(state) => state.tap.is_current(generation),
        }
    }

    fn rekey(&mut self, keys: &[[u8; KEY_BYTES]], generation: u64, signals: &Blocked) {
        self.with_states(signals, |outermost, nested| {
            let mut keys = keys.iter();
            if let (Some(state), Some(key)) = (outermost, keys.as_slice().first()) {
                state.tap.rekey(key, generation);
                keys.next();
            }
            for (state, key) in nested.iter_mut().zip(keys) {
                state.tap.rekey(key, generation);
            }
        });
    }

    fn read(
        &mut self,
        backend: Backend,
        refill: Refill,
        gather: impl Fn(&mut VdsoRandom<'_>, &mut [u8; FRESH_BYTES]) -> bool,
        destination: &mut [u8],
    ) {
        let (state, mut vdso) = self.state_and_vdso();
        let gather = |fresh: &mut [u8; FRESH_BYTES]| gather(&mut vdso, fresh);
        match state {
            State::Outermost(state) => state.tap.read(backend, refill, gather, destination),
            State::Nested(state) => state.tap.read(backend, refill, gather, destination),
        }
    }
}

/// A tap that belongs to its owner, not to a thread. It allocates memory at its first read.
pub(crate) struct OwnedTap(OwnedState<OwnedMemory>);

impl OwnedTap {
    pub(super) fn new(threads: &ThreadStates<OutermostTap, NestedTap>) -> Self {
        Self(OwnedState::new(threads))
    }

    #[inline(always)]
    pub(super) fn try_current<R>(
        &mut self,
        threads: &ThreadStates<OutermostTap, NestedTap>,
        read: impl FnOnce(&mut Tap<OWNED_BUFFER_BYTES>) -> R,
    ) -> Option<R> {
        self.0.try_current(threads, |memory| read(&mut memory.0))
    }

    /// Whether the last read marked the tap as current. It may be out of date since.
    #[inline(always)]
    pub(in super::super) fn is_marked(&self) -> bool {
        self.0.is_marked()
    }

    #[inline(always)]
    pub(super) fn mark_current(&mut self, epoch: Epoch) {
        self.0.mark_current(epoch);
    }

    #[inline(always)]
    pub(super) fn with<R>(
        &mut self,
        node: impl Fn() -> u32,
        mut read: impl FnMut(&mut OwnedTapStorage<'_>) -> R,
    ) -> Option<R> {
        self.0.with(node, |memory, vdso| {
            read(&mut OwnedTapStorage {
                tap: &mut memory.0,
                vdso,
            })
        })
    }
}

/// An owned tap during a read, with the system's generator that the read may ask.
pub(super) struct OwnedTapStorage<'a> {
    tap: &'a mut Tap<OWNED_BUFFER_BYTES>,
    vdso: VdsoRandom<'a>,
}

impl TapStorage for OwnedTapStorage<'_> {
    fn depths(&self) -> usize {
        1
    }

    fn is_current(&mut self, generation: u64) -> bool {
        self.tap.is_current(generation)
    }

    fn rekey(&mut self, keys: &[[u8; KEY_BYTES]], generation: u64, _: &Blocked) {
        self.tap.rekey(&keys[0], generation);
    }

    fn read(
        &mut self,
        backend: Backend,
        refill: Refill,
        gather: impl Fn(&mut VdsoRandom<'_>, &mut [u8; FRESH_BYTES]) -> bool,
        destination: &mut [u8],
    ) {
        let vdso = &mut self.vdso;
        let gather = |fresh: &mut [u8; FRESH_BYTES]| gather(vdso, fresh);
        self.tap.read(backend, refill, gather, destination);
    }
}
