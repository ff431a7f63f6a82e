//! Finds bytes that were handed out twice, and zeros that were never random.

use core::hash::{BuildHasherDefault, Hasher};
use std::collections::HashMap;

const VALUE_BYTES: usize = 16;

/// A run of zeros that random bytes have once in 2^64 places.
const ZERO_RUN_BYTES: usize = 8;

/// Fails when two of `readers` were handed the same 16 bytes, at whatever place, or one was handed them
/// twice.
pub fn assert_nothing_in_common<R: AsRef<[u8]>>(readers: &[R], what: &str) {
    let mut places = HashMap::<u128, (usize, usize), BuildHasherDefault<AsIs>>::default();
    for (reader, bytes) in readers.iter().enumerate() {
        let bytes = bytes.as_ref();
        assert_no_zero_run(bytes, what);
        let (values, _) = bytes.as_chunks::<VALUE_BYTES>();
        for (number, &value) in values.iter().enumerate() {
            let place = (reader, number * VALUE_BYTES);
            let earlier = places.insert(u128::from_ne_bytes(value), place);
            assert_eq!(earlier, None, "{what}: the bytes at {place:?} came before");
        }
    }
    for (reader, bytes) in readers.iter().enumerate() {
        for (offset, value) in bytes.as_ref().windows(VALUE_BYTES).enumerate() {
            let place = (reader, offset);
            let same = places.get(&u128::from_ne_bytes(value.try_into().unwrap()));
            let same = same.filter(|&&earlier| earlier != place);
            assert_eq!(same, None, "{what}: the bytes at {place:?} are elsewhere");
        }
    }
}

/// Fails when two aligned 16-byte values of millions are the same. Sorts them.
pub fn assert_no_value_twice(values: &mut [[u8; VALUE_BYTES]], what: &str) {
    assert_no_zero_run(values.as_flattened(), what);
    values.sort_unstable();
    let twice = values.windows(2).filter(|pair| pair[0] == pair[1]).count();
    assert_eq!(twice, 0, "{what}: values of {} came twice", values.len());
}

/// Fails when some bytes were never written.
pub fn assert_no_zero_run(bytes: &[u8], what: &str) {
    let mut run = 0;
    for (offset, &byte) in bytes.iter().enumerate() {
        run = if byte == 0 { run + 1 } else { 0 };
        assert!(run < ZERO_RUN_BYTES, "{what}: zeros up to byte {offset}");
    }
}

/// The hash of a random number is the number.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn write(&mut self, _: &[u8]) {
        unreachable!("numbers only");
    }

    fn write_u128(&mut self, value: u128) {
        self.0 = value as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
