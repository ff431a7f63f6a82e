//! `check`: self-tests of this command on this machine, by name; known answers of the engine and of the reproducible streams.
//!
//! ```text
//! processes  children never repeat their parents; a signal handler never gets the bytes of the read that it interrupts
//! machine    which node serves which CPU; bytes that a read returned are nowhere else in memory
//! acvp       answers to NIST's vector sets, in place of the self-tests
//! ```

mod acvp;
#[cfg(target_os = "linux")]
mod machine;
#[cfg(unix)]
mod processes;

use crate::arguments::{available, named};
use crate::streams::{Failure, Output};
use clap::Args;
use sha2::{Digest, Sha256};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::str::FromStr;
use std::thread;
use std::time::Instant;
use wellspring::{Backend, Engine, Mode, Prf};
use wellspring_cipher::{KEY_BYTES, Keystream};
use wellspring_pseudo::{Algorithm, Path, Stream};
use wellspring_replay::{Replay, run_function};

/// Test this command on this machine
///
/// One line for each test: ok, FAILED with the reason, or SKIPPED with the reason. The exit status is 1 if a test
/// failed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  wellspring check
  wellspring check --only fork,nested
  wellspring check --only known-answers       all tests of that group
  wellspring check --acvp prompt.json > response.json")]
pub(crate) struct CheckRequest {
    /// Print the names of the tests, and run none
    #[arg(long)]
    list: bool,

    /// Run only these tests: names, or the part before the slash that several names share
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,

    /// Run no test, and answer the vector sets of NIST's ACVP in FILE; - is the standard input
    ///
    /// AES-256 in ECB (encryption) and CTR, SHA-256. Prints the answers as JSON.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["list", "only"])]
    acvp: Option<PathBuf>,

    /// The implementation of AES-256 that answers [default: the best on this CPU]
    #[arg(long, value_name = "NAME", requires = "acvp",
          value_parser = named(Backend::ALL, Backend::name))]
    backend: Option<Backend>,
}

pub(crate) fn run(request: &CheckRequest) -> Result<(), Failure> {
    if let Some(path) = &request.acvp {
        return acvp::run(path, request.backend.map(available).transpose()?);
    }
    let mut checks = all();
    for name in &request.only {
        if !checks.iter().any(|check| check.is_called(name)) {
            let reason = format!("no test is called '{name}' (see 'wellspring check --list')");
            return Err(Failure::Input(reason));
        }
    }
    let wanted = |check: &Check| {
        request.only.is_empty() || request.only.iter().any(|name| check.is_called(name))
    };
    checks.retain(wanted);
    let mut output = Output::standard()?;
    if request.list {
        let mut names = checks.iter().map(Check::name);
        return names.try_for_each(|name| output.print(&format!("{name}\n")));
    }
    run_all(&checks, &mut output)
}

fn run_all(checks: &[Check], output: &mut Output) -> Result<(), Failure> {
    let whole = Instant::now();
    let (mut passes, mut failures, mut skips) = (0, 0, 0);
    for check in checks {
        let start = Instant::now();
        let panicked = |_| Err(Stop::Failed("panicked".into()));
        let outcome = catch_unwind(AssertUnwindSafe(|| check.run())).unwrap_or_else(panicked);
        let name = check.name();
        output.print(&match outcome {
            Ok(()) => {
                passes += 1;
                format!("ok {name} ({} ms)\n", start.elapsed().as_millis())
            }
            Err(Stop::Failed(reason)) => {
                failures += 1;
                format!("FAILED {name}: {reason}\n")
            }
            Err(Stop::Skipped(reason)) => {
                skips += 1;
                format!("SKIPPED {name}: {reason}\n")
            }
        })?;
    }
    let seconds = whole.elapsed().as_secs_f64();
    output.print(&format!(
        "{passes} ok, {failures} failed, {skips} skipped in {seconds:.1} s\n"
    ))?;
    if failures > 0 {
        return Err(Failure::Reported);
    }
    Ok(())
}

/// All tests, the basic ones first.
fn all() -> Vec<Check> {
    let mut checks = checks();
    checks.push(Check::new("pseudo-streams", give_known_answers));
    checks.push(Check::new("modes", modes_differ));
    #[cfg(target_os = "linux")]
    checks.extend([
        Check::new("nodes/early", machine::early_readers_go_to_node_0),
        Check::new("nodes/served", machine::every_node_serves_its_cpus),
        Check::new("nodes/ordered", machine::an_order_reseeds_every_node),
    ]);
    checks.push(Check::new("two-threads", threads_share_nothing));
    #[cfg(unix)]
    checks.extend([
        Check::new("fork", processes::child_differs),
        Check::new("fork-of-fork", processes::grandchild_differs),
        Check::new("fork-under-load", processes::child_is_not_held_up),
        Check::new("wiped-by-kernel", processes::kernel_wipes),
        Check::new("nested", processes::handlers_share_nothing),
    ]);
    #[cfg(target_os = "linux")]
    checks.push(Check::new("erasure", machine::output_is_not_kept));
    checks
}

// ---- a test and its outcome ----
// A self-test: its name, its outcome, and the comparison that most of them end with: no 16 bytes twice.

pub(super) struct Check {
    name: String,
    run: Box<dyn Fn() -> Outcome>,
}

/// How a self-test ended.
pub(super) type Outcome = Result<(), Stop>;

/// The reason why a self-test did not pass.
pub(super) enum Stop {
    Failed(String),
    /// This machine cannot run it.
    Skipped(String),
}

impl Check {
    pub(super) fn new(name: impl Into<String>, run: impl Fn() -> Outcome + 'static) -> Self {
        Self {
            name: name.into(),
            run: Box::new(run),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn run(&self) -> Outcome {
        (self.run)()
    }

    /// Whether `name` is its name, or the part of it before the slash.
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.name == name
            || self
                .name
                .split_once('/')
                .is_some_and(|(group, _)| group == name)
    }
}

pub(super) fn failed(reason: impl Into<String>) -> Outcome {
    Err(Stop::Failed(reason.into()))
}

pub(super) fn skipped(reason: impl Into<String>) -> Outcome {
    Err(Stop::Skipped(reason.into()))
}

/// A test that failed because of an error of the system.
pub(super) fn broken(what: &str, error: impl std::fmt::Display) -> Stop {
    Stop::Failed(format!("{what}: {error}"))
}

// No 16 bytes twice.

/// The size of the blocks that are compared: among a million random blocks, two are equal with a probability of about 10^-27.
pub(super) const BLOCK_BYTES: usize = 16;

/// Passes if no block occurs twice among all of the reads, and none is all zeros.
pub(super) fn are_distinct<'a>(reads: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    let blocks = |read: &'a [u8]| read.as_chunks::<BLOCK_BYTES>().0;
    let mut blocks: Vec<u128> = reads
        .into_iter()
        .flat_map(blocks)
        .map(|&block| u128::from_le_bytes(block))
        .collect();
    blocks.sort_unstable();
    if blocks.first() == Some(&0) {
        return failed("16 zero bytes were returned");
    }
    match blocks.windows(2).filter(|pair| pair[0] == pair[1]).count() {
        0 => Ok(()),
        repetitions => failed(format!(
            "{repetitions} of {} blocks of 16 bytes came twice",
            blocks.len()
        )),
    }
}

// ---- known answers ----
// Known answers of every backend and of the reproducible streams; reads of all modes, and of two threads.

const FREEBSD: &str = include_str!("../../../vectors/fortuna-freebsd.txt");

/// Three tests for each backend. Those of a backend that this CPU does not run are skipped.
fn checks() -> Vec<Check> {
    type Test = fn(Backend) -> Outcome;
    let groups: [(&str, Test); 3] = [
        ("self-test", passes),
        ("known-answers", answers),
        ("counter-carry", carries),
    ];
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

/// The self-tests of an engine, which the host service runs at its start.
fn passes(backend: Backend) -> Outcome {
    let engine = Engine::builder().backend(backend).build();
    let tested = engine.and_then(|engine| engine.self_test());
    tested.map_err(|error| Stop::Failed(error.to_string()))
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
fn give_known_answers() -> Outcome {
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
fn modes_differ() -> Outcome {
    let mut reads = Vec::new();
    for mode in Mode::ALL {
        let engine = Engine::builder().mode(mode).build();
        let engine = engine.map_err(|error| broken(mode.name(), error))?;
        reads.extend(LENGTHS_BYTES.map(|length| read(&engine, length)));
    }
    are_distinct(reads.iter().map(Vec::as_slice))
}

/// Two threads that read at the same time get nothing in common.
fn threads_share_nothing() -> Outcome {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_and_zeros_are_found_wherever_they_are() {
        let read: Vec<u8> = (1..=64).collect();
        assert!(are_distinct([&read[..]]).is_ok());
        assert!(are_distinct([&read[..], &read[48..]]).is_err());
        assert!(are_distinct([&[7; 32][..]]).is_err());
        assert!(are_distinct([&read[..], &[0; 16]]).is_err());
    }
}
