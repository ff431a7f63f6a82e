//! The arguments of `bytes`.

use crate::engine::EngineRequest;
use crate::size::Size;
use crate::values::named;
use clap::Args;
use clap::builder::ArgPredicate::IsPresent;
use std::path::PathBuf;
use wellspring_pseudo::{Algorithm, Path};

/// The most worker threads: each has a block in memory.
const MAX_THREADS: u64 = 1024;

/// Write random bytes
///
/// The bytes are fit for keys, except with --pseudo. A line on stderr gives the number of bytes and the speed: for 1 MiB
/// or more, and always on a terminal. When the reader of a pipe closes it, the command ends without a message and with
/// success.
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
    /// To write to a file needs SIZE. Like in head and dd, k, M, G, T, P and E are powers of 1024, and so are KiB, MiB, ..; kB,
    /// MB, .. are powers of 1000. With --hex and --base64 this is the number of bytes before they become text.
    #[arg(allow_negative_numbers = true)]
    size: Option<Size>,

    #[command(flatten)]
    pub(super) engine: EngineRequest,

    /// How many threads make bytes, each with its own tap, 1 to 1024
    ///
    /// Each writes whole blocks, one thread at a time, and no two blocks share bytes. One thread makes a pseudo-random
    /// stream, whatever N is.
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(1..=MAX_THREADS))]
    pub(super) threads: u64,

    /// Write SIZE bytes, at most 1 MiB, for each line of the standard input, until it ends
    ///
    /// For a program that keeps this command running beside it: each line is a request, and the answer comes at
    /// once.
    #[arg(long, requires = "size", conflicts_with = "threads")]
    pub(super) each_line: bool,

    /// Write hexadecimal digits in one line, with a line break at the end
    #[arg(long, conflicts_with = "base64")]
    pub(super) hex: bool,

    /// Write Base64 (RFC 4648, padded) in one line, with a line break at the end
    #[arg(long)]
    pub(super) base64: bool,

    /// Write to FILE; - is the standard output
    ///
    /// A new file is for its owner alone (mode 0600). A file that exists is an error without --force.
    #[arg(long, short, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,

    /// Replace the content of FILE if it exists; it keeps its mode
    #[arg(long, requires = "output")]
    pub(super) force: bool,

    /// No progress bar, no line at the end
    #[arg(long, short)]
    pub(super) quiet: bool,

    /// Reproducible bytes, NOT fit for keys: the stream that ALGORITHM, a seed and a path name
    ///
    /// The same name gives the same bytes on any machine and with any number of threads.
    #[arg(long, value_name = "ALGORITHM", value_parser = named(&Algorithm::ALL, Algorithm::name),
          requires = "seed",
          conflicts_with_all = ["mode", "prf", "backend", "topology", "harvester", "seed_file"])]
    pub(super) pseudo: Option<Algorithm>,

    /// The seed of the stream, below 2^128: decimal, or hexadecimal after 0x
    #[arg(long, value_name = "N", value_parser = seed, requires = "pseudo",
          allow_negative_numbers = true)]
    pub(super) seed: Option<u128>,

    /// The path of the stream: numbers below 2^32 like 3/0/17 [default: /, the root]
    #[arg(
        long,
        value_name = "PATH",
        requires = "pseudo",
        allow_negative_numbers = true,
        default_value_if("pseudo", IsPresent, "/")
    )]
    pub(super) stream: Option<Path>,

    /// Begin at byte OFFSET of the stream, counted from 0 [default: 0]
    ///
    /// Several machines can each make one part of SIZE bytes. The parts, joined in order, equal one long run. To go to
    /// OFFSET takes at most about 0.1 ms, for every OFFSET and every algorithm.
    #[arg(
        long,
        value_name = "OFFSET",
        requires = "pseudo",
        allow_negative_numbers = true
    )]
    pub(super) offset: Option<Size>,

    /// Another way to give SIZE, for scripts in which it stands beside OFFSET
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
    pub(super) fn size_bytes(&self) -> Option<u64> {
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
}
