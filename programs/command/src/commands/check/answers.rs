//! Known answers of every backend and of the reproducible streams; reads of all modes, and of two threads.

use super::outcome::{Check, Outcome, Stop, are_distinct, broken, failed, skipped};
use sha2::{Digest, Sha256};
use std::fmt::Display;
use std::str::FromStr;
use std::thread;
use wellspring::{Backend, Engine, Mode, Prf};
use wellspring_cipher::{KEY_BYTES, Keystream};
use wellspring_pseudo::{Algorithm, Path, Stream};
use wellspring_replay::{Replay, run_function};

const FREEBSD: &str = include_str!("../../../vectors/fortuna-freebsd.txt");

/// Two tests for each backend. Those of a backend that this CPU does not run are skipped.
pub(super) fn checks() -> Vec<Check> {
    type Test = fn(Backend) -> Outcome;
    let groups: [(&str, Test); 2] = [("known-answers", answers), ("counter-carry", carries)];
    let checks_of = |(group, test): (&str, Test)| {
        let check = move |&backend: &Backend| {
            Check::new(format!("{group}/{backend}"), move || {
                if backend.is_available() {
                    test(backend)
                } else {
                    skipped("this CPU does not run it")
                }
            })
        };
        Backend::ALL.iter().map(check).collect::<Vec<_>>()
    };
    groups.into_iter().flat_map(checks_of).collect()
}

/// Replays the vectors of the backend's function.
fn answers(backend: Backend) -> Outcome {
    let replay = Replay::with_backend(backend);
    match run_function(replay, backend.prf(), FREEBSD) {
        Ok(summary) if summary.different > 0 => {
            failed(format!("{} answers are wrong", summary.different))
        }
        Ok(summary) if summary.same == 0 => failed("there was nothing to compare"),
        Ok(_) => Ok(()),
        Err((line, error)) => Err(broken(&format!("line {line}"), error)),
    }
}

/// Compares a run of blocks across each carry with single blocks of the portable backend. In every lane of the
/// widest backend, which has 32 blocks in flight, the counter once passes the boundary.
fn carries(backend: Backend) -> Outcome {
    let portable = match backend.prf() {
        Prf::Aes256 => Backend::Aes256Portable,
        Prf::ChaCha20 => Backend::ChaCha20Portable,
    };
    let key: [u8; KEY_BYTES] = core::array::from_fn(|index| index as u8);
    let block_bytes = backend.prf().block_bytes();
    let mut run = vec![0; 70 * block_bytes];
    let mut block = vec![0; block_bytes];
    for bits in [32, 64, 96, 128] {
        let boundary = 1u128.checked_shl(bits).unwrap_or(0);
        for lane in 0..=33 {
            let start = boundary.wrapping_sub(lane);
            Keystream::new(backend, &key, start).fill(&mut run);
            for (index, got) in (0..).zip(run.chunks(block_bytes)) {
                Keystream::new(portable, &key, start.wrapping_add(index)).fill(&mut block);
                if got != block {
                    return failed(format!(
                        "block {index} after counter 2^{bits} - {lane} is wrong"
                    ));
                }
            }
        }
    }
    Ok(())
}

// Known answers of the reproducible streams.

/// Each algorithm with the file of its known answers.
const FILES: [(Algorithm, &str); 8] = [
    (
        Algorithm::Xoshiro256PlusPlus,
        include_str!("../../../vectors/pseudo-xoshiro256++.txt"),
    ),
    (
        Algorithm::Xoshiro256PlusPlusX16,
        include_str!("../../../vectors/pseudo-xoshiro256++x16.txt"),
    ),
    (
        Algorithm::Xorshift128Plus,
        include_str!("../../../vectors/pseudo-xorshift128+.txt"),
    ),
    (
        Algorithm::Philox4x64,
        include_str!("../../../vectors/pseudo-philox4x64-10.txt"),
    ),
    (
        Algorithm::ChaCha8,
        include_str!("../../../vectors/pseudo-chacha8.txt"),
    ),
    (
        Algorithm::ChaCha12,
        include_str!("../../../vectors/pseudo-chacha12.txt"),
    ),
    (
        Algorithm::ChaCha20,
        include_str!("../../../vectors/pseudo-chacha20.txt"),
    ),
    (
        Algorithm::Aes256Ctr,
        include_str!("../../../vectors/pseudo-aes256-ctr.txt"),
    ),
];

/// Makes every stream of the files and compares its digest.
pub(super) fn give_known_answers() -> Outcome {
    for (algorithm, file) in FILES {
        let mut compared = 0;
        for line in file.lines().filter_map(|line| line.strip_prefix("stream ")) {
            if digest(algorithm, line)? != field(line, "sha256")? {
                return failed(format!("{algorithm}: another stream than {line}"));
            }
            compared += 1;
        }
        if compared == 0 {
            return failed(format!("{algorithm}: there was nothing to compare"));
        }
    }
    Ok(())
}

fn digest(algorithm: Algorithm, line: &str) -> Result<String, Stop> {
    let seed =
        u128::from_str_radix(field(line, "seed")?, 16).map_err(|error| broken("seed", error))?;
    let path: Path = parsed(line, "path")?;
    let mut stream = Stream::new(algorithm, seed, &path);
    // The files of the engines have streams without jumps, from byte 0 on.
    if algorithm.is_counter_based() {
        let jumped = stream.jumped(parsed(line, "jump")?);
        let jumped = jumped.map_err(|error| broken("jump", error))?;
        stream = jumped.at(parsed(line, "at")?);
    }
    let mut bytes = vec![0; parsed(line, "n")?];
    stream.fill(&mut bytes);
    let digest = Sha256::digest(&bytes);
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn parsed<T: FromStr<Err: Display>>(line: &str, name: &str) -> Result<T, Stop> {
    let value = field(line, name)?.parse();
    value.map_err(|error| broken(name, error))
}

fn field<'a>(line: &'a str, name: &str) -> Result<&'a str, Stop> {
    let mut fields = line.split(' ').filter_map(|field| field.split_once('='));
    let found = fields.find(|(other, _)| *other == name);
    found
        .map(|(_, value)| value)
        .ok_or_else(|| broken(name, "is missing"))
}

// Modes, two threads.

/// Small reads and large ones; the last is longer than the 1 MiB that one key may serve.
pub(super) const LENGTHS_BYTES: [usize; 5] = [16, 48, 4096, 70_000, (1 << 20) + 16];

/// All modes return bytes, and no two return the same.
pub(super) fn modes_differ() -> Outcome {
    let mut reads = Vec::new();
    for mode in Mode::ALL {
        let engine = Engine::builder().mode(mode).build();
        let engine = engine.map_err(|error| broken(mode.name(), error))?;
        reads.extend(LENGTHS_BYTES.map(|length| read(&engine, length)));
    }
    are_distinct(reads.iter().map(Vec::as_slice))
}

/// Two threads that read at the same time get nothing in common.
pub(super) fn threads_share_nothing() -> Outcome {
    const READS: usize = 20_000;
    let draw = || {
        let mut all = vec![0; READS * 48];
        // In small reads, which are served from a buffer.
        all.chunks_mut(48).for_each(wellspring::fill);
        all
    };
    let both = thread::scope(|scope| {
        let other = scope.spawn(draw);
        [Ok(draw()), other.join()]
    });
    let [Ok(one), Ok(other)] = both else {
        return failed("a thread panicked");
    };
    are_distinct([one.as_slice(), &other])
}

pub(super) fn read(engine: &Engine, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    engine.fill(&mut bytes);
    bytes
}
