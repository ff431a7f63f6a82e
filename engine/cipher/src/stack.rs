//! Wipes what a backend leaves on the stack.
//!
//! A wipe starts below the frame of its caller and covers the frames of the functions that the caller
//! called before. Those functions must not be inlined into the caller. The sizes were measured in optimised
//! code and rounded up generously; tests search the stack for secrets after each call.

use crate::machine;
use zeroize::zeroize_stack;

/// The most stack that a backend uses in a build without optimisation.
const UNOPTIMISED_BYTES: usize = 6 << 10;

/// Overwrites the stack with zeros, `BYTES` bytes down from the frame of the caller.
///
/// For a function that has called others with secrets. The others must be `#[inline(never)]`: inlined
/// code works in the caller's own frame, which this does not reach. `BYTES` is the stack that they take
/// in optimised code; with debug assertions at least 6 KiB are wiped, as the compiler keeps less in
/// registers then.
///
/// ```
/// # use wellspring_cipher::erase_stack;
/// #[inline(never)]
/// fn handle(secret: &[u8; 32]) -> u8 {
///     let copy = *secret;
///     copy.iter().fold(0, |sum, byte| sum ^ byte)
/// }
///
/// let parity = handle(&[7; 32]);
/// erase_stack::<256>();
/// # assert_eq!(parity, 0);
/// ```
#[inline(always)]
pub fn erase_stack<const BYTES: usize>() {
    if cfg!(debug_assertions) && BYTES < UNOPTIMISED_BYTES {
        zeroize_stack::<UNOPTIMISED_BYTES>();
    } else {
        zeroize_stack::<BYTES>();
    }
}

/// Like [`erase_stack`], for a size that is data of an implementation: at least `bytes`, and nothing for 0.
#[inline(always)]
pub(crate) fn erase_stack_of(bytes: usize) {
    match bytes.max(cfg!(debug_assertions).into()) {
        0 => {}
        1..=256 => erase_stack::<256>(),
        257..=1024 => erase_stack::<1024>(),
        1025..=2048 => erase_stack::<2048>(),
        2049..=4096 => erase_stack::<4096>(),
        _ => erase_stack::<{ 16 << 10 }>(),
    }
}

/// Wipes the stack and the registers when it is dropped, after a key was set up: values that move
/// leave copies. It holds the bytes of the stack that the backend's `expand` takes.
///
/// It is a guard so that its owner can return the keystream directly from the call that makes it. A local
/// variable for the keystream would be one more copy, in a frame that no wipe covers.
pub(crate) struct EraseAfterSetUp(pub(crate) usize);

impl Drop for EraseAfterSetUp {
    #[inline]
    fn drop(&mut self) {
        erase_stack_of(self.0);
        machine::wipe_basic_registers();
    }
}
