//! The chain of secrets that a child process derives, by SHA-256, from the one that fork(3) gave it.

use wellspring_core::sha256::{DIGEST_BYTES, Sha256};
use wellspring_sys::inheritance::with_secret;

/// The credit of a secret, in bits: all of them, because only a seeded parent draws one for its child.
pub(super) const CREDIT_BITS: u32 = 8 * DIGEST_BYTES as u32;

/// Writes the next secret of the chain, and replaces the end of the chain by another hash of itself, from which this
/// secret cannot be computed. Returns `false` if the process got no secret from its parent.
#[inline(never)]
pub(super) fn next_secret(secret: &mut [u8; DIGEST_BYTES]) -> bool {
    let made = with_secret(|line| {
        let mut hash = Sha256::ZERO;
        hash.update(b"out");
        hash.update(line);
        hash.finish_into(secret);
        hash.update(b"on");
        hash.update(line);
        hash.finish_into(line);
    });
    made.is_some()
}
