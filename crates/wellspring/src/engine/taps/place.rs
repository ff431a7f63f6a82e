//! Where a tap lives: with a thread at a nesting depth, or with its owner.

use wellspring_core::tap::Tap;
use wellspring_core::{Backend, KEY_BYTES};
use wellspring_sys::owned::OwnedState;
use wellspring_sys::signals::Blocked;
use wellspring_sys::thread_state::{Epoch, State, StateRef, ThreadStates};
use wellspring_sys::vdso::VdsoRandom;
use wellspring_sys::zeroed::Zeroed;

/// What a thread has at a nesting depth: a tap, and a generator of the statistical tier.
#[repr(C, align(64))]
pub(super) struct ThreadTap<const BUFFER_BYTES: usize> {
    pub(super) tap: Tap<BUFFER_BYTES>,
    /// xoshiro256++, which has no state of all zeros: zeros are a generator that was never seeded.
    pub(super) pseudo: [u64; 4],
    _reserved: [u64; 4],
}

impl<const BUFFER_BYTES: usize> Zeroed for ThreadTap<BUFFER_BYTES> {
    const ZERO: Self = Self {
        tap: Tap::ZERO,
        pseudo: [0; 4],
        _reserved: [0; 4],
    };
}

/// At the outermost depth the buffer is as large as 8 KiB for all depths allow. The fixed cost of a refill, a key and
/// fresh entropy, about 100 ns, is spread over 80 blocks.
pub(super) type OutermostTap = ThreadTap<5120>;

/// A signal handler draws little.
pub(super) type NestedTap = ThreadTap<832>;

/// With its header, one page.
const OWNED_BUFFER_BYTES: usize = 3840;

#[repr(transparent)]
struct OwnedMemory(Tap<OWNED_BUFFER_BYTES>);

impl Zeroed for OwnedMemory {
    const ZERO: Self = Self(Tap::ZERO);
}

/// One or more taps at the place where a read happens.
pub(super) trait Place {
    /// The number of taps that are rekeyed together.
    fn depths(&self) -> usize;

    /// Whether the tap of this read is of this generation.
    fn is_current(&mut self, generation: u64) -> bool;

    /// Gives each tap its key.
    fn rekey(&mut self, keys: &[[u8; KEY_BYTES]], generation: u64, signals: &Blocked);

    /// Reads from the tap, which has a key of the present generation. `fresh` writes entropy for its next key, and
    /// returns whether it did.
    fn read(
        &mut self,
        backend: Backend,
        fresh: impl Fn(&mut VdsoRandom<'_>, &mut [u8; KEY_BYTES]) -> bool,
        destination: &mut [u8],
    );
}

impl Place for StateRef<'_, OutermostTap, NestedTap> {
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
        let (outermost, nested) = self.states(signals);
        let mut keys = keys.iter();
        if let (Some(state), Some(key)) = (outermost, keys.as_slice().first()) {
            state.tap.rekey(key, generation);
            keys.next();
        }
        for (state, key) in nested.iter_mut().zip(keys) {
            state.tap.rekey(key, generation);
        }
    }

    fn read(
        &mut self,
        backend: Backend,
        fresh: impl Fn(&mut VdsoRandom<'_>, &mut [u8; KEY_BYTES]) -> bool,
        destination: &mut [u8],
    ) {
        let (state, mut vdso) = self.state_and_vdso();
        let fresh = |key: &mut [u8; KEY_BYTES]| fresh(&mut vdso, key);
        match state {
            State::Outermost(state) => state.tap.read(backend, fresh, destination),
            State::Nested(state) => state.tap.read(backend, fresh, destination),
        }
    }
}

/// A tap that belongs to its holder, not to a thread. It takes memory at its first read.
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

    pub(super) fn mark_current(&mut self, epoch: Epoch) {
        self.0.mark_current(epoch);
    }

    pub(super) fn with<R>(
        &mut self,
        node: impl Fn() -> u32,
        mut read: impl FnMut(&mut OwnedPlace<'_>) -> R,
    ) -> Option<R> {
        self.0.with(node, |memory, vdso| {
            read(&mut OwnedPlace {
                tap: &mut memory.0,
                vdso,
            })
        })
    }
}

/// An owned tap during a read.
pub(super) struct OwnedPlace<'a> {
    tap: &'a mut Tap<OWNED_BUFFER_BYTES>,
    vdso: VdsoRandom<'a>,
}

impl Place for OwnedPlace<'_> {
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
        fresh: impl Fn(&mut VdsoRandom<'_>, &mut [u8; KEY_BYTES]) -> bool,
        destination: &mut [u8],
    ) {
        let vdso = &mut self.vdso;
        let fresh = |key: &mut [u8; KEY_BYTES]| fresh(vdso, key);
        self.tap.read(backend, fresh, destination);
    }
}
