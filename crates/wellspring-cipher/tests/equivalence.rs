//! Every kernel gives the bytes of the plain generator, whatever the length, the split and the
//! place they are asked for.

mod model;

use model::{COUNTER, KEY, kernels, keystream, keystream_and_counter};
use wellspring_cipher::{Kernel, Keystream, Prf};

/// What `kernel` gives in one fill, and the counter it is left at.
fn filled(kernel: Kernel, counter: u128, bytes: usize) -> (Vec<u8>, u128) {
    let mut keystream = Keystream::new(kernel, &KEY, counter);
    let mut destination = vec![0xa5; bytes];
    keystream.fill(&mut destination);
    (destination, keystream.counter())
}

#[test]
fn every_length_up_to_a_page_equals_the_plain_generator() {
    const LONGEST: usize = 4097;
    for kernel in kernels() {
        let plain = keystream(kernel.prf(), &KEY, COUNTER, LONGEST);
        for bytes in 0..=LONGEST {
            let (destination, counter) = filled(kernel, COUNTER, bytes);
            assert!(destination == plain[..bytes], "{kernel}: {bytes} bytes");
            let after = COUNTER + kernel.prf().blocks(bytes);
            assert_eq!(counter, after, "{kernel}: counter after {bytes} bytes");
        }
    }
}

#[test]
fn lengths_around_a_mebibyte_equal_the_plain_generator() {
    const MEBIBYTE: usize = 1 << 20;
    let lengths = [-65, -64, -63, -17, -16, -1, 0, 1, 15, 16, 17, 63, 64, 65];
    for prf in Prf::ALL {
        let plain = keystream(prf, &KEY, COUNTER, MEBIBYTE + 65);
        for kernel in kernels().filter(|kernel| kernel.prf() == prf) {
            for bytes in lengths.map(|difference| MEBIBYTE.checked_add_signed(difference).unwrap())
            {
                let (destination, counter) = filled(kernel, COUNTER, bytes);
                assert!(destination == plain[..bytes], "{kernel}: {bytes} bytes");
                assert_eq!(counter, COUNTER + prf.blocks(bytes), "{kernel}: {bytes}");
            }
        }
    }
}

#[test]
fn a_partial_block_costs_its_whole_counter_step() {
    for kernel in kernels() {
        let block = kernel.prf().block_bytes();
        let mut stream = Keystream::new(kernel, &KEY, COUNTER);
        for (bytes, blocks) in [(1, 1), (block - 1, 1), (block, 1), (block + 1, 2), (0, 0)] {
            let before = stream.counter();
            let mut destination = vec![0; bytes];
            stream.fill(&mut destination);
            let (plain, after) = keystream_and_counter(kernel.prf(), &KEY, before, bytes);
            assert_eq!(
                destination, plain,
                "{kernel}: {bytes} bytes from {before:#x}"
            );
            assert_eq!(stream.counter(), after, "{kernel}: {bytes} bytes");
            assert_eq!(after - before, blocks, "{kernel}: {bytes} bytes");
        }
    }
}

#[test]
fn a_fill_in_two_parts_equals_one_fill() {
    const BLOCKS: usize = 75;
    for kernel in kernels() {
        let block = kernel.prf().block_bytes();
        let (whole, after) = filled(kernel, COUNTER, BLOCKS * block);
        for first in 0..=BLOCKS {
            let mut stream = Keystream::new(kernel, &KEY, COUNTER);
            let mut parts = vec![0; BLOCKS * block];
            let (head, tail) = parts.split_at_mut(first * block);
            stream.fill(head);
            stream.fill(tail);
            assert!(parts == whole, "{kernel}: {first} blocks, then the others");
            assert_eq!(stream.counter(), after, "{kernel}");
        }
    }
}

#[test]
fn any_alignment_is_filled_and_nothing_around_it() {
    const GUARD_BYTES: usize = 128;
    const GUARD: u8 = 0xc3;
    let lengths = (0..=130).chain([255, 511, 512, 513, 1000, 1023, 1025, 2047, 2049]);
    for kernel in kernels() {
        for bytes in lengths.clone() {
            let plain = keystream(kernel.prf(), &KEY, COUNTER, bytes);
            for offset in 0..64 {
                let mut memory = vec![GUARD; GUARD_BYTES + offset + bytes + GUARD_BYTES];
                let inside = GUARD_BYTES + offset..GUARD_BYTES + offset + bytes;
                Keystream::new(kernel, &KEY, COUNTER).fill(&mut memory[inside.clone()]);
                assert!(
                    memory[inside.clone()] == plain,
                    "{kernel}: {bytes} at {offset}"
                );
                let guards = memory[..inside.start].iter().chain(&memory[inside.end..]);
                assert!(
                    guards.copied().all(|byte| byte == GUARD),
                    "{kernel}: wrote outside {bytes} bytes at {offset}",
                );
            }
        }
    }
}

#[test]
fn what_the_destination_held_before_does_not_matter() {
    for kernel in kernels() {
        for bytes in [1, 15, 64, 200, 1337, 5000] {
            let [mut zeros, mut ones] = [vec![0x00; bytes], vec![0xff; bytes]];
            Keystream::new(kernel, &KEY, COUNTER).fill(&mut zeros);
            Keystream::new(kernel, &KEY, COUNTER).fill(&mut ones);
            assert_eq!(zeros, ones, "{kernel}: {bytes} bytes");
        }
    }
}
