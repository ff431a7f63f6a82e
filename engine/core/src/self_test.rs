//! Self-tests of the functions that an engine runs: known answers, and noise that the health tests must refuse.
//!
//! ```text
//! SHA-256       two examples of FIPS 180-4
//! keystream     the example of FIPS 197 or of RFC 8439, and 5000 bytes across the last carry of the counter
//! generator     a seed from a pool of 64 bytes and 17 reads, in both ways to read, as FreeBSD's Fortuna answers
//! health tests  a source that is stuck, and a source that lost most of its noise
//! ```
//!
//! Each test runs twice: as it is, and with one bit of its input changed. The second run must not give the answer. So a
//! function that ignores its input and a comparison that accepts everything are faults too.

use crate::generator::{DIGEST_BYTES, Generator, Reservation, Sha256, sha_d256_into};
use crate::health::{Action, Grade, Health, START_UP_SYMBOLS, SourceHealth, Test};
use crate::source::{MinEntropy, Symbol};
use core::fmt;
use wellspring_cipher::{Backend, KEY_BYTES, Keystream, Prf};

/// A self-test, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SelfTest {
    /// The hash of pools and seeds.
    Sha256,
    /// The function that makes all output.
    Keystream,
    /// Fortuna's reseed and reads.
    Generator,
    /// The repetition count and the adaptive proportion test.
    HealthTests,
    /// The code of the host service, which compares it with its file; [`run`] does not.
    Code,
}

impl fmt::Display for SelfTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            SelfTest::Sha256 => "SHA-256",
            SelfTest::Keystream => "keystream",
            SelfTest::Generator => "generator",
            SelfTest::HealthTests => "health tests",
            SelfTest::Code => "the code differs from its file",
        })
    }
}

/// Runs all self-tests with this backend. Takes no lock and makes no system call.
///
/// # Errors
///
/// The first self-test that failed.
pub fn run(backend: Backend) -> Result<(), SelfTest> {
    run_with(backend, &ANSWERS)
}

fn run_with(backend: Backend, answers: &Answers) -> Result<(), SelfTest> {
    let of_function = match backend.prf() {
        Prf::Aes256 => &answers.aes256,
        Prf::ChaCha20 => &answers.chacha20,
    };
    let holds = |which, test: &dyn Fn(u8) -> bool| match (test(0), test(1)) {
        (true, false) => Ok(()),
        _ => Err(which),
    };
    for (message, digest) in EXAMPLES.iter().zip(&answers.sha256) {
        holds(SelfTest::Sha256, &|change| hash(message, change) == *digest)?;
    }
    holds(SelfTest::Keystream, &|change| {
        gives_the_block(backend, of_function, change)
    })?;
    holds(SelfTest::Keystream, &|change| {
        stream(backend, change) == of_function.stream
    })?;
    for (way, digest) in Way::ALL.iter().zip(&of_function.reads) {
        holds(SelfTest::Generator, &|change| {
            read(backend, *way, change) == *digest
        })?;
    }
    holds(SelfTest::HealthTests, &finds_what_is_stuck)?;
    holds(SelfTest::HealthTests, &finds_lost_noise)
}

// ---- the answers ----
// The code that is tested made none of them.

struct Answers {
    /// FIPS 180-4, by NIST's examples for SHA-256.
    sha256: [[u8; DIGEST_BYTES]; 2],
    aes256: OfFunction,
    chacha20: OfFunction,
}

/// The answers of a pseudo-random function.
struct OfFunction {
    /// The input of a block, and the first 16 bytes of the block, under the key 00 01 .. 1f.
    input: u128,
    block: [u8; 16],
    /// SHA-256 of 5000 bytes from the counter 2^128 - 20 on, under the same key: by `vectors/model.py`.
    stream: [u8; DIGEST_BYTES],
    /// SHA-256 of all bytes of the reads, for each [`Way`]: the vectors `min-seed` of `vectors/fortuna-freebsd.txt`.
    reads: [[u8; DIGEST_BYTES]; 2],
}

static ANSWERS: Answers = Answers {
    sha256: [
        hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        hex("248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
    ],
    aes256: OfFunction {
        // FIPS 197, C.3.
        input: u128::from_le_bytes(hex("00112233445566778899aabbccddeeff")),
        block: hex("8ea2b7ca516745bfeafc49904b496089"),
        stream: hex("534964e9e562b27df0d044b062707d01ae8acad97941a06e7c1c758607d4d2ec"),
        reads: [
            hex("fd79a7abb383b03a8b10141ea1439a0ee950482c9ef6507a3c7a65bd6e1a2489"),
            hex("e356fe611cf233ebf46364394578108cc706029ee99edfb9d8f3a10ad9aa5165"),
        ],
    },
    chacha20: OfFunction {
        // RFC 8439, 2.3.2: block count 1, then the nonce.
        input: u128::from_le_bytes(hex("01000000000000090000004a00000000")),
        block: hex("10f1e7e4d13b5915500fdd1fa32071c4"),
        stream: hex("b63f46794dd892d0df543ffd0634d925a141582c027cb019c751f165ba8adea3"),
        reads: [
            hex("af7f0b9b08477cfd780efce5382aa1a2445c5b56926eeb60797443661fdace11"),
            hex("af7f0b9b08477cfd780efce5382aa1a2445c5b56926eeb60797443661fdace11"),
        ],
    },
};

/// The bytes of digits of this table.
const fn hex<const N: usize>(digits: &str) -> [u8; N] {
    const fn value(digit: u8) -> u8 {
        match digit {
            b'0'..=b'9' => digit - b'0',
            _ => digit - b'a' + 10,
        }
    }
    let digits = digits.as_bytes();
    assert!(digits.len() == 2 * N);
    let (mut bytes, mut at) = ([0; N], 0);
    while at < N {
        bytes[at] = value(digits[2 * at]) << 4 | value(digits[2 * at + 1]);
        at += 1;
    }
    bytes
}

// ---- SHA-256 and the keystream ----

/// One block, and two blocks.
const EXAMPLES: [&[u8]; 2] = [
    b"abc",
    b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
];

/// The digest of `message`, with its first byte changed.
fn hash(message: &[u8], change: u8) -> [u8; DIGEST_BYTES] {
    let mut hash = Sha256::ZERO;
    hash.update(&[message[0] ^ change]);
    hash.update(&message[1..]);
    let mut digest = [0; DIGEST_BYTES];
    hash.finish_into(&mut digest);
    digest
}

/// The key 00 01 .. 1f, with its first byte changed.
fn counting_key(change: u8) -> [u8; KEY_BYTES] {
    core::array::from_fn(|at| if at == 0 { change } else { at as u8 })
}

fn gives_the_block(backend: Backend, answers: &OfFunction, change: u8) -> bool {
    let mut block = [0; 16];
    Keystream::new(backend, &counting_key(change), answers.input).fill(&mut block);
    block == answers.block
}

/// The digest of enough bytes for every lane of the widest backend.
fn stream(backend: Backend, change: u8) -> [u8; DIGEST_BYTES] {
    let mut bytes = [0; 5000];
    let before_the_carry = 0u128.wrapping_sub(20);
    Keystream::new(backend, &counting_key(change), before_the_carry).fill(&mut bytes);
    Sha256::digest(&bytes)
}

// ---- the generator ----

/// A way to read from a generator.
#[derive(Clone, Copy)]
enum Way {
    Canonical,
    Concurrent,
}

impl Way {
    const ALL: [Way; 2] = [Way::Canonical, Way::Concurrent];
}

/// The content of pool 0: the bytes of six events.
const POOL: [u8; 64] = hex(concat!(
    "c59d1c8137d4710eab48e582589f1c821fbc59f69330cd6aeba01c8307a441de",
    "7b18b5527ea21c84ef8c29c663009d3a11a41c85d77411ae4be88522a4a51c86"
));

const READS: [usize; 17] = [
    1, 0, 15, 16, 17, 31, 32, 33, 63, 64, 65, 95, 96, 100, 127, 128, 129,
];

/// The digest of all reads.
fn read(backend: Backend, way: Way, change: u8) -> [u8; DIGEST_BYTES] {
    let (mut seed, mut generator) = ([0; DIGEST_BYTES], Generator::ZERO);
    sha_d256_into(&[&[POOL[0] ^ change], &POOL[1..]], &mut seed);
    generator.reseed(&seed);
    let (mut hash, mut reservation) = (Sha256::ZERO, Reservation::ZERO);
    for bytes in READS {
        let mut output = [0; 129];
        let output = &mut output[..bytes];
        match way {
            Way::Canonical => {
                let mut rest = generator.read_chunk(backend, output);
                while !rest.is_empty() {
                    rest = generator.read_chunk(backend, rest);
                }
            }
            Way::Concurrent => {
                generator.reserve(backend, bytes, &mut reservation);
                reservation.generate(backend, output);
            }
        }
        hash.update(output);
    }
    let mut digest = [0; DIGEST_BYTES];
    hash.finish_into(&mut digest);
    digest
}

// ---- the health tests ----

/// Judges a start-up of counted bytes and then one more window, in which the number of a sample gives its value. Returns
/// whether this test failed the source in the window, and no other test did.
fn fails(test: Test, sample: impl Fn(usize) -> u8) -> bool {
    let claim = MinEntropy::per_byte_256ths(8 * 256);
    let mut health = Health::ZERO;
    let sound: [u8; 256] = core::array::from_fn(|number| number as u8);
    for _ in 0..START_UP_SYMBOLS / 256 {
        if health.judge(claim, Symbol::Byte, &sound).action != Action::Discard {
            return false;
        }
    }
    let window: [u8; 512] = core::array::from_fn(sample);
    let outcome = health.judge(claim, Symbol::Byte, &window);
    let other = match test {
        Test::RepetitionCount => Test::AdaptiveProportion,
        Test::AdaptiveProportion => Test::RepetitionCount,
    };
    let count = |test| outcome.findings.count(test, Grade::Intermittent);
    outcome.action == Action::Discard
        && health.state() != SourceHealth::Active
        && count(test) > 0
        && count(other) == 0
}

/// A run of 8 equal bytes, which one changed byte cuts into two runs of less than the cutoff.
fn finds_what_is_stuck(change: u8) -> bool {
    fails(Test::RepetitionCount, |number| match number {
        103 => 100 ^ change,
        100..=107 => 100,
        _ => number as u8,
    })
}

/// Every second byte is the same, but none in the changed window.
fn finds_lost_noise(change: u8) -> bool {
    let every = if change == 0 { 2 } else { 512 };
    fails(Test::AdaptiveProportion, |number| {
        if number % every == 0 { 0 } else { number as u8 }
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn backends() -> impl Iterator<Item = Backend> {
        let all = Backend::ALL.iter().copied();
        all.filter(|backend| backend.is_available())
    }

    #[test]
    fn every_backend_passes() {
        for backend in backends() {
            assert_eq!(run(backend), Ok(()), "{backend}");
        }
    }

    fn copy_of(answers: &OfFunction) -> OfFunction {
        OfFunction { ..*answers }
    }

    /// Every byte of every answer, with its self-test; and the function, if other functions do not have it.
    fn bytes_of(answers: &mut Answers) -> Vec<(SelfTest, Option<Prf>, &mut u8)> {
        let mut all = Vec::new();
        let mut add = |test, prf, bytes| {
            let bytes: &mut [u8] = bytes;
            all.extend(bytes.iter_mut().map(|byte| (test, prf, byte)));
        };
        add(SelfTest::Sha256, None, answers.sha256.as_flattened_mut());
        for (prf, of_function) in [
            (Some(Prf::Aes256), &mut answers.aes256),
            (Some(Prf::ChaCha20), &mut answers.chacha20),
        ] {
            add(SelfTest::Keystream, prf, &mut of_function.block);
            add(SelfTest::Keystream, prf, &mut of_function.stream);
            add(
                SelfTest::Generator,
                prf,
                of_function.reads.as_flattened_mut(),
            );
        }
        all
    }

    #[test]
    fn a_wrong_bit_in_any_answer_is_a_failure_of_its_test() {
        for backend in [Prf::Aes256, Prf::ChaCha20].map(Backend::detect) {
            let mut answers = Answers {
                aes256: copy_of(&ANSWERS.aes256),
                chacha20: copy_of(&ANSWERS.chacha20),
                ..ANSWERS
            };
            let count = bytes_of(&mut answers).len();
            assert_eq!(count, 64 + 2 * (16 + 32 + 64));
            for number in 0..count {
                let bit = 1 << (number % 8);
                let (test, prf, byte) = bytes_of(&mut answers).swap_remove(number);
                *byte ^= bit;
                let expected = match prf {
                    Some(prf) if prf != backend.prf() => Ok(()),
                    _ => Err(test),
                };
                assert_eq!(
                    run_with(backend, &answers),
                    expected,
                    "{backend}: byte {number}"
                );
                *bytes_of(&mut answers).swap_remove(number).2 ^= bit;
            }
        }
    }
}
