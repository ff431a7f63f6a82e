//! The tap: what it hands out, and what it keeps.

use proptest::prelude::*;
use wellspring_cipher::Keystream;
use wellspring_core::tap::{
    FRESH_BYTES, KEY_LIMIT_BYTES, NO_GENERATION, Refill, SHORT_REFILL_BYTES, Tap,
};
use wellspring_core::{Backend, KEY_BYTES};

const BUFFER_BYTES: usize = 1216;
const GENERATION: u64 = 3;
const BACKEND: Backend = Backend::ChaCha20Portable;

type SmallTap = Tap<BUFFER_BYTES>;

fn tap(key: [u8; KEY_BYTES]) -> SmallTap {
    let mut tap = SmallTap::ZERO;
    tap.fields().rekey(&key, GENERATION);
    tap
}

/// A read as an engine makes it: by `take` if the buffer has enough, else by [`serve`].
fn read<const N: usize>(tap: &mut Tap<N>, fresh: &[u8; FRESH_BYTES], length: usize) -> Vec<u8> {
    read_with(Refill::Whole, tap, fresh, length)
}

fn read_with<const N: usize>(
    refill: Refill,
    tap: &mut Tap<N>,
    fresh: &[u8; FRESH_BYTES],
    length: usize,
) -> Vec<u8> {
    let mut bytes = vec![0; length];
    if !tap.take(&mut bytes) {
        serve(tap, refill, fresh, &mut bytes);
    }
    bytes
}

/// A read off the hot path. Returns how many keys it made.
fn serve<const N: usize>(
    tap: &mut Tap<N>,
    refill: Refill,
    fresh: &[u8; FRESH_BYTES],
    bytes: &mut [u8],
) -> usize {
    let mut tap = tap.fields();
    let rest = tap.take_left(bytes);
    if rest.is_empty() {
        return 0;
    }
    if !tap.is_long(rest.len()) {
        tap.mix(fresh);
        tap.refill(BACKEND, refill, rest);
        return 1;
    }
    let chunks = rest.chunks_mut(KEY_LIMIT_BYTES);
    let make = |chunk| {
        tap.mix(fresh);
        tap.make(BACKEND, chunk);
    };
    chunks.map(make).count()
}

/// The same by the definition: a key makes the next key, then output; every byte is handed out once.
struct Model {
    key: [u8; KEY_BYTES],
    counter: u128,
    buffer: Vec<u8>,
    buffer_bytes: usize,
}

impl Model {
    fn new(key: [u8; KEY_BYTES], buffer_bytes: usize) -> Self {
        Self {
            key,
            counter: 0,
            buffer: Vec::new(),
            buffer_bytes,
        }
    }

    fn make(&mut self, fresh: &[u8; FRESH_BYTES], length: usize) -> Vec<u8> {
        for (key, fresh) in self.key.iter_mut().zip(fresh) {
            *key ^= fresh;
        }
        let mut keystream = Keystream::new(BACKEND, &self.key, self.counter);
        let mut output = vec![0; length];
        keystream.fill(&mut self.key);
        keystream.fill(&mut output);
        self.counter = keystream.counter();
        output
    }

    fn read(&mut self, fresh: &[u8; FRESH_BYTES], length: usize) -> Vec<u8> {
        self.read_with(Refill::Whole, fresh, length)
    }

    fn read_with(&mut self, refill: Refill, fresh: &[u8; FRESH_BYTES], length: usize) -> Vec<u8> {
        let from_buffer = length.min(self.buffer.len());
        let mut bytes: Vec<u8> = self.buffer.drain(..from_buffer).collect();
        let rest = length - from_buffer;
        if rest == 0 && from_buffer > 0 {
            return bytes;
        }
        if rest > 0 && rest < self.buffer_bytes / 2 {
            let made_bytes = match refill {
                Refill::Short if rest <= SHORT_REFILL_BYTES => {
                    SHORT_REFILL_BYTES.min(self.buffer_bytes)
                }
                _ => self.buffer_bytes,
            };
            self.buffer = self.make(fresh, made_bytes);
            bytes.extend(self.buffer.drain(..rest));
        } else {
            while bytes.len() < length {
                let chunk = (length - bytes.len()).min(KEY_LIMIT_BYTES);
                bytes.extend(self.make(fresh, chunk));
            }
        }
        bytes
    }
}

proptest! {
    #[test]
    fn every_byte_is_handed_out_once_and_in_order(
        key in any::<[u8; KEY_BYTES]>(),
        fresh in any::<[u8; FRESH_BYTES]>(),
        reads in prop::collection::vec((any::<bool>(), 0usize..1500), 1..40),
    ) {
        let mut tap = tap(key);
        let mut model = Model::new(key, BUFFER_BYTES);
        for (is_short, length) in reads {
            let refill = if is_short { Refill::Short } else { Refill::Whole };
            let drawn = read_with(refill, &mut tap, &fresh, length);
            prop_assert_eq!(drawn, model.read_with(refill, &fresh, length));
        }
    }
}

/// All rests of a small buffer, and all lengths where the code takes another way: so no case within this bound is left out.
#[test]
fn no_rest_and_no_length_hands_out_a_byte_twice() {
    const SMALL: usize = 320;
    let (key, fresh) = ([7; KEY_BYTES], [9; FRESH_BYTES]);
    let around = [64, 128, 256, SMALL / 2, SMALL, 2 * SMALL];
    let around = around.into_iter().flat_map(|place| place - 1..=place + 1);
    let lengths: Vec<usize> = (0..=34).chain(around).collect();
    let start = |left_bytes: usize| {
        let mut tap = Tap::<SMALL>::ZERO;
        tap.fields().rekey(&key, GENERATION);
        let mut model = Model::new(key, SMALL);
        for length in [1, SMALL - 1 - left_bytes] {
            assert_eq!(read(&mut tap, &fresh, length), model.read(&fresh, length));
        }
        (tap, model)
    };
    for left_bytes in 0..SMALL {
        for length in lengths.iter().copied() {
            let (mut tap, mut model) = start(left_bytes);
            for length in [length, 3] {
                let drawn = read(&mut tap, &fresh, length);
                assert_eq!(drawn, model.read(&fresh, length), "{left_bytes}, {length}");
            }
        }
    }
}

#[test]
fn a_long_read_changes_its_key_every_2_to_the_20_bytes() {
    let (key, fresh) = ([5; KEY_BYTES], [0; FRESH_BYTES]);
    let length = 2 * KEY_LIMIT_BYTES + 5;
    let mut model = Model::new(key, BUFFER_BYTES);
    assert!(read(&mut tap(key), &fresh, length) == model.read(&fresh, length));
}

#[test]
fn what_the_buffer_can_serve_makes_no_new_key() {
    let mut tap = tap([1; KEY_BYTES]);
    let whole = read(&mut self::tap([1; KEY_BYTES]), &[0; FRESH_BYTES], 48);
    let mut keys = 0;
    let mut bytes = [0; 48];
    for piece in bytes.chunks_mut(16) {
        // By `read`, as a signal handler or a thread's second engine does.
        keys += serve(&mut tap, Refill::Whole, &[0; FRESH_BYTES], piece);
    }
    assert_eq!((bytes.as_slice(), keys), (whole.as_slice(), 1));
}

#[test]
fn a_new_key_discards_what_was_buffered() {
    let mut tap = tap([1; KEY_BYTES]);
    read(&mut tap, &[0; FRESH_BYTES], 16);
    tap.fields().rekey(&[2; KEY_BYTES], GENERATION + 1);
    assert!(tap.fields().is_of(GENERATION + 1) && !tap.fields().is_of(GENERATION));
    assert!(!tap.take(&mut [0; 1]));
    let mut model = Model::new([2; KEY_BYTES], BUFFER_BYTES);
    let fresh = [0; FRESH_BYTES];
    assert_eq!(read(&mut tap, &fresh, 16), model.read(&fresh, 16));
}

#[test]
fn wiped_memory_is_a_tap_that_matches_no_generation_and_has_nothing() {
    let mut tap = SmallTap::ZERO;
    assert!(tap.fields().is_of(NO_GENERATION) && !tap.fields().is_of(GENERATION));
    assert!(!tap.take(&mut [0; 1]));
}
