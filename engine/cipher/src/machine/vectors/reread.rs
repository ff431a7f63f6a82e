//! Keeps keys off the stack.

use core::arch::asm;

/// The same reference. The compiler must read again what it read through it before.
///
/// A loop over batches would otherwise keep the widened keys in registers, find too few of them,
/// and spill the keys to the stack, where nothing wipes them. Reading them again for each batch
/// costs a load that broadcasts for free beside eight instructions of a round.
#[inline]
pub(crate) fn reread<T>(secret: &T) -> &T {
    let mut place: *const T = secret;
    // SAFETY: no instruction at all; the pointer comes out as it went in, with its provenance.
    unsafe {
        asm!("/* {0} */", inout(reg) place, options(readonly, nostack, preserves_flags));
        &*place
    }
}
