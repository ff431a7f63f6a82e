//! Every backend gives the bytes of the plain generator, at every length, split and address.

use crate::model::{COUNTER, KEY, backends, keystream, keystream_and_counter};
use wellspring_cipher::{Backend, Keystream, Prf};

/// The output of `backend` in one fill, and the counter after it.
fn filled(backend: Backend, counter: u128, bytes: usize) -> (Vec<u8>, u128) {
    let mut keystream = Keystream::new(backend, &KEY, counter);
    let mut destination = vec![0xa5; bytes];
    keystream.fill(&mut destination);
    (destination, keystream.counter())
}

#[test]
fn every_length_up_to_a_page_equals_the_plain_generator() {
    const LONGEST: usize = if cfg!(miri) { 70 } else { 4097 };
    for backend in backends() {
        let plain = keystream(backend.prf(), &KEY, COUNTER, LONGEST);
        for bytes in 0..=LONGEST {
            let (destination, counter) = filled(backend, COUNTER, bytes);
            assert!(destination == plain[..bytes], "{backend}: {bytes} bytes");
            let after = COUNTER + backend.prf().blocks(bytes);
            assert_eq!(counter, after, "{backend}: counter after {bytes} bytes");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "megabytes")]
fn lengths_around_a_mebibyte_equal_the_plain_generator() {
    const MEBIBYTE: usize = 1 << 20;
    let lengths = [-65, -64, -63, -17, -16, -1, 0, 1, 15, 16, 17, 63, 64, 65];
    for prf in Prf::ALL {
        let plain = keystream(prf, &KEY, COUNTER, MEBIBYTE + 65);
        for backend in backends().filter(|backend| backend.prf() == prf) {
            for bytes in lengths.map(|difference| MEBIBYTE.checked_add_signed(difference).unwrap())
            {
                let (destination, counter) = filled(backend, COUNTER, bytes);
                assert!(destination == plain[..bytes], "{backend}: {bytes} bytes");
                assert_eq!(counter, COUNTER + prf.blocks(bytes), "{backend}: {bytes}");
            }
        }
    }
}

#[test]
fn a_partial_block_costs_its_whole_counter_step() {
    for backend in backends() {
        let block = backend.prf().block_bytes();
        let mut stream = Keystream::new(backend, &KEY, COUNTER);
        for (bytes, blocks) in [(1, 1), (block - 1, 1), (block, 1), (block + 1, 2), (0, 0)] {
            let before = stream.counter();
            let mut destination = vec![0; bytes];
            stream.fill(&mut destination);
            let (plain, after) = keystream_and_counter(backend.prf(), &KEY, before, bytes);
            assert_eq!(
                destination, plain,
                "{backend}: {bytes} bytes from {before:#x}"
            );
            assert_eq!(stream.counter(), after, "{backend}: {bytes} bytes");
            assert_eq!(after - before, blocks, "{backend}: {bytes} bytes");
        }
    }
}

#[test]
fn a_fill_in_two_parts_equals_one_fill() {
    const BLOCKS: usize = if cfg!(miri) { 5 } else { 75 };
    for backend in backends() {
        let block = backend.prf().block_bytes();
        let (whole, after) = filled(backend, COUNTER, BLOCKS * block);
        for first in 0..=BLOCKS {
            let mut stream = Keystream::new(backend, &KEY, COUNTER);
            let mut parts = vec![0; BLOCKS * block];
            let (head, tail) = parts.split_at_mut(first * block);
            stream.fill(head);
            stream.fill(tail);
            assert!(parts == whole, "{backend}: {first} blocks, then the others");
            assert_eq!(stream.counter(), after, "{backend}");
        }
    }
}

#[test]
fn any_alignment_is_filled_and_nothing_around_it() {
    const GUARD_BYTES: usize = 128;
    const GUARD: u8 = 0xc3;
    const STEP: usize = if cfg!(miri) { 21 } else { 1 };
    let short = (0..=130).step_by(STEP);
    let long = [255, 511, 512, 513, 1000, 1023, 1025, 2047, 2049];
    let lengths = short.chain(long.into_iter().filter(|_| !cfg!(miri)));
    for backend in backends() {
        for bytes in lengths.clone() {
            let plain = keystream(backend.prf(), &KEY, COUNTER, bytes);
            for offset in (0..64).step_by(STEP) {
                let mut memory = vec![GUARD; GUARD_BYTES + offset + bytes + GUARD_BYTES];
                let inside = GUARD_BYTES + offset..GUARD_BYTES + offset + bytes;
                Keystream::new(backend, &KEY, COUNTER).fill(&mut memory[inside.clone()]);
                assert!(
                    memory[inside.clone()] == plain,
                    "{backend}: {bytes} at {offset}"
                );
                let guards = memory[..inside.start].iter().chain(&memory[inside.end..]);
                assert!(
                    guards.copied().all(|byte| byte == GUARD),
                    "{backend}: wrote outside {bytes} bytes at {offset}",
                );
            }
        }
    }
}

#[test]
fn what_the_destination_held_before_does_not_matter() {
    for backend in backends() {
        for bytes in [1, 15, 64, 200, 1337, 5000] {
            let [mut zeros, mut ones] = [vec![0x00; bytes], vec![0xff; bytes]];
            Keystream::new(backend, &KEY, COUNTER).fill(&mut zeros);
            Keystream::new(backend, &KEY, COUNTER).fill(&mut ones);
            assert_eq!(zeros, ones, "{backend}: {bytes} bytes");
        }
    }
}
