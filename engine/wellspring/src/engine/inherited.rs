//! The chain of secrets that a child process derives, by SHA-256, from the one that fork(3) gave it.

use super::collector_memory::CollectorState;
use wellspring_core::event::Event;
use wellspring_core::sha256::{DIGEST_BYTES, Sha256};
use wellspring_core::wipe;
use wellspring_os::inheritance::with_secret;
use zeroize::Zeroize;

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
    wipe(&mut secret);
    has_secret
}
