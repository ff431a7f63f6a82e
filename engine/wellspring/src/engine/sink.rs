//! Where a read puts its bytes: memory, or registers.

use wellspring_core::tap::Tap;
use zeroize::Zeroizing;

/// A place for the bytes of a read.
pub(crate) trait Sink {
    type Taken;

    /// Takes ready bytes. `None` if the tap has too few.
    fn take_from<const BUFFER_BYTES: usize>(
        &mut self,
        tap: &mut Tap<BUFFER_BYTES>,
    ) -> Option<Self::Taken>;

    /// Lets `fill` fill all of it.
    fn fill_by(self, fill: impl FnOnce(&mut [u8])) -> Self::Taken;
}

/// The caller's memory.
impl Sink for &mut [u8] {
    type Taken = ();

    #[inline(always)]
    fn take_from<const BUFFER_BYTES: usize>(&mut self, tap: &mut Tap<BUFFER_BYTES>) -> Option<()> {
        tap.take(self).then_some(())
    }

    #[inline(always)]
    fn fill_by(self, fill: impl FnOnce(&mut [u8])) {
        fill(self);
    }
}

/// Registers, for `N` bytes.
pub(crate) struct Registers<const N: usize>;

impl<const N: usize> Sink for Registers<N> {
    type Taken = [u8; N];

    #[inline(always)]
    fn take_from<const BUFFER_BYTES: usize>(
        &mut self,
        tap: &mut Tap<BUFFER_BYTES>,
    ) -> Option<[u8; N]> {
        tap.take_bytes()
    }

    #[inline(always)]
    fn fill_by(self, fill: impl FnOnce(&mut [u8])) -> [u8; N] {
        let mut bytes = Zeroizing::new([0; N]);
        fill(&mut *bytes);
        *bytes
    }
}

/// Two registers, for 16 bytes: as an array they would go through the stack four times.
pub(crate) struct TwoRegisters;

impl Sink for TwoRegisters {
    type Taken = (u64, u64);

    #[inline(always)]
    fn take_from<const BUFFER_BYTES: usize>(
        &mut self,
        tap: &mut Tap<BUFFER_BYTES>,
    ) -> Option<(u64, u64)> {
        tap.take_bytes().map(words)
    }

    #[inline(always)]
    fn fill_by(self, fill: impl FnOnce(&mut [u8])) -> (u64, u64) {
        words(Registers.fill_by(fill))
    }
}

#[inline(always)]
fn words(bytes: [u8; 16]) -> (u64, u64) {
    let number = u128::from_le_bytes(bytes);
    (number as u64, (number >> 64) as u64)
}
