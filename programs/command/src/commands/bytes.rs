//! `bytes [SIZE]`: random bytes, or the bytes of a reproducible stream, by threads that make blocks and write them one at a time.

use crate::arguments::{EngineRequest, Size, count, named};
use crate::streams::{Failure, Input, Output};
use clap::Args;
use clap::builder::ArgPredicate::IsPresent;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, BufRead, BufReader, IsTerminal, stderr};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{fmt, thread};
use wellspring::{Engine, Mode};
use wellspring_bench::figures::{duration, rate};
use wellspring_command_line::say;
use wellspring_pseudo::{self as pseudo, Algorithm, Stream};
use zeroize::{Zeroize, Zeroizing};

/// From this size on a run gets a progress bar and a line at the end.
const WORTHWHILE_BYTES: u64 = 1 << 20;

pub(crate) fn run(request: &BytesRequest) -> Result<(), Failure> {
    let start = Instant::now();
    let encoding = match (request.hex, request.base64) {
        (true, _) => Encoding::Hex,
        (_, true) => Encoding::Base64,
        _ => Encoding::Raw,
    };
    let size_bytes = request.size_bytes();
    let engine;
    let (fillers, origin): (Vec<Filler<'_>>, Origin) = match request.pseudo {
        None => {
            engine = request.engine.build()?;
            let workers = useful_workers(size_bytes, request.threads);
            let filler = || Box::new(|block: &mut [u8]| engine.fill(block)) as Filler<'_>;
            let fillers: Vec<_> = (0..workers).map(|_| filler()).collect();
            (fillers, Origin::Engine(engine.clone(), workers))
        }
        Some(algorithm) => {
            // The command line has both whenever it has an algorithm.
            let seed = request.seed.unwrap_or_default();
            let path = request.stream.clone().unwrap_or(pseudo::Path::ROOT);
            let offset_bytes = request.offset.map_or(0, |Size(bytes)| bytes);
            let mut stream = Stream::new(algorithm, seed, &path).at(offset_bytes.into());
            let filler: Filler<'_> = Box::new(move |block| stream.fill(block));
            let origin = Origin::Stream {
                algorithm,
                seed,
                path,
                offset_bytes,
            };
            (vec![filler], origin)
        }
    };
    let output = open(request, encoding)?;
    if request.each_line {
        return answer_lines(request, fillers, encoding, output);
    }
    let shows_progress = !request.quiet
        && !output.is_terminal()
        && stderr().is_terminal()
        && size_bytes.is_none_or(|bytes| bytes >= WORTHWHILE_BYTES);
    let run = Workers {
        size_bytes,
        encoding,
        progress: &progress(size_bytes, shows_progress),
    };
    run.run(fillers, output)?;
    let size_bytes = size_bytes.unwrap_or(u64::MAX);
    if !request.quiet && (size_bytes >= WORTHWHILE_BYTES || stderr().is_terminal()) {
        let summary = Summary {
            size_bytes,
            elapsed: start.elapsed(),
            origin,
        };
        say(&summary.to_string());
    }
    Ok(())
}

/// Bytes for each line of the standard input.
fn answer_lines(
    request: &BytesRequest,
    fillers: Vec<Filler<'_>>,
    encoding: Encoding,
    output: Output,
) -> Result<(), Failure> {
    let size_bytes = request.size_bytes().unwrap_or_default();
    if size_bytes > MAX_ANSWER_BYTES {
        let most = Size(MAX_ANSWER_BYTES);
        return Err(Failure::Input(format!(
            "--each-line: at most {most} for a line"
        )));
    }
    match fillers.into_iter().next() {
        Some(fill) => answer(fill, size_bytes as usize, encoding, output),
        None => Ok(()),
    }
}

/// Without a size there is no end. A pipe and a device take that; a file would take the whole disk.
fn open(request: &BytesRequest, encoding: Encoding) -> Result<Output, Failure> {
    let is_endless = request.size_bytes().is_none();
    let needs_size = |name: &str| {
        Failure::input(format!(
            "{name}: a file needs a size, since without one there is no end: as in `wellspring bytes 1MiB`"
        ))
    };
    let path = request
        .output
        .as_deref()
        .filter(|path| *path != Path::new("-"));
    let Some(path) = path else {
        let output = Output::standard()?;
        if is_endless && output.is_file() {
            return Err(needs_size("standard output"));
        }
        if request.output.is_some() {
            return Ok(output);
        }
        if encoding == Encoding::Raw && output.is_terminal() {
            let reason = "standard output is a terminal: try --hex, --base64, --output FILE, or --output - to write to it";
            return Err(Failure::input(reason));
        }
        return Ok(output);
    };
    // Before a file is made or emptied.
    let is_file = path.metadata().map_or(true, |status| status.is_file());
    if is_endless && is_file {
        return Err(needs_size(&path.display().to_string()));
    }
    Output::create(path, request.force)
}

// The arguments of `bytes`.

/// The most worker threads: each has a block in memory.
const MAX_THREADS: u64 = 1024;

/// Write random bytes
///
/// The bytes are fit for keys, except with --pseudo. For 1 MiB or more, and always on a terminal, a line on stderr gives the
/// number of bytes and the speed. When the reader of a pipe closes it, the command ends with success and no message.
#[derive(Args)]
#[command(after_help = "\
Examples:
  wellspring bytes 1GiB > /dev/null           how fast is it?
  wellspring bytes 32 --hex                   a key
  wellspring bytes 10M --output noise         a file that only its owner can read
  wellspring bytes | head -c 1000             without an end
  wellspring bytes 16 --hex --each-line       a number whenever Enter is pressed
  wellspring bytes 1M --pseudo xoshiro256++ --seed 7 --stream 3/0/17 > data
  wellspring bytes --pseudo chacha8 --seed 7 --offset 3G --length 1G > part-4    the fourth of many parts")]
pub(crate) struct BytesRequest {
    /// How many bytes: 64, 10k, 1GiB; without SIZE there is no end
    ///
    /// Writing to a file needs SIZE. As in head and dd, k, M, G, T, P and E are powers of 1024, and so are KiB, MiB, ..; kB,
    /// MB, .. are powers of 1000. With --hex and --base64 SIZE counts the bytes before they become text.
    #[arg(allow_negative_numbers = true)]
    size: Option<Size>,

    #[command(flatten)]
    engine: EngineRequest,

    /// How many threads make bytes, each with its own tap, 1 to 1024
    ///
    /// The threads write whole pieces in turn, and no two pieces share bytes. Whatever N is, one thread makes a pseudo-random
    /// stream.
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(1..=MAX_THREADS))]
    threads: u64,

    /// Write SIZE bytes, at most 1 MiB, for each line of the standard input, until it ends
    ///
    /// For a program that keeps this command running: each line is a request, and the answer comes at once.
    #[arg(long, requires = "size", conflicts_with = "threads")]
    each_line: bool,

    /// Write hexadecimal digits in one line, with a line break at the end
    #[arg(long, conflicts_with = "base64")]
    hex: bool,

    /// Write Base64 (RFC 4648, padded) in one line, with a line break at the end
    #[arg(long)]
    base64: bool,

    /// Write to FILE; - is the standard output
    ///
    /// Only its owner can read a new file (mode 0600). Without --force a file that exists is an error.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace the content of FILE if it exists; it keeps its mode
    #[arg(long, requires = "output")]
    force: bool,

    /// No progress bar, no line at the end
    #[arg(long, short)]
    quiet: bool,

    /// Reproducible bytes, NOT fit for keys: the stream that ALGORITHM, a seed and a path name
    ///
    /// The same name gives the same bytes on any machine and with any number of threads.
    #[arg(long, value_name = "ALGORITHM", value_parser = named(&Algorithm::ALL, Algorithm::name),
          requires = "seed",
          conflicts_with_all = ["mode", "prf", "backend", "topology", "harvester", "seed_file"])]
    pseudo: Option<Algorithm>,

    /// The seed of the stream, below 2^128: decimal, or hexadecimal after 0x
    #[arg(long, value_name = "N", value_parser = seed, requires = "pseudo",
          allow_negative_numbers = true)]
    seed: Option<u128>,

    /// The path of the stream: numbers below 2^32 like 3/0/17 [default: /, the root]
    #[arg(
        long,
        value_name = "PATH",
        requires = "pseudo",
        allow_negative_numbers = true,
        default_value_if("pseudo", IsPresent, "/")
    )]
    stream: Option<pseudo::Path>,

    /// Begin at byte OFFSET of the stream, counted from 0 [default: 0]
    ///
    /// Several machines can each make one part of SIZE bytes. The parts, joined in order, equal one long run. Going to any
    /// OFFSET takes at most about 0.1 ms, with any algorithm.
    #[arg(
        long,
        value_name = "OFFSET",
        requires = "pseudo",
        allow_negative_numbers = true
    )]
    offset: Option<Size>,

    /// Another way to give SIZE, for scripts that also give OFFSET
    #[arg(
        long,
        value_name = "SIZE",
        conflicts_with = "size",
        allow_negative_numbers = true
    )]
    length: Option<Size>,
}

impl BytesRequest {
    /// How many bytes; `None` stands for no end.
    fn size_bytes(&self) -> Option<u64> {
        let size = self.size.or(self.length);
        size.map(|Size(bytes)| bytes)
    }
}

pub(crate) fn seed(text: &str) -> Result<u128, String> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    // `from_str_radix` would accept a plus sign.
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return Err("expected a number like 7 or 0xc0ffee".into());
    }
    u128::from_str_radix(digits, radix).map_err(|_| "expected a number below 2^128".into())
}

// Bytes on demand: an answer for each line of the standard input.
//
// All answers come from one thread's tap. So a program in another language can use the engine over two pipes.

/// The most bytes for a line: an answer is made in one piece.
const MAX_ANSWER_BYTES: u64 = 1 << 20;

/// Answers every line with `size_bytes` bytes, until the input ends.
fn answer(
    mut fill: impl FnMut(&mut [u8]),
    size_bytes: usize,
    encoding: Encoding,
    mut output: Output,
) -> Result<(), Failure> {
    let (mut bytes, mut text) = (Zeroizing::new(vec![0; size_bytes]), Zeroizing::new(vec![]));
    let mut input = BufReader::new(Input::standard()?);
    loop {
        let line = input.skip_until(b'\n');
        if line.map_err(|error| Input::refuse("standard input", error))? == 0 {
            return Ok(());
        }
        fill(&mut bytes);
        let answer = encoding.encode(&bytes, &mut text);
        let written = output
            .write(answer)
            .and_then(|()| output.write(encoding.end()));
        written.map_err(|error| output.failure(&error, ""))?;
        // The next line may come after hours.
        bytes.as_mut_slice().zeroize();
        text.zeroize();
    }
}

// The line at the end.

/// The result of a run.
struct Summary {
    size_bytes: u64,
    elapsed: Duration,
    origin: Origin,
}

/// The origin of the bytes.
enum Origin {
    /// An engine, and the number of threads.
    Engine(Engine, usize),
    /// A reproducible stream, from an offset on.
    Stream {
        algorithm: Algorithm,
        seed: u128,
        path: pseudo::Path,
        offset_bytes: u64,
    },
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = Size(self.size_bytes);
        let elapsed = duration(self.elapsed.as_nanos() as f64);
        let rate = rate(self.size_bytes as f64 / self.elapsed.as_secs_f64().max(1e-9));
        write!(f, "{size} in {elapsed}, {rate}, ")?;
        match &self.origin {
            Origin::Engine(engine, threads) => {
                let stats = engine.stats();
                let taps = match stats.mode {
                    Mode::PerThread => count(*threads as u64, "tap"),
                    mode => format!("{mode}, {}", count(*threads as u64, "thread")),
                };
                let nodes = count(stats.nodes.len() as u64, "node");
                write!(f, "{}, {taps}, {nodes}", stats.backend)
            }
            Origin::Stream {
                algorithm,
                seed,
                path,
                offset_bytes,
            } => {
                write!(f, "{algorithm}, seed {seed}, stream {path}")?;
                if *offset_bytes == 0 {
                    return Ok(());
                }
                write!(f, ", from byte {offset_bytes}")
            }
        }
    }
}

// The progress bar.

/// A bar on stderr; a line for runs without an end; or nothing.
fn progress(size_bytes: Option<u64>, is_shown: bool) -> ProgressBar {
    let (bar, template) = match size_bytes {
        _ if !is_shown => return ProgressBar::hidden(),
        Some(bytes) => (
            ProgressBar::new(bytes),
            "[{bar:30}] {binary_bytes} of {binary_total_bytes}, {decimal_bytes_per_sec}, ETA {eta}",
        ),
        None => (
            ProgressBar::new_spinner(),
            "{binary_bytes}, {decimal_bytes_per_sec}, {elapsed}",
        ),
    };
    let style = ProgressStyle::with_template(template).expect("the template is fixed");
    bar.with_style(style.progress_chars("=> "))
}

// ---- workers ----
// Workers that make blocks and write them one at a time to the shared output.
//
// A worker fills a block and encodes it, then locks the output and writes. So blocks are made while others are
// written, each block stays in the cache of the CPU that made it, and there is one block per worker. The order of
// the blocks does not matter: a stream, whose order does matter, has one worker. The rest that does not fill a block
// is written last, so that Base64 has its padding at the end. Each worker wipes its block and its text at its end.

/// A worker's block: a multiple of 3 bytes, for Base64, and small enough for the cache of one CPU.
const BLOCK_BYTES: usize = 192 << 10;

type Filler<'a> = Box<dyn FnMut(&mut [u8]) + Send + 'a>;

/// The workers of one run: how many bytes they write, in which form.
struct Workers<'a> {
    /// The bytes before they are encoded; without an end if `None`.
    pub(super) size_bytes: Option<u64>,
    pub(super) encoding: Encoding,
    pub(super) progress: &'a ProgressBar,
}

/// How many of the `wanted` workers would get a block.
fn useful_workers(size_bytes: Option<u64>, wanted: u64) -> usize {
    let blocks = size_bytes.map_or(u64::MAX, |bytes| bytes / BLOCK_BYTES as u64);
    wanted.min(blocks).max(1) as usize
}

/// The data that the workers share.
struct SharedOutput {
    /// The number of blocks that no worker has claimed yet.
    blocks: AtomicU64,
    output: Mutex<Output>,
    /// A worker had an error: the others stop too.
    stopped: AtomicBool,
}

impl Workers<'_> {
    /// Runs each filler in its own thread, the first one in this thread.
    pub(super) fn run(&self, mut fillers: Vec<Filler<'_>>, output: Output) -> Result<(), Failure> {
        let shared = SharedOutput {
            blocks: AtomicU64::new(
                self.size_bytes
                    .map_or(u64::MAX, |bytes| bytes / BLOCK_BYTES as u64),
            ),
            output: Mutex::new(output),
            stopped: AtomicBool::new(false),
        };
        let (first, others) = fillers
            .split_first_mut()
            .expect("there is at least one filler");
        let result = self.work_together(first, others, &shared);
        let mut output = shared
            .output
            .into_inner()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let result = result.and_then(|()| self.finish(first, &mut output));
        // Leaves the bar on the screen and moves the cursor to the next line.
        self.progress.abandon();
        result.map_err(|stop| match stop {
            Stop::Write(error) => output.failure(&error, &self.how_far(output.written_bytes())),
            Stop::Thread(error) => Failure::work(format!("cannot start all threads: {error}")),
        })
    }

    fn work_together(
        &self,
        first: &mut Filler<'_>,
        others: &mut [Filler<'_>],
        shared: &SharedOutput,
    ) -> Result<(), Stop> {
        thread::scope(|scope| {
            let mut workers = Vec::with_capacity(others.len());
            for filler in others {
                let worker =
                    thread::Builder::new().spawn_scoped(scope, || self.work(filler, shared));
                workers.push(worker.map_err(|error| shared.stop(Stop::Thread(error)))?);
            }
            let result = self.work(first, shared);
            workers
                .into_iter()
                .fold(result, |result, worker| match worker.join() {
                    Ok(other) => result.and(other),
                    Err(panic) => std::panic::resume_unwind(panic),
                })
        })
    }

    /// A worker: writes block after block, until none is left or another worker has stopped.
    fn work(&self, filler: &mut Filler<'_>, shared: &SharedOutput) -> Result<(), Stop> {
        let (mut block, mut text) = (Zeroizing::new(vec![0; BLOCK_BYTES]), Zeroizing::new(vec![]));
        while shared.claim() {
            filler(&mut block);
            let encoded = self.encoding.encode(&block, &mut text);
            let mut output = shared
                .output
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            if shared.stopped.load(Ordering::Relaxed) {
                break;
            }
            let written = output.write(encoded);
            drop(output);
            written.map_err(|error| shared.stop(Stop::Write(error)))?;
            self.progress.inc(BLOCK_BYTES as u64);
        }
        Ok(())
    }

    /// Writes the rest that is left after all whole blocks.
    fn finish(&self, filler: &mut Filler<'_>, output: &mut Output) -> Result<(), Stop> {
        let rest_bytes = self.size_bytes.unwrap_or_default() % BLOCK_BYTES as u64;
        let mut block = Zeroizing::new(vec![0; rest_bytes as usize]);
        let mut text = Zeroizing::new(vec![]);
        filler(&mut block);
        let encoded = self.encoding.encode(&block, &mut text);
        output.write(encoded).map_err(Stop::Write)?;
        output.write(self.encoding.end()).map_err(Stop::Write)?;
        self.progress.inc(block.len() as u64);
        Ok(())
    }

    fn how_far(&self, text_bytes: u64) -> String {
        let written_bytes = self.encoding.bytes_of_text(text_bytes);
        match self.size_bytes {
            // The line break at the end may be counted as a part of a byte.
            Some(bytes) => {
                let written = count(written_bytes.min(bytes), "byte");
                format!(" after {written} of {}", Size(bytes))
            }
            None => format!(" after {}", count(written_bytes, "byte")),
        }
    }
}

/// The reason why a worker stopped.
enum Stop {
    Write(io::Error),
    Thread(io::Error),
}

impl SharedOutput {
    /// Claims a block to make.
    fn claim(&self) -> bool {
        let take = |blocks: u64| match blocks {
            0 => None,
            // No end: 2^64 blocks are never reached.
            u64::MAX => Some(u64::MAX),
            _ => Some(blocks - 1),
        };
        !self.stopped.load(Ordering::Relaxed)
            && self
                .blocks
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
                .is_ok()
    }

    fn stop(&self, reason: Stop) -> Stop {
        self.stopped.store(true, Ordering::Relaxed);
        reason
    }
}

// Bytes as text.
//
// The bytes may be a key. So there is no table here: the place of a table lookup can be seen in the cache.

/// The form in which bytes are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    /// Unchanged.
    Raw,
    /// Two lower-case digits each.
    Hex,
    /// RFC 4648 section 4: four characters for three bytes, padded at the end.
    Base64,
}

impl Encoding {
    /// Returns `bytes` in this form: encoded into `text`, or `bytes` itself if there is nothing to encode. The texts
    /// of pieces may be joined if every piece but the last is a multiple of 3 bytes.
    pub(super) fn encode<'a>(self, bytes: &'a [u8], text: &'a mut Vec<u8>) -> &'a [u8] {
        match self {
            Encoding::Raw => return bytes,
            Encoding::Hex => {
                text.resize(2 * bytes.len(), 0);
                encode_hex(bytes, text);
            }
            Encoding::Base64 => {
                text.resize(4 * bytes.len().div_ceil(3), 0);
                encode_base64(bytes, text);
            }
        }
        text
    }

    /// The bytes after the last piece.
    pub(super) fn end(self) -> &'static [u8] {
        match self {
            Encoding::Raw => b"",
            Encoding::Hex | Encoding::Base64 => b"\n",
        }
    }

    /// How many whole bytes are in the first `text_bytes` of the text.
    fn bytes_of_text(self, text_bytes: u64) -> u64 {
        match self {
            Encoding::Raw => text_bytes,
            Encoding::Hex => text_bytes / 2,
            Encoding::Base64 => text_bytes / 4 * 3 + (text_bytes % 4).saturating_sub(1),
        }
    }
}

fn encode_hex(bytes: &[u8], text: &mut [u8]) {
    // A comparison of bytes compiles to a mask.
    let digit = |nibble: u8| nibble + b'0' + u8::from(nibble > 9) * (b'a' - b'0' - 10);
    for (pair, &byte) in text.as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
        *pair = [digit(byte >> 4), digit(byte & 15)];
    }
}

fn encode_base64(bytes: &[u8], text: &mut [u8]) {
    let (triples, rest) = bytes.as_chunks::<3>();
    let (quads, _) = text.as_chunks_mut::<4>();
    for (quad, triple) in quads.iter_mut().zip(triples) {
        *quad = six_bits_each(*triple);
    }
    if let Some(last) = quads.last_mut().filter(|_| !rest.is_empty()) {
        let mut triple = [0; 3];
        triple[..rest.len()].copy_from_slice(rest);
        *last = six_bits_each(triple);
    }
    // A pass of its own, which compiles to SIMD.
    for value in text.iter_mut() {
        *value = base64_digit(*value);
    }
    let padding = (3 - rest.len()) % 3;
    let end = text.len() - padding;
    text[end..].fill(b'=');
}

fn six_bits_each([a, b, c]: [u8; 3]) -> [u8; 4] {
    let bits = u32::from_be_bytes([0, a, b, c]);
    [18, 12, 6, 0].map(|shift| (bits >> shift) as u8 & 63)
}

/// `A`..`Z`, `a`..`z`, `0`..`9`, `+`, `/`: five ranges; at the start of each, the distance to ASCII changes.
fn base64_digit(value: u8) -> u8 {
    let step = |first: u8, by: u8| u8::from(value >= first).wrapping_mul(by);
    let digit = value + b'A';
    let digit = digit.wrapping_add(step(26, b'a' - b'A' - 26));
    let digit = digit.wrapping_sub(step(52, b'a' + 26 - b'0'));
    let digit = digit.wrapping_sub(step(62, b'0' + 10 - b'+'));
    digit.wrapping_add(step(63, b'/' - b'+' - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_decimal_or_hexadecimal_and_nothing_else() {
        assert_eq!(seed("0"), Ok(0));
        assert_eq!(seed("007"), Ok(7));
        assert_eq!(seed("0xC0ffee"), Ok(0xc0ffee));
        assert_eq!(seed(&u128::MAX.to_string()), Ok(u128::MAX));
        for wrong in ["", "0x", "-1", "+1", "0x+1", "1e3", "c0ffee", " 1", "0X1"] {
            assert!(seed(wrong).unwrap_err().contains("like"), "{wrong}");
        }
        let above = "340282366920938463463374607431768211456";
        assert!(seed(above).unwrap_err().contains("below"));
    }

    #[test]
    fn a_stream_is_named_so_that_it_can_be_made_again() {
        let summary = |offset_bytes| Summary {
            size_bytes: 1 << 20,
            elapsed: Duration::from_millis(100),
            origin: Origin::Stream {
                algorithm: Algorithm::Xoshiro256PlusPlus,
                seed: 7,
                path: pseudo::Path::new(&[3, 0]).unwrap(),
                offset_bytes,
            },
        };
        let expected = "1 MiB in 100 ms, 10.5 MB/s, xoshiro256++, seed 7, stream 3/0";
        assert_eq!(summary(0).to_string(), expected);
        let expected = format!("{expected}, from byte 8192");
        assert_eq!(summary(8192).to_string(), expected);
    }

    fn encode(encoding: Encoding, bytes: &[u8]) -> String {
        let mut text = Vec::new();
        String::from_utf8(encoding.encode(bytes, &mut text).to_vec()).unwrap()
    }

    #[test]
    fn base64_gives_the_examples_of_rfc_4648() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(Encoding::Base64, bytes.as_bytes()), text);
        }
    }

    #[test]
    fn the_alphabet_of_base64_is_in_order() {
        let alphabet: Vec<u8> = (0..64).map(base64_digit).collect();
        let expected = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        assert_eq!(alphabet, expected);
    }

    #[test]
    fn every_byte_has_its_two_digits() {
        let bytes: Vec<u8> = (0..=255).collect();
        let expected: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(encode(Encoding::Hex, &bytes), expected);
    }

    #[test]
    fn a_shorter_piece_leaves_nothing_of_the_piece_before() {
        let mut text = Vec::new();
        Encoding::Base64.encode(&[255; 300], &mut text);
        assert_eq!(Encoding::Base64.encode(b"f", &mut text), b"Zg==");
        assert_eq!(Encoding::Hex.encode(b"f", &mut text), b"66");
    }

    #[test]
    fn text_cut_anywhere_stands_for_its_whole_bytes() {
        let count =
            |encoding: Encoding| [0, 1, 2, 3, 4, 5, 6, 8].map(|n| encoding.bytes_of_text(n));
        assert_eq!(count(Encoding::Raw), [0, 1, 2, 3, 4, 5, 6, 8]);
        assert_eq!(count(Encoding::Hex), [0, 0, 1, 1, 2, 2, 3, 4]);
        assert_eq!(count(Encoding::Base64), [0, 0, 1, 2, 3, 3, 4, 6]);
    }
}
