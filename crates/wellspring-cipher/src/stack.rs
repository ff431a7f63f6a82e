//! What a backend leaves on the stack, and its end.
//!
//! The wipes reach down from the frame of whoever calls them, over the frames of the functions that
//! it has called; those must not be inlined into it. Sizes are those of optimised code with room to
//! spare, and tests read the stack for what may be left.

use crate::Backend;
#[cfg(target_arch = "x86_64")]
use crate::x86::{features::Features, xmm, ymm, zmm};
use zeroize::zeroize_stack;

/// What any backend takes where the compiler keeps nothing in registers.
const UNOPTIMISED_BYTES: usize = 16 << 10;

/// Overwrites the stack with zeros, `BYTES` bytes down from the frame of the caller.
///
/// For a function that has called others with secrets. Those must be `#[inline(never)]`: what is inlined
/// works in the caller's own frame, which this does not reach. `BYTES` is what they take of the stack in
/// optimised code; with debug assertions at least 16 KiB are wiped, as the compiler keeps less in
/// registers then. Costs about 1 ns for 64 bytes.
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

/// Wipes every vector register that this CPU has: a memory copy of the C library takes the widest.
#[inline]
pub(crate) fn wipe_all_registers() {
    #[cfg(target_arch = "x86_64")]
    {
        let features = Features::of_this_machine();
        if features.contain(Features::AVX512) {
            // SAFETY: the CPU has AVX-512.
            unsafe { zmm::wipe_registers() }
        } else if features.contain(Features::AVX2) {
            // SAFETY: the CPU has AVX2.
            unsafe { ymm::wipe_registers() }
        } else {
            xmm::wipe_registers();
        }
    }
}

/// Wipes the stack and the registers when it is dropped, after a key has been set up: values that
/// move leave copies.
///
/// A guard, so that the function that holds it can return the keystream straight from the call that
/// makes it; a keystream with a name would be moved once more, out of the frame that nobody wipes.
pub(crate) struct WipeAfterSetUp(pub(crate) Backend);

impl Drop for WipeAfterSetUp {
    #[inline]
    fn drop(&mut self) {
        match self.0 {
            _ if cfg!(debug_assertions) => zeroize_stack::<UNOPTIMISED_BYTES>(),
            Backend::Aes256Portable | Backend::ChaCha20Portable => zeroize_stack::<4096>(),
            #[cfg(target_arch = "x86_64")]
            _ => zeroize_stack::<256>(),
        }
        #[cfg(target_arch = "x86_64")]
        xmm::wipe_registers();
    }
}

/// Wipes the stack after `backend` has filled a destination.
///
/// The AES backends and ChaCha20 on AVX-512 do all their work in registers, and wipe those. The
/// others spill states of the rounds, from which ChaCha20 can be run backwards to the key.
#[inline]
pub(crate) fn wipe_after_fill(backend: Backend) {
    match backend {
        _ if cfg!(debug_assertions) => zeroize_stack::<UNOPTIMISED_BYTES>(),
        #[cfg(target_arch = "x86_64")]
        Backend::Aes256Vaes512
        | Backend::Aes256Vaes256
        | Backend::Aes256Ni
        | Backend::ChaCha20Avx512 => {}
        #[cfg(target_arch = "x86_64")]
        Backend::ChaCha20Avx2 | Backend::ChaCha20Sse2 => zeroize_stack::<2048>(),
        Backend::Aes256Portable | Backend::ChaCha20Portable => zeroize_stack::<4096>(),
    }
}
