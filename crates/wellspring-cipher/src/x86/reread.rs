//! Keys stay where their owner keeps them.

use core::arch::asm;

/// The same reference; the compiler forgets what it has read through it.
///
/// A loop over batches would otherwise keep the widened keys in registers, find too few of them,
/// and spill the keys to the stack, where nobody wipes them. Reading them again for each batch
/// costs a load that broadcasts for free beside eight instructions of a round.
#[inline]
pub(super) fn reread<T>(secret: &T) -> &T {
    let mut place: *const T = secret;
    // SAFETY: no instruction at all; the pointer comes out as it went in, with its provenance.
    unsafe {
        asm!("/* {0} */", inout(reg) place, options(readonly, nostack, preserves_flags));
        &*place
    }
}
