//! SHAd-256, the hash of FS&K: SHA-256 applied twice, so that a digest cannot be extended.

use sha2::{Digest, Sha256};
use zeroize::Zeroize;

/// The length of a digest in bytes.
pub(crate) const DIGEST_BYTES: usize = 32;

/// SHA256(SHA256(what `hash` has absorbed)).
pub(crate) fn finish_twice(hash: Sha256) -> [u8; DIGEST_BYTES] {
    let mut inner = hash.finalize();
    let outer = Sha256::digest(inner);
    inner.as_mut_slice().zeroize();
    outer.into()
}

/// SHAd-256 of the concatenated `parts`.
pub(crate) fn sha_d256(parts: &[&[u8]]) -> [u8; DIGEST_BYTES] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    finish_twice(hash)
}
