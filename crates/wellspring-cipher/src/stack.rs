//! Wipes what a backend leaves on the stack.
//!
//! A wipe starts below the frame of its caller and covers the frames of the functions that the caller
//! called before. Those must not be inlined into the caller. The sizes are those of optimised code, rounded
//! up generously; tests search the stack for secrets after each call.

use crate::Backend;
use crate::backend::Kind;
#[cfg(target_arch = "x86_64")]
use crate::x86::{chacha20_avx512, features::Features, xmm, ymm, zmm};
use zeroize::zeroize_stack;

/// The most stack that a backend uses in a build without optimisation.
const UNOPTIMISED_BYTES: usize = 6 << 10;

/// Overwrites the stack with zeros, `BYTES` bytes down from the frame of the caller.
///
/// For a function that has called others with secrets. Those must be `#[inline(never)]`: what is inlined
/// works in the caller's own frame, which this does not reach. `BYTES` is what they take of the stack in
/// optimised code; with debug assertions at least 6 KiB are wiped, as the compiler keeps less in
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

/// Wipes the stack and the registers when it is dropped, after a key was set up: values that move
/// leave copies.
///
/// It is a guard so that its owner can return the keystream directly from the call that makes it. A local
/// variable for the keystream would be one more copy, in a frame that no wipe covers.
pub(crate) struct WipeAfterSetUp(pub(crate) Backend);

impl Drop for WipeAfterSetUp {
    #[inline]
    fn drop(&mut self) {
        match self.0.kind() {
            _ if cfg!(debug_assertions) => zeroize_stack::<UNOPTIMISED_BYTES>(),
            // Its largest frame is 1.1 KiB on x86-64: three forms of the round keys.
            Kind::Aes256Portable => zeroize_stack::<4096>(),
            _ => zeroize_stack::<256>(),
        }
        #[cfg(target_arch = "x86_64")]
        xmm::wipe_registers();
    }
}

/// Wipes the stack after `backend` has filled a destination.
///
/// The AES backends for x86-64 and ChaCha20 on AVX-512 work in registers only, and wipe those. The others
/// spill states of the rounds to the stack, up to 1.6 KiB. From such a state ChaCha20 can be run
/// backwards to the key.
#[inline]
pub(crate) fn wipe_after_fill(backend: Backend) {
    match backend.kind() {
        _ if cfg!(debug_assertions) => zeroize_stack::<UNOPTIMISED_BYTES>(),
        #[cfg(target_arch = "x86_64")]
        Kind::Aes256Vaes512 | Kind::Aes256Vaes256 | Kind::Aes256Ni | Kind::ChaCha20Avx512 => {}
        _ => zeroize_stack::<2048>(),
    }
}

/// Wipes the stack after `backend` has filled `bytes` with blocks of [`SeekableKeystream`](crate::SeekableKeystream):
/// long requests of ChaCha on AVX-512 use it.
#[inline]
#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(unused_variables, reason = "no other backend looks at the length")
)]
pub(crate) fn wipe_after_seekable_fill(backend: Backend, bytes: usize) {
    match backend.kind() {
        #[cfg(target_arch = "x86_64")]
        Kind::ChaCha20Avx512 if bytes >= chacha20_avx512::OVERLAPPED_FROM_BYTES => {
            // Without optimisation its vectors take 10 KiB and more.
            if cfg!(debug_assertions) {
                zeroize_stack::<{ 16 << 10 }>();
            } else {
                zeroize_stack::<2048>();
            }
        }
        _ => wipe_after_fill(backend),
    }
}
