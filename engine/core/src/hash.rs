//! SHAd-256, the hash of FS&K: SHA-256 applied twice, so that a digest cannot be extended.
//!
//! Hashes are finished in place, and digests are written to their final memory: neither moves.

pub(crate) use wellspring_cipher::sha256::{DIGEST_BYTES, Sha256};

/// Writes SHA256(SHA256(what `hash` has absorbed)) to `digest`; the hash is empty then.
#[inline]
pub(crate) fn finish_twice(hash: &mut Sha256, digest: &mut [u8; DIGEST_BYTES]) {
    hash.finish_into(digest);
    hash.update(digest);
    hash.finish_into(digest);
}

/// Writes SHAd-256 of the concatenated `parts` to `digest`.
pub(crate) fn sha_d256_into(parts: &[&[u8]], digest: &mut [u8; DIGEST_BYTES]) {
    let mut hash = Sha256::ZERO;
    for part in parts {
        hash.update(part);
    }
    finish_twice(&mut hash, digest);
}

/// A hash that has absorbed a purpose and the number of a node, so that its digest is for that node alone.
#[inline(never)]
pub(crate) fn for_node(purpose: &[u8], number: usize) -> Sha256 {
    let mut hash = Sha256::ZERO;
    hash.update(purpose);
    hash.update(&(number as u64).to_le_bytes());
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digest of FIPS 180-4's example, hashed once more (by Python's hashlib).
    #[test]
    fn a_hash_that_was_finished_is_empty_and_hashes_right_again() {
        let mut hash = Sha256::ZERO;
        for _ in 0..2 {
            let mut digest = [0; DIGEST_BYTES];
            hash.update(b"a");
            hash.update(b"bc");
            finish_twice(&mut hash, &mut digest);
            assert_eq!(
                digest[..8],
                [0x4f, 0x8b, 0x42, 0xc2, 0x2d, 0xd3, 0x72, 0x9b]
            );
        }
    }
}
