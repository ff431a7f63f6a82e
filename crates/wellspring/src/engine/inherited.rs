//! What a child process makes of the secret that fork(3) gave it: secrets, one after the other.

use super::collector_memory::CollectorState;
use wellspring_core::event::Event;
use wellspring_core::sha256::{DIGEST_BYTES, Sha256};
use wellspring_sys::inheritance::with_secret;
use zeroize::Zeroize;

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

/// Puts two secrets into pool 0, as many bytes as a reseed takes, if this process has a secret from its parent. Returns
/// whether it has.
pub(super) fn absorb(state: &mut CollectorState, credit_bits: u32) -> bool {
    let mut secret = [0; Event::MAX_BYTES];
    let has_secret = (0..2).all(|_| {
        let has_secret = next_secret(&mut secret);
        if has_secret {
            state.event.set(0, 0, &secret, credit_bits);
            state.distribution.absorb(&state.event);
        }
        has_secret
    });
    state.event.zeroize();
    secret.zeroize();
    has_secret
}
