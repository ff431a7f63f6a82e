//! The memory of a tap: of a thread at a nesting depth, or of an owner, such as a [`LocalRng`](crate::LocalRng).

use wellspring_core::tap::{FRESH_BYTES, Refill, Tap};
use wellspring_core::{Backend, KEY_BYTES};
use wellspring_os::owned::OwnedState;
use wellspring_os::signals::SignalsBlocked;
use wellspring_os::thread_state::{State, StateRef};
use wellspring_os::vdso::VdsoRandom;
use wellspring_os::zeroed::Zeroed;

/// The memory of a tap.
#[repr(transparent)]
pub(crate) struct TapMemory<const BUFFER_BYTES: usize>(pub(in super::super) Tap<BUFFER_BYTES>);

impl<const BUFFER_BYTES: usize> Zeroed for TapMemory<BUFFER_BYTES> {
    const ZERO: Self = Self(Tap::ZERO);
}

/// The tap of a read that interrupts no other one. Its buffer is as large as 8 KiB for all depths allow: so the fixed
/// cost of a refill, about 100 ns for a key and fresh entropy, is spread over 104 blocks of 64 bytes.
pub(crate) type OutermostTap = TapMemory<6656>;

/// The tap of a read in a signal handler that interrupts another read. A handler draws few bytes, so the buffer is
/// small.
pub(crate) type NestedTap = TapMemory<320>;

/// The buffer of an owned tap: with the tap's other fields and the slot's header it fills one page.
const OWNED_BUFFER_BYTES: usize = 3840;

/// The tap of a read, and the taps that get their keys together with it.
pub(in super::super) trait TapStorage {
    /// Returns the number of taps that get their keys together: those of this depth and of all deeper ones.
    fn depths(&self) -> usize;

    /// Returns whether the key of this read's tap is of this generation.
    fn is_current(&mut self, generation: u64) -> bool;

    /// Gives each tap its key, this read's tap first.
    fn rekey(&mut self, keys: &[[u8; KEY_BYTES]], generation: u64, signals: &SignalsBlocked);

    /// Serves a read from the tap, which has a key. `gather` writes fresh entropy for the tap's next key, and returns whether
    /// it did.
    fn serve(
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
            State::Outermost(state) => state.0.is_current(generation),
            State::Nested(state) => state.0.is_current(generation),
        }
    }

    fn rekey(&mut self, keys: &[[u8; KEY_BYTES]], generation: u64, signals: &SignalsBlocked) {
        self.with_states(signals, |outermost, nested| {
            let mut keys = keys.iter();
            if let (Some(state), Some(key)) = (outermost, keys.as_slice().first()) {
                state.0.rekey(key, generation);
                keys.next();
            }
            for (state, key) in nested.iter_mut().zip(keys) {
                state.0.rekey(key, generation);
            }
        });
    }

    fn serve(
        &mut self,
        backend: Backend,
        refill: Refill,
        gather: impl Fn(&mut VdsoRandom<'_>, &mut [u8; FRESH_BYTES]) -> bool,
        destination: &mut [u8],
    ) {
        let (state, mut vdso) = self.state_and_vdso();
        let gather = |fresh: &mut [u8; FRESH_BYTES]| gather(&mut vdso, fresh);
        match state {
            State::Outermost(state) => state.0.take_or_make(backend, refill, gather, destination),
            State::Nested(state) => state.0.take_or_make(backend, refill, gather, destination),
        }
    }
}

/// A tap that belongs to its owner, not to a thread. It allocates memory at its first read.
pub(crate) type OwnedTap = OwnedState<TapMemory<OWNED_BUFFER_BYTES>>;

/// An owned tap during a read, with the system's generator that the read may ask.
pub(in super::super) struct OwnedTapStorage<'a> {
    pub(in super::super) tap: &'a mut Tap<OWNED_BUFFER_BYTES>,
    pub(in super::super) vdso: VdsoRandom<'a>,
}

impl TapStorage for OwnedTapStorage<'_> {
    fn depths(&self) -> usize {
        1
    }

    fn is_current(&mut self, generation: u64) -> bool {
        self.tap.is_current(generation)
    }

    fn rekey(&mut self, keys: &[[u8; KEY_BYTES]], generation: u64, _: &SignalsBlocked) {
        self.tap.rekey(&keys[0], generation);
    }

    fn serve(
        &mut self,
        backend: Backend,
        refill: Refill,
        gather: impl Fn(&mut VdsoRandom<'_>, &mut [u8; FRESH_BYTES]) -> bool,
        destination: &mut [u8],
    ) {
        let vdso = &mut self.vdso;
        let gather = |fresh: &mut [u8; FRESH_BYTES]| gather(vdso, fresh);
        self.tap.take_or_make(backend, refill, gather, destination);
    }
}
