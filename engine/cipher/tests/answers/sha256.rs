//! SHA-256 by every implementation: published answers, the crate `sha2` as the oracle, and what a hash
//! holds before and after.

use proptest::prelude::*;
use sha2::Digest;
use std::panic::{AssertUnwindSafe, catch_unwind};
use wellspring_cipher::sha256::{Compression, DIGEST_BYTES, Sha256};

fn available() -> impl Iterator<Item = Compression> {
    let available = |compression: &Compression| compression.is_available();
    Compression::ALL.iter().copied().filter(available)
}

/// The digest of the parts in turn.
fn digest_of<'a>(
    compression: Compression,
    parts: impl IntoIterator<Item = &'a [u8]>,
) -> [u8; DIGEST_BYTES] {
    let (mut hash, mut digest) = (Sha256::new(), [0xa5; DIGEST_BYTES]);
    for part in parts {
        hash.update_by(compression, part);
    }
    hash.finish_into_by(compression, &mut digest);
    digest
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes that differ from their neighbours, so that no two words can be swapped unnoticed.
fn message(bytes: usize) -> Vec<u8> {
    (0..bytes)
        .map(|index| (index * 151 + index / 251) as u8)
        .collect()
}

/// Miri interprets: about a thousandth of the speed.
const LONGEST: usize = if cfg!(miri) { 130 } else { 1100 };

#[test]
fn published_digests_are_given() {
    // The examples of FIPS 180-4 by NIST ("SHA256.pdf"), and from the byte-oriented vectors of the
    // validation programme (SHAVS, SHA256ShortMsg.rsp): lengths 0, 8 and 512 bits.
    let answers: [(&[u8], &str); 5] = [
        (
            b"",
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        ),
        (
            b"abc",
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        ),
        (
            b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        ),
        (
            b"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1",
        ),
        (
            b"\xd3",
            "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1",
        ),
    ];
    for compression in available() {
        for (message, expected) in answers {
            let digest = digest_of(compression, [message]);
            assert_eq!(hex(&digest), expected, "{compression}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "a million bytes")]
fn a_million_letters_give_the_published_digest() {
    let letters = vec![b'a'; 1_000_000];
    for compression in available() {
        // In parts of 1,000 bytes, which end at all even places of a block.
        let digest = digest_of(compression, letters.chunks(1_000));
        assert_eq!(
            hex(&digest),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
            "{compression}"
        );
    }
}

#[test]
fn every_length_equals_the_oracle() {
    let message = message(LONGEST);
    for compression in available() {
        for bytes in 0..=LONGEST {
            let expected: [u8; DIGEST_BYTES] = sha2::Sha256::digest(&message[..bytes]).into();
            let digest = digest_of(compression, [&message[..bytes]]);
            assert_eq!(digest, expected, "{compression}: {bytes} bytes");
        }
    }
}

#[test]
fn a_message_in_two_parts_equals_the_whole() {
    let message = message(LONGEST.min(200));
    let expected: [u8; DIGEST_BYTES] = sha2::Sha256::digest(&message).into();
    for compression in available() {
        for split in 0..=message.len() {
            let (head, tail) = message.split_at(split);
            let digest = digest_of(compression, [head, &[], tail]);
            assert_eq!(digest, expected, "{compression}: split at {split}");
        }
    }
}

#[test]
fn a_finished_hash_is_empty_and_holds_nothing() {
    for compression in available() {
        for bytes in [0, 1, 55, 56, 64, 100, 119] {
            let mut hash = Sha256::new();
            let mut digest = [0; DIGEST_BYTES];
            hash.update_by(compression, &message(bytes));
            hash.finish_into_by(compression, &mut digest);
            assert_eq!(bytes_of(&hash), [0; 104], "{compression}: {bytes} bytes");
            hash.update_by(compression, b"abc");
            hash.finish_into_by(compression, &mut digest);
            assert_eq!(digest, digest_of(compression, [b"abc".as_slice()]));
        }
    }
}

#[test]
fn the_empty_hash_is_all_zeros() {
    assert_eq!(bytes_of(&Sha256::ZERO), [0; 104]);
    assert_eq!(bytes_of(&Sha256::new()), [0; 104]);
    assert_eq!(bytes_of(&Sha256::default()), [0; 104]);
}

#[test]
fn a_dropped_hash_holds_nothing() {
    let mut place = std::mem::MaybeUninit::new(Sha256::new());
    // SAFETY: the hash is dropped once, and its bytes stay initialized: the drop writes zeros.
    let after = unsafe {
        place.assume_init_mut().update(&message(100));
        assert_ne!(bytes_of(place.assume_init_ref()), [0; 104]);
        place.assume_init_drop();
        std::ptr::read_volatile(place.as_ptr().cast::<[u8; 104]>())
    };
    assert_eq!(after, [0; 104]);
}

fn bytes_of(hash: &Sha256) -> [u8; 104] {
    const { assert!(size_of::<Sha256>() == 104) };
    // SAFETY: repr(C), and 104 bytes are the sum of its fields: all are initialized.
    unsafe { std::ptr::from_ref(hash).cast::<[u8; 104]>().read() }
}

#[test]
fn detect_gives_the_first_available_implementation() {
    assert_eq!(Some(Compression::detect()), available().next());
    assert_eq!(Compression::ALL.last(), Some(&Compression::Portable));
    assert!(Compression::Portable.is_available());
    let expected: [u8; DIGEST_BYTES] = sha2::Sha256::digest(b"abc").into();
    assert_eq!(Sha256::digest(b"abc"), expected);
}

#[test]
fn an_implementation_the_cpu_lacks_is_refused_before_it_runs() {
    let lacking = Compression::ALL.iter().copied();
    for compression in lacking.filter(|compression| !compression.is_available()) {
        let mut hash = Sha256::new();
        let update = || hash.update_by(compression, &[0; 64]);
        let updated = catch_unwind(AssertUnwindSafe(update));
        assert!(updated.is_err(), "{compression} ran on a CPU that lacks it");
    }
}

#[test]
fn debug_output_shows_nothing_of_the_message() {
    let mut hash = Sha256::new();
    hash.update(b"secret");
    assert_eq!(format!("{hash:?}"), "Sha256 { .. }");
}

proptest! {
    #![proptest_config(crate::config(300))]

    #[test]
    fn any_parts_equal_the_oracle(
        parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..8),
    ) {
        let mut oracle = sha2::Sha256::new();
        parts.iter().for_each(|part| oracle.update(part));
        let expected: [u8; DIGEST_BYTES] = oracle.finalize().into();
        for compression in available() {
            let digest = digest_of(compression, parts.iter().map(Vec::as_slice));
            prop_assert_eq!(digest, expected, "{}", compression);
        }
    }
}
