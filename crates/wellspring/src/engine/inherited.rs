//! What a child process makes of the secret that fork(3) gave it: secrets, one after the other.

use wellspring_core::sha256::{DIGEST_BYTES, Sha256};
use wellspring_sys::inheritance::with_secret;

/// What a secret is credited: the parent was seeded, or it would have drawn none.
pub(super) const CREDIT_BITS: u32 = 8 * DIGEST_BYTES as u32;

/// Writes the next secret in line and says whether there is one. From what the process keeps, it cannot be computed
/// again.
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
