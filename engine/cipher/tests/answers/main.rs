//! Every implementation gives the right bytes: published answers, every length, split and address, the counter that carries
//! over all of its 128 bits, ChaCha with fewer rounds, the choice of a backend and of a width.
//!
//! ```text
//! model          the plain generator that backends are compared with
//! sha256         SHA-256: published answers, an oracle, what a hash holds
//! constant_time  no branch and no address depends on a key
//! ```

#[cfg(all(target_os = "linux", target_arch = "x86_64", not(miri)))]
mod constant_time;
#[path = "../common/model.rs"]
mod model;
mod sha256;

use crate::model::{
    COUNTER, Counter, KEY, backends, chacha20_block, keystream, keystream_and_counter,
};
use proptest::prelude::{ProptestConfig, *};
use std::collections::HashSet;
use std::panic::catch_unwind;
use wellspring_cipher::{Backend, Keystream, Prf, SimdTask, Width};

/// No file of failed seeds beside the tests: a failure prints its values. Miri interprets: about a thousandth of the speed.
fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(if cfg!(miri) { 2 } else { cases })
    }
}

// Published answers, through the little-endian 128-bit counter.

/// The bytes 00 01 02 .. 1f: the key of FIPS 197 C.3 and of RFC 8439 2.3.2.
const COUNTING_KEY: [u8; 32] = {
    let mut key = [0; 32];
    let mut index = 0;
    while index < key.len() {
        key[index] = index as u8;
        index += 1;
    }
    key
};

fn backends_of(prf: Prf) -> impl Iterator<Item = Backend> {
    backends().filter(move |backend| backend.prf() == prf)
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter_map(|digit| digit.to_digit(16))
        .map(|digit| digit as u8)
        .collect();
    digits
        .chunks_exact(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

fn block_at(backend: Backend, key: &[u8; 32], input: &[u8]) -> Vec<u8> {
    let counter = u128::from_le_bytes(input.try_into().unwrap());
    let mut block = vec![0; backend.prf().block_bytes()];
    Keystream::new(backend, key, counter).fill(&mut block);
    block
}

#[test]
fn aes256_encrypts_the_example_of_fips_197() {
    let plaintext = from_hex("00112233445566778899aabbccddeeff"); // C.3
    let ciphertext = from_hex("8ea2b7ca516745bfeafc49904b496089");
    for backend in backends_of(Prf::Aes256) {
        assert_eq!(
            block_at(backend, &COUNTING_KEY, &plaintext),
            ciphertext,
            "{backend}"
        );
    }
}

#[test]
fn aes256_encrypts_the_ecb_and_counter_examples_of_sp_800_38a() {
    let key = from_hex("603deb1015ca71be2b73aef0857d7781 1f352c073b6108d72d9810a30914dff4");
    let pairs = [
        // F.1.5, ECB-AES256: plaintext, ciphertext.
        (
            "6bc1bee22e409f96e93d7e117393172a",
            "f3eed1bdb5d2a03c064b5a7e3db181f8",
        ),
        (
            "ae2d8a571e03ac9c9eb76fac45af8e51",
            "591ccb10d410ed26dc5ba74a31362870",
        ),
        (
            "30c81c46a35ce411e5fbc1191a0a52ef",
            "b6ed21b99ca6f4f9f153e7b1beafed1d",
        ),
        (
            "f69f2445df4f9b17ad2b417be66c3710",
            "23304b7a39f9f3ff067d8d8f9e24ecc7",
        ),
        // F.5.5, CTR-AES256: input block, output block. Its counter is big endian, so that each
        // step is another counter here.
        (
            "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
            "0bdf7df1591716335e9a8b15c860c502",
        ),
        (
            "f0f1f2f3f4f5f6f7f8f9fafbfcfdff00",
            "5a6e699d536119065433863c8f657b94",
        ),
        (
            "f0f1f2f3f4f5f6f7f8f9fafbfcfdff01",
            "1bc12c9c01610d5d0d8bd6a3378eca62",
        ),
        (
            "f0f1f2f3f4f5f6f7f8f9fafbfcfdff02",
            "2956e1c8693536b1bee99c73a31576b6",
        ),
    ];
    for backend in backends_of(Prf::Aes256) {
        for (input, output) in pairs {
            let block = block_at(
                backend,
                &key.as_slice().try_into().unwrap(),
                &from_hex(input),
            );
            assert_eq!(block, from_hex(output), "{backend}: {input}");
        }
    }
}

#[test]
fn chacha20_gives_the_block_of_rfc_8439() {
    // 2.3.2: block count 1, nonce 00 00 00 09 00 00 00 4a 00 00 00 00.
    let input = from_hex("01000000 000000090000004a00000000");
    let block = from_hex(
        "10f1e7e4d13b5915500fdd1fa32071c4 c7d1f4c733c068030422aa9ac3d46c4e
         d2826446079faa0914c2d705d98b02a2 b5129cd1de164eb9cbd083e8a2503c4e",
    );
    let model = chacha20_block(&COUNTING_KEY, &input.as_slice().try_into().unwrap());
    assert_eq!(model.as_slice(), block, "the model itself");
    for backend in backends_of(Prf::ChaCha20) {
        assert_eq!(block_at(backend, &COUNTING_KEY, &input), block, "{backend}");
    }
}

#[test]
fn chacha20_gives_the_keystreams_of_rfc_8439_appendix_a1() {
    // Test vectors 1 to 3: key, block count and nonce, keystream.
    let zero = [0; 32];
    let mut last_bit = [0; 32];
    last_bit[31] = 1;
    let vectors = [
        (
            zero,
            "00000000 000000000000000000000000",
            "76b8e0ada0f13d90405d6ae55386bd28 bdd219b8a08ded1aa836efcc8b770dc7
             da41597c5157488d7724e03fb8d84a37 6a43b8f41518a11cc387b669b2ee6586",
        ),
        (
            zero,
            "01000000 000000000000000000000000",
            "9f07e7be5551387a98ba977c732d080d cb0f29a048e3656912c6533e32ee7aed
             29b721769ce64e43d57133b074d839d5 31ed1f28510afb45ace10a1f4b794d6f",
        ),
        (
            last_bit,
            "01000000 000000000000000000000000",
            "3aeb5224ecf849929b9d828db1ced4dd 832025e8018b8160b82284f3c949aa5a
             8eca00bbb4a73bdad192b5c42f73f2fd 4e273644c8b36125a64addeb006c13a0",
        ),
    ];
    for backend in backends_of(Prf::ChaCha20) {
        for (key, input, block) in vectors {
            let got = block_at(backend, &key, &from_hex(input));
            assert_eq!(got, from_hex(block), "{backend}: {input}");
        }
    }
}

// Every backend gives the bytes of the plain generator, at every length, split and address.

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

// The counter has 128 bits and carries over all of them, at every block of a batch. A lane that wraps
// at 2^32 or 2^64 is a frequent fault of vector code.

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

// Keystreams at every block number and number of rounds, on every implementation.

/// The functions and the rounds of ChaCha; AES-256 takes no notice of them.
const FUNCTIONS: [(Prf, usize); 4] = [
    (Prf::Aes256, 20),
    (Prf::ChaCha20, 8),
    (Prf::ChaCha20, 12),
    (Prf::ChaCha20, 20),
];

/// `bytes` of the blocks from `first` on, by the model.
fn plain(prf: Prf, rounds: usize, first: u128, bytes: usize) -> Vec<u8> {
    if prf == Prf::Aes256 {
        return model::keystream(prf, &KEY, first, bytes);
    }
    let mut stream = Vec::new();
    let mut counter = model::Counter(first.to_le_bytes());
    while stream.len() < bytes {
        let states = model::chacha20_states(&KEY, &counter.0);
        for (last, first) in states[rounds].iter().zip(states[0]) {
            stream.extend(last.wrapping_add(first).to_le_bytes());
        }
        counter.step();
    }
    stream.truncate(bytes);
    stream
}

fn keystreams() -> impl Iterator<Item = (Prf, usize, Backend, Keystream)> {
    FUNCTIONS.into_iter().flat_map(|(prf, rounds)| {
        model::backends()
            .filter(move |backend| backend.prf() == prf)
            .map(move |backend| (prf, rounds, backend, Keystream::new(backend, &KEY, 0)))
    })
}

#[test]
fn every_length_equals_the_model_at_every_number_of_rounds() {
    const LONGEST: usize = if cfg!(miri) { 70 } else { 1100 };
    for (prf, rounds, backend, keystream) in keystreams() {
        let expected = plain(prf, rounds, COUNTER, LONGEST);
        for bytes in 0..=LONGEST {
            let mut filled = vec![0xa5; bytes];
            keystream.fill_at(rounds, COUNTER, &mut filled);
            assert!(
                filled == expected[..bytes],
                "{backend}, {rounds} rounds: {bytes}"
            );
        }
    }
}

#[test]
fn block_numbers_carry_over_all_128_bits() {
    const BLOCKS: usize = if cfg!(miri) { 5 } else { 40 };
    for (prf, rounds, backend, keystream) in keystreams() {
        for wrap in [1 << 32, 1 << 64, 1 << 96, 5 << 32, 0] {
            let first = u128::wrapping_sub(wrap, 3);
            let bytes = BLOCKS * prf.block_bytes() + 5;
            let mut filled = vec![0; bytes];
            keystream.fill_at(rounds, first, &mut filled);
            assert!(
                filled == plain(prf, rounds, first, bytes),
                "{backend}, {rounds} rounds: from {first:#x}"
            );
        }
    }
}

#[test]
fn a_fill_leaves_no_trace_in_the_next_one() {
    for (_, rounds, backend, keystream) in keystreams() {
        let (mut first, mut again) = ([0; 100], [0; 100]);
        keystream.fill_at(rounds, 7, &mut first);
        keystream.fill_at(rounds, u128::MAX, &mut [0; 33]);
        keystream.fill_at(rounds, 7, &mut again);
        assert_eq!(first, again, "{backend}, {rounds} rounds");
    }
}

#[test]
fn the_reduced_rounds_give_the_published_blocks() {
    // draft-strombergson-chacha-test-vectors-01, TC1 with a key of 256 bits: key and IV are zero.
    let published = [
        (
            8,
            "3e00ef2f895f40d67f5bb8e81f09a5a12c840ec3ce9a7f3b181be188ef711a1e",
        ),
        (
            12,
            "9bf49a6a0755f953811fce125f2683d50429c3bb49e074147e0089a52eae155f",
        ),
        (
            20,
            "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7",
        ),
    ];
    let keystream = Keystream::new(Backend::detect(Prf::ChaCha20), &[0; 32], 0);
    for (rounds, expected) in published {
        let mut block = [0; 32];
        keystream.fill_at(rounds, 0, &mut block);
        let hex: String = block.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected, "{rounds} rounds");
    }
}

#[test]
#[should_panic(expected = "ChaCha has other rounds")]
fn other_numbers_of_rounds_are_refused() {
    let keystream = Keystream::new(Backend::ChaCha20Portable, &KEY, 0);
    keystream.fill_at(10, 0, &mut [0; 64]);
}

// The list of backends and the choice among them.

#[test]
fn detect_gives_the_first_available_backend_of_its_function() {
    for prf in Prf::ALL {
        let detected = Backend::detect(prf);
        assert_eq!(detected.prf(), prf);
        let first = model::backends().find(|backend| backend.prf() == prf);
        assert_eq!(Some(detected), first);
    }
}

#[test]
fn every_function_has_a_backend_for_every_machine() {
    assert!(Backend::Aes256Portable.is_available());
    assert!(Backend::ChaCha20Portable.is_available());
}

#[test]
fn every_backend_has_its_own_name_that_begins_with_its_function() {
    let names: HashSet<_> = Backend::ALL.iter().map(|backend| backend.name()).collect();
    assert_eq!(names.len(), Backend::ALL.len());
    for backend in Backend::ALL {
        let function = backend.name().split('-').next();
        assert_eq!(function, Some(backend.prf().name()), "{backend}");
    }
}

#[test]
fn a_backend_the_cpu_lacks_is_refused_before_it_runs() {
    for backend in Backend::ALL
        .iter()
        .filter(|backend| !backend.is_available())
    {
        let made = catch_unwind(|| Keystream::new(*backend, &KEY, COUNTER));
        assert!(made.is_err(), "{backend} was set up on a CPU that lacks it");
    }
}

#[test]
fn debug_output_shows_neither_key_nor_counter() {
    for backend in model::backends() {
        let text = format!("{:?}", Keystream::new(backend, &KEY, COUNTER));
        assert_eq!(text, "Keystream { .. }", "{backend}");
    }
}

#[test]
fn function_names_are_read_back() {
    for prf in Prf::ALL {
        assert_eq!(prf.name().parse(), Ok(prf));
    }
    assert_eq!("aes".parse(), Ok(Prf::Aes256));
    assert_eq!("chacha".parse(), Ok(Prf::ChaCha20));
    assert!("aes128".parse::<Prf>().is_err());
}

// The widths for which work is compiled.

/// Work whose result says that it was done, and on what.
struct Sum<'a>(&'a [u64]);

impl SimdTask for Sum<'_> {
    type Output = u64;

    #[inline(always)]
    fn run(self) -> u64 {
        self.0.iter().sum()
    }
}

fn available() -> impl Iterator<Item = Width> {
    let available = |width: &Width| width.is_available();
    Width::ALL.iter().copied().filter(available)
}

#[test]
fn work_is_done_at_every_width() {
    let words: Vec<u64> = (0..1000).collect();
    for width in available() {
        assert_eq!(width.run(Sum(&words)), 499_500, "{width}");
    }
}

#[test]
fn detect_gives_the_first_available_width() {
    assert_eq!(Some(Width::detect()), available().next());
}

#[test]
fn every_machine_has_a_width() {
    assert_eq!(Width::ALL.last(), Some(&Width::Portable));
    assert!(Width::Portable.is_available());
}

#[test]
fn every_width_has_a_name_of_its_own() {
    let names: HashSet<_> = Width::ALL.iter().map(|width| width.to_string()).collect();
    assert_eq!(names.len(), Width::ALL.len());
}

#[test]
fn a_width_the_cpu_lacks_is_refused_before_it_runs() {
    for width in Width::ALL.iter().filter(|width| !width.is_available()) {
        let run = catch_unwind(|| width.run(Sum(&[1])));
        assert!(run.is_err(), "work ran at {width} on a CPU that lacks it");
    }
}
