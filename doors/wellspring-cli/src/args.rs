//! What the user may say: help, completions and man page come from here.

use crate::bench::BenchRequest;
use crate::engine::EngineRequest;
use crate::failure::Failure;
use crate::generation::GenerationRequest;
use crate::module::KernelRequest;
use crate::seed::SeedRequest;
use crate::size::Size;
use crate::sources::SourcesRequest;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use std::path::PathBuf;
use wellspring::pseudo::{Algorithm, Path};
use wellspring::{Backend, Mode, Prf};

/// The most worker threads: each has a block in memory.
const MAX_THREADS: u64 = 1024;

/// Random numbers that scale with the machine
///
/// Fortuna, bit-exact with FreeBSD's random(4), made concurrent: one generator for each NUMA node, one tap for
/// each thread.
#[derive(Parser)]
#[command(
    name = "wellspring",
    version,
    arg_required_else_help = false,
    disable_help_subcommand = true,
    after_help = "\
Exit status:
  0  success, also when the reader of a pipe has gone
  1  something went wrong at work
  2  bad input
  3  the kernel module is not loaded"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// What to do.
#[derive(Subcommand)]
pub(crate) enum Command {
    Bytes(Box<BytesRequest>),
    Replay(ReplayRequest),
    Check(CheckRequest),
    Stats(StatsRequest),
    Sources(SourcesRequest),
    Bench(BenchRequest),
    Seed(SeedRequest),
    Generation(GenerationRequest),
    Kernel(KernelRequest),
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    Man(ManRequest),
}

/// Write random bytes
///
/// They are fit for keys, except with --pseudo. A line on stderr says how much it was and how fast, if it was 1
/// MiB or more or stderr is a terminal. When the reader of a pipe has gone, the command ends with success and
/// says nothing.
#[derive(Args)]
#[command(after_help = "\
Examples:
  wellspring bytes 1GiB > /dev/null           how fast is it?
  wellspring bytes 32 --hex                   a key
  wellspring bytes 10M --output noise         a file of its owner
  wellspring bytes | head -c 1000             endless
  wellspring bytes 16 --hex --each-line       a number whenever Enter is pressed
  wellspring bytes 1M --pseudo xoshiro256++ --seed 7 --stream 3/0/17 > data")]
pub(crate) struct BytesRequest {
    /// How much: 64, 10k, 1GiB; endless without
    ///
    /// As in head and dd, k, M, G, T, P and E are powers of 1024, and so are KiB, MiB, ..; kB, MB, .. are powers
    /// of 1000. With --hex and --base64 this is the amount before it becomes text.
    pub(crate) size: Option<Size>,

    #[command(flatten)]
    pub(crate) engine: EngineRequest,

    /// Threads that make bytes, each with its own tap, 1 to 1024
    ///
    /// They write in turns, whole blocks of bytes that no other read returned. A pseudo-random stream is made by
    /// one thread, whatever is said here.
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u64).range(1..=MAX_THREADS))]
    pub(crate) threads: u64,

    /// Write SIZE bytes for each line of the standard input, at most 1 MiB, until it ends
    ///
    /// For a program that keeps this one beside it: a line asks, and the answer comes at once.
    #[arg(long, requires = "size", conflicts_with = "threads")]
    pub(crate) each_line: bool,

    /// Write hexadecimal digits in one line, with a line break at the end
    #[arg(long, conflicts_with = "base64")]
    pub(crate) hex: bool,

    /// Write Base64 (RFC 4648, padded) in one line, with a line break at the end
    #[arg(long)]
    pub(crate) base64: bool,

    /// Write to FILE; - is the standard output
    ///
    /// The file is made for its owner alone (mode 0600), or emptied if it exists; it then keeps its mode.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// No progress bar, no line at the end
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// Reproducible bytes, NOT fit for keys: the stream of this algorithm, a seed and a path
    ///
    /// The same three give the same bytes on any machine, whatever --threads says.
    #[arg(long, value_name = "ALGORITHM", value_parser = algorithms(), requires = "seed",
          conflicts_with_all = ["mode", "prf", "backend", "topology", "harvester"])]
    pub(crate) pseudo: Option<Algorithm>,

    /// The seed of the stream, below 2^128: decimal, or hexadecimal after 0x
    #[arg(long, value_name = "N", value_parser = seed, requires = "pseudo",
          allow_negative_numbers = true)]
    pub(crate) seed: Option<u128>,

    /// The path of the stream: numbers below 2^32 like 3/0/17 [default: /, the root]
    #[arg(
        long,
        value_name = "PATH",
        requires = "pseudo",
        default_value_if("pseudo", clap::builder::ArgPredicate::IsPresent, "/")
    )]
    pub(crate) stream: Option<Path>,
}

/// Run known answers through the engine
///
/// Each FILE has the line format of the project's vectors/: events, reseeds, reads, forced keys and counters. The
/// clock and the sources are replaced by the file. Prints the answers: the lines with out=, sha256= or a state.
#[derive(Args)]
#[command(after_help = "\
Examples:
  wellspring replay --check vectors/fortuna-freebsd.txt
  wellspring replay --backend chacha20-portable questions.txt > answers.txt")]
pub(crate) struct ReplayRequest {
    /// Files of vectors; - is the standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Compare the answers with those of the files
    ///
    /// Prints the answers that differ, and a line that sums up. The exit status is 1 if an answer differs, and
    /// also if a file has none to compare.
    #[arg(long)]
    pub(crate) check: bool,

    /// The implementation to use for its cipher; the other cipher runs in its best
    #[arg(long, value_name = "NAME", value_parser = backends())]
    pub(crate) backend: Option<Backend>,
}

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
  wellspring check --kernel --list")]
pub(crate) struct CheckRequest {
    /// Print the names of the tests, and run none
    #[arg(long)]
    pub(crate) list: bool,

    /// Test the kernel module instead, whose test module has to be loaded too; for root
    ///
    /// Exit status 3: it is not loaded.
    #[arg(long)]
    pub(crate) kernel: bool,

    /// Run these tests only: names, or what stands before the slash of several
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
}

/// Show the state of an engine, without a secret
///
/// Of the engine of this very process, after a first read: what other programs get is likely to be the same, but
/// each has an engine of its own.
#[derive(Args)]
pub(crate) struct StatsRequest {
    #[command(flatten)]
    pub(crate) engine: EngineRequest,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print the man page
///
/// Of the command, or of one of its subcommands.
#[derive(Args)]
#[command(after_help = "\
Examples:
  wellspring man | man -l -
  wellspring man --output /usr/local/share/man/man1")]
pub(crate) struct ManRequest {
    /// The subcommand: bytes, seed, seed-show, ..
    pub(crate) subcommand: Option<String>,

    /// Write all pages into this folder: wellspring.1, wellspring-bytes.1, ..
    #[arg(long, short, value_name = "FOLDER", conflicts_with = "subcommand")]
    pub(crate) output: Option<PathBuf>,
}

/// The definitions, for whoever writes about them.
pub(crate) fn definitions() -> clap::Command {
    Arguments::command()
}

/// Reads the command line. Help and version are printed here, and end the process.
pub(crate) fn parse() -> Result<Command, Failure> {
    match Arguments::try_parse() {
        Ok(arguments) => Ok(arguments.command),
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => error.exit(),
            _ => {
                let first_word = std::env::args_os().nth(1).unwrap_or_default();
                let message = error.render().to_string();
                Err(Failure::Input(one_line(
                    &message,
                    &first_word.to_string_lossy(),
                )))
            }
        },
    }
}

/// Clap's paragraphs as one line: reason and tips, with a hint instead of the usage.
fn one_line(message: &str, first_word: &str) -> String {
    let is_reason = |paragraph: &&str| {
        !["Usage:", "For more information"]
            .iter()
            .any(|start| paragraph.starts_with(start))
    };
    let words = |paragraph: &str| paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let paragraphs = message.trim().split("\n\n").take_while(is_reason);
    let reason = paragraphs.map(words).collect::<Vec<_>>().join("; ");
    let reason = reason.strip_prefix("error: ").unwrap_or(&reason);
    let command = match definitions().find_subcommand(first_word) {
        Some(subcommand) => format!("wellspring {}", subcommand.get_name()),
        None => "wellspring".into(),
    };
    format!("{reason} (try '{command} --help')")
}

/// A parser of a fixed set of values, each by its name.
fn named<T: Copy + Send + Sync + 'static>(
    values: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let names = values.iter().map(move |&value| name(value));
    PossibleValuesParser::new(names).map(move |text| {
        let found = values.iter().find(|&&value| name(value) == text);
        *found.expect("clap lets no other name through")
    })
}

pub(crate) fn modes() -> impl TypedValueParser<Value = Mode> {
    named(&Mode::ALL, Mode::name)
}

pub(crate) fn prfs() -> impl TypedValueParser<Value = Prf> {
    named(&Prf::ALL, Prf::name)
}

pub(crate) fn backends() -> impl TypedValueParser<Value = Backend> {
    named(Backend::ALL, Backend::name)
}

fn algorithms() -> impl TypedValueParser<Value = Algorithm> {
    named(&Algorithm::ALL, Algorithm::name)
}

fn seed(text: &str) -> Result<u128, String> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    // `from_str_radix` would take a plus sign.
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return Err("expected a number like 7 or 0xc0ffee".into());
    }
    u128::from_str_radix(digits, radix).map_err(|_| "expected a number below 2^128".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_contradict_nothing() {
        definitions().debug_assert();
    }

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
    fn an_error_of_many_lines_becomes_one_with_a_hint() {
        let message = "error: bad\n  [possible values: a, b]\n\n  tip: good\n\nUsage: wellspring bytes [SIZE]\n\nx";
        let expected = "bad [possible values: a, b]; tip: good";
        let hint = "(try 'wellspring bytes --help')";
        assert_eq!(one_line(message, "bytes"), format!("{expected} {hint}"));
        let hint = "(try 'wellspring --help')";
        assert_eq!(one_line("error: x", "frob"), format!("x {hint}"));
    }
}
