//! The counter has 128 bits and carries over all of them, at every block of a batch. A lane that wraps
//! at 2^32 or 2^64 is a frequent fault of vector code.

use crate::model::{Counter, KEY, backends, keystream_and_counter};
use proptest::prelude::*;
use wellspring_cipher::{Backend, Keystream, Prf};

/// More than four times the widest batch, 32 blocks. Miri runs a few blocks only, on targets other than
/// x86-64: it knows no inline assembler.
const MOST_BLOCKS: usize = if cfg!(miri) { 9 } else { 140 };
/// Every start of a run is tried, under Miri each 43rd.
const STEP: usize = if cfg!(miri) { 43 } else { 1 };

/// The bits above which a carry can be lost; the counter itself ends at the last.
const BOUNDARIES: [u32; 6] = [8, 16, 32, 64, 96, 128];

/// The first counter after the carry out of the low `bits` bits.
fn boundary(bits: u32, high: u128) -> u128 {
    1u128.checked_shl(bits).unwrap_or(0).wrapping_mul(high | 1)
}

fn assert_equals_plain(backend: Backend, key: &[u8; 32], start: u128, bytes: usize) {
    let (plain, after) = keystream_and_counter(backend.prf(), key, start, bytes);
    let mut stream = Keystream::new(backend, key, start);
    let mut destination = vec![0; bytes];
    stream.fill(&mut destination);
    let different = destination
        .iter()
        .zip(&plain)
        .position(|(got, want)| got != want);
    assert_eq!(
        different, None,
        "{backend} from {start:#x}: first wrong byte"
    );
    assert_eq!(
        stream.counter(),
        after,
        "{backend} from {start:#x}: counter"
    );
    assert_eq!(after, start.wrapping_add(backend.prf().blocks(bytes)));
}

#[test]
fn the_carry_reaches_the_next_word_from_every_lane() {
    for prf in Prf::ALL {
        for bits in BOUNDARIES {
            let start = boundary(bits, 1).wrapping_sub(130);
            // One long plain run holds the runs from all its starts.
            let block = prf.block_bytes();
            let (plain, _) = keystream_and_counter(prf, &KEY, start, (132 + MOST_BLOCKS) * block);
            for backend in backends().filter(|backend| backend.prf() == prf) {
                for skipped in (0..=132).step_by(STEP) {
                    let mut destination = vec![0; MOST_BLOCKS * block];
                    let from = start.wrapping_add(skipped as u128);
                    let mut stream = Keystream::new(backend, &KEY, from);
                    stream.fill(&mut destination);
                    assert!(
                        destination == plain[skipped * block..][..destination.len()],
                        "{backend}: from {from:#x} over 2^{bits}",
                    );
                    let after = from.wrapping_add(MOST_BLOCKS as u128);
                    assert_eq!(stream.counter(), after, "{backend}: from {from:#x}");
                }
            }
        }
    }
}

#[test]
fn the_model_carries_as_wide_integers_do() {
    for bits in BOUNDARIES {
        let start = boundary(bits, 1).wrapping_sub(2);
        let mut counter = Counter(start.to_le_bytes());
        for step in 1..=4 {
            counter.step();
            assert_eq!(u128::from_le_bytes(counter.0), start.wrapping_add(step));
        }
    }
}

proptest! {
    #![proptest_config(crate::config(400))]

    #[test]
    fn any_key_and_length_carries_at_every_boundary(
        key: [u8; 32],
        bits in prop::sample::select(BOUNDARIES.as_slice()),
        high: u128,
        before in -2i128..=130,
        blocks in 0..MOST_BLOCKS,
        partial in 0usize..64,
    ) {
        let start = boundary(bits, high).wrapping_sub(before as u128);
        for backend in backends() {
            let block = backend.prf().block_bytes();
            assert_equals_plain(backend, &key, start, blocks * block + partial % block);
        }
    }

    #[test]
    fn any_key_and_counter_equal_the_plain_generator(
        key: [u8; 32],
        start: u128,
        bytes in 0..20 * MOST_BLOCKS,
    ) {
        for backend in backends() {
            assert_equals_plain(backend, &key, start, bytes);
        }
    }
}
