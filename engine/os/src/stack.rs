//! Wipes a call's bytes from the stack.

use core::sync::atomic::{Ordering, compiler_fence};

/// How much [`erase_below`] wipes: more than the calls before it take. In optimised code they take up to 1.4 KiB,
/// measured on x86-64; without optimisation more.
pub const ERASED_BYTES: usize = if cfg!(debug_assertions) { 4096 } else { 2048 };

/// Wipes [`ERASED_BYTES`] of stack below the caller's frame, where the functions that it called had theirs.
///
/// Those functions must not be inlined into the caller: mark them `#[inline(never)]`.
#[inline(never)]
pub fn erase_below() {
    let mut frame = core::mem::MaybeUninit::<[u8; ERASED_BYTES]>::uninit();
    // SAFETY: the array is ours to write.
    unsafe { core::ptr::write_bytes(frame.as_mut_ptr().cast::<u8>(), 0, ERASED_BYTES) };
    // The compiler must believe that the zeros are read.
    core::hint::black_box(frame.as_mut_ptr());
    compiler_fence(Ordering::SeqCst);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Leaves a marked frame on the stack and returns its address.
    #[inline(never)]
    fn leave_a_trace() -> *const u8 {
        let mut secret = [0x5a_u8; 1024];
        core::hint::black_box(secret.as_mut_ptr())
    }

    #[inline(never)]
    fn count_traces(address: *const u8) -> usize {
        // SAFETY: our own stack, below the present frame's caller; read one byte at a time and never kept.
        (0..1024)
            .filter(
                |&offset| unsafe { core::ptr::read_volatile(address.wrapping_add(offset)) } == 0x5a,
            )
            .count()
    }

    #[test]
    fn a_function_that_returned_leaves_no_trace() {
        let address = leave_a_trace();
        // Some of it may be overwritten by the counting itself.
        assert!(
            count_traces(address) > 256,
            "the trace was there to be erased"
        );
        let address = leave_a_trace();
        erase_below();
        assert_eq!(count_traces(address), 0);
    }
}
