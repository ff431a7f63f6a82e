//! The seed file's parser on any bytes, as they are and with the right checksum added: no panic, and a file that it
//! accepts is written again byte for byte.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wellspring_core::seed_file::{FULL_CREDIT_BITS, MAX_BYTES, SeedFile};
use wellspring_core::sha256::Sha256;

fn check(bytes: &[u8]) {
    let Ok(file) = SeedFile::parse(bytes) else {
        return;
    };
    assert_eq!(file.to_bytes().as_slice(), bytes);
    assert!(bytes.len() <= MAX_BYTES && file.sections() > 0);
    let credits = [file.file_id, [1; 32]].map(|here| file.judge(&here, &[1; 16]));
    assert!(
        credits
            .iter()
            .all(|credit| credit.is_err() || *credit == Ok(file.claimed_bits()))
    );
    assert!(file.claimed_bits() <= FULL_CREDIT_BITS);
    assert!(
        file.judge(&file.file_id, &file.boot).is_err(),
        "credited in its own boot"
    );
    // Its successor is a file, too.
    let next = SeedFile::successor(Some(&file), &[[2; 32]; 3], 7);
    assert_eq!(SeedFile::parse(&next.to_bytes()).as_ref(), Ok(&next));
    assert!(next.counter > file.counter || file.counter == u64::MAX);
    let (mut seed, mut next_seed) = ([0; 32], [0; 32]);
    file.seed_into(&mut seed);
    next.seed_into(&mut next_seed);
    assert_ne!(seed, next_seed);
}

fuzz_target!(|data: &[u8]| {
    check(data);
    check(&[data, &Sha256::digest(data)].concat());
});
