//! The generator against a model that makes one block at a time and counts with a wide integer.

use proptest::prelude::*;
use wellspring_cipher::Keystream;
use wellspring_core::generator::{CHUNK_BYTES, Generator, KEY_LIMIT_BYTES, Reservation};
use wellspring_core::{Backend, KEY_BYTES, Prf};

/// Fortuna as random(4) runs it, written for clarity, not for speed.
#[derive(Clone)]
struct Model {
    prf: Prf,
    key: [u8; KEY_BYTES],
    counter: u128,
}

impl Model {
    fn backend(&self) -> Backend {
        match self.prf {
            Prf::Aes256 => Backend::Aes256Portable,
            Prf::ChaCha20 => Backend::ChaCha20Portable,
        }
    }

    /// `length` bytes, a block at a time; a partial block costs a whole step.
    fn keystream(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < length {
            let mut block = vec![0; self.prf.block_bytes()];
            Keystream::new(self.backend(), &self.key, self.counter).fill(&mut block);
            self.counter = self.counter.wrapping_add(1);
            bytes.extend(block);
        }
        bytes.truncate(length);
        bytes
    }

    fn rekey(&mut self) {
        self.key = self.keystream(KEY_BYTES).try_into().unwrap();
    }

    fn read_locked(&mut self, mut length: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        loop {
            let mut chunk = length.min(CHUNK_BYTES);
            if self.prf == Prf::Aes256 && chunk >= 16 {
                chunk -= chunk % 16;
            }
            bytes.extend(self.keystream(chunk));
            self.rekey();
            length -= chunk;
            if length == 0 {
                return bytes;
            }
        }
    }

    fn read_concurrent(&mut self, mut length: usize) -> Vec<u8> {
        let mut copy = self.clone();
        let mut steps = length.div_ceil(self.prf.block_bytes()) as u128;
        if self.prf == Prf::Aes256 {
            steps += 2 * (steps / 65536);
        }
        self.counter = self.counter.wrapping_add(steps);
        self.rekey();
        let mut bytes = Vec::new();
        while length > 0 {
            let chunk = if self.prf == Prf::Aes256 {
                length.min(KEY_LIMIT_BYTES)
            } else {
                length
            };
            bytes.extend(copy.keystream(chunk));
            length -= chunk;
            if length > 0 {
                copy.rekey();
            }
        }
        bytes
    }
}

fn read_locked(generator: &mut Generator, backend: Backend, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    let mut rest = bytes.as_mut_slice();
    loop {
        rest = generator.read_chunk(backend, rest);
        if rest.is_empty() {
            return bytes;
        }
    }
}

fn read_concurrent(generator: &mut Generator, backend: Backend, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    let mut reservation = Reservation::ZERO;
    generator.reserve(backend, length, &mut reservation);
    reservation.generate(backend, &mut bytes);
    bytes
}

fn agree(prf: Prf, backend: Backend, counter: u128, lengths: &[(bool, usize)]) {
    let key = core::array::from_fn(|i| i as u8 * 7 + 1);
    let mut model = Model { prf, key, counter };
    let mut generator = Generator::ZERO;
    generator.force(&key, counter);
    for &(concurrent, length) in lengths {
        let (expected, got) = if concurrent {
            (
                model.read_concurrent(length),
                read_concurrent(&mut generator, backend, length),
            )
        } else {
            (
                model.read_locked(length),
                read_locked(&mut generator, backend, length),
            )
        };
        assert!(expected == got, "{backend}, C={counter:x}, {length} bytes");
        let state = (&model.key, model.counter);
        assert_eq!(
            generator.state(),
            state,
            "{backend}, C={counter:x}, {length} bytes"
        );
    }
}

fn backends() -> impl Strategy<Value = Backend> {
    let available = Backend::ALL
        .iter()
        .copied()
        .filter(|backend| backend.is_available());
    prop::sample::select(available.collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn reads_carry_the_counter_over_every_boundary(
        backend in backends(),
        boundary in prop::sample::select(vec![32, 64, 96, 128]),
        below in 0u128..600,
        lengths in prop::collection::vec((any::<bool>(), 0usize..9000), 1..4),
    ) {
        let boundary = 1u128.checked_shl(boundary).unwrap_or(0);
        agree(backend.prf(), backend, boundary.wrapping_sub(below), &lengths);
    }
}

#[test]
fn reads_around_the_key_limit_rekey_where_random4_does() {
    for prf in Prf::ALL {
        for length in [
            (1 << 20) - 16,
            (1 << 20) - 1,
            1 << 20,
            (1 << 20) + 1,
            (1 << 20) + 17,
            2 << 20,
            (2 << 20) + 100,
        ] {
            agree(
                prf,
                Backend::detect(prf),
                u128::from(u64::MAX) - 1000,
                &[(true, length), (false, 33)],
            );
        }
    }
}

/// Two blocks that no output uses, where a request has k * 65536 blocks: from k * 2^20 - 15 bytes on.
#[test]
fn a_request_steps_over_its_blocks_and_those_of_its_keys() {
    const COUNTER: u128 = u64::MAX as u128 - 3;
    let around = |place: usize| place.saturating_sub(20)..=place + 20;
    let places = [
        0,
        KEY_LIMIT_BYTES,
        2 * KEY_LIMIT_BYTES,
        16 * KEY_LIMIT_BYTES,
    ];
    for length in places.into_iter().flat_map(around) {
        for backend in [Backend::Aes256Portable, Backend::ChaCha20Portable] {
            let mut generator = Generator::ZERO;
            generator.force(&[1; KEY_BYTES], COUNTER);
            let mut reservation = Reservation::ZERO;
            generator.reserve(backend, length, &mut reservation);
            let used = (generator.state().1 - COUNTER) as usize;
            let expected = match backend.prf() {
                Prf::Aes256 => length.div_ceil(16) + 2 * ((length + 15) / KEY_LIMIT_BYTES) + 2,
                Prf::ChaCha20 => length.div_ceil(64) + 1,
            };
            assert_eq!(used, expected, "{length}");
        }
    }
}

#[test]
fn a_reseed_of_a_seeded_generator_depends_on_the_old_key() {
    let reseeded = |first: &[u8]| {
        let mut generator = Generator::ZERO;
        generator.reseed(first);
        generator.reseed(b"second");
        *generator.state().0
    };
    assert_ne!(reseeded(b"one"), reseeded(b"other"));
}

#[test]
fn the_first_reseed_ignores_the_key_that_is_not_there() {
    let mut unseeded = Generator::ZERO;
    unseeded.force(&[7; KEY_BYTES], 0);
    unseeded.reseed(b"seed");
    let mut new = Generator::ZERO;
    new.reseed(b"seed");
    assert_eq!(unseeded.state(), new.state());
    assert_eq!(new.state().1, 1);
}
