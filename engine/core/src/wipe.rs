//! Wiping of short secrets.

use zeroize::optimization_barrier;

/// Overwrites `bytes` with zeros. The compiler cannot remove the writes, and makes them as wide as it can: [`Zeroize`] takes
/// an instruction a byte, and 160 bytes of a program for each key that is wiped.
///
/// [`Zeroize`]: zeroize::Zeroize
#[inline(always)]
pub fn wipe<const N: usize>(bytes: &mut [u8; N]) {
    *bytes = [0; N];
    optimization_barrier(bytes);
}
