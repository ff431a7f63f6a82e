//! The seed file's parser on any bytes, as they are and under a right checksum: no panic, and what it takes comes out
//! again byte for byte.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sha2::{Digest, Sha256};
use wellspring_core::seed_file::{FULL_CREDIT_BITS, MAX_BYTES, SeedFile};

fn check(bytes: &[u8]) {
    let Ok(file) = SeedFile::parse(bytes) else {
        return;
    };
    assert_eq!(file.to_bytes().as_slice(), bytes);
    assert!(bytes.len() <= MAX_BYTES && file.sections() > 0);
    let worth = [file.place, [1; 32]].map(|here| file.judge(&here, &[1; 16]));
    assert!(worth.iter().all(|worth| worth.is_err() || *worth == Ok(file.claimed_bits())));
    assert!(file.claimed_bits() <= FULL_CREDIT_BITS);
    assert!(file.judge(&file.place, &file.boot).is_err(), "credited in its own boot");
    // What comes next is a file of its own.
    let next = SeedFile::successor(Some(&file), &[[2; 32]; 3], 7);
    assert_eq!(SeedFile::parse(&next.to_bytes()).as_ref(), Ok(&next));
    assert!(next.counter > file.counter || file.counter == u64::MAX);
    assert_ne!(*next.seed(), *file.seed());
}

fuzz_target!(|data: &[u8]| {
    check(data);
    check(&[data, Sha256::digest(data).as_slice()].concat());
});
