//! Keeps keys off the stack, and loops as they are.

use core::arch::asm;

/// The same reference. The compiler must read again what it read through it before.
///
/// A loop over batches would otherwise keep the widened keys in registers, find too few of them,
/// and spill the keys to the stack, where nothing wipes them. Reading them again for each batch
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

/// The same slice. The compiler must not know its length: it would write out a loop over it. Where [`reread`] is in the
/// loop, it does not write out parts of it either.
#[inline]
pub(super) fn of_unknown_length<T>(slice: &[T]) -> &[T] {
    let mut length = slice.len();
    // SAFETY: no instruction at all; the length comes out as it went in.
    unsafe {
        asm!("/* {0} */", inout(reg) length, options(pure, nomem, nostack, preserves_flags));
        core::slice::from_raw_parts(slice.as_ptr(), length)
    }
}
