//! Types of arguments that several commands have: which engine, names of a list, amounts.

use crate::streams::Failure;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use wellspring::seed_file::{SeedFileError, SeedFound};
use wellspring::{
    Backend, Engine, FileFault, Harvester, MinEntropy, Mode, Prf, Topology, TopologyError,
};
use wellspring_command_line::say;

#[derive(Args)]
pub(crate) struct EngineRequest {
    /// How a read makes its bytes [default: per-thread]
    ///
    /// canonical: under the lock of the one generator, 4096 bytes at a time. concurrent: the lock is held only to
    /// reserve the bytes. per-node: the same, with the generator of the reader's NUMA node. per-thread: from the
    /// thread's own tap, without a lock.
    #[arg(long, value_name = "MODE", value_parser = named(&Mode::ALL, Mode::name))]
    mode: Option<Mode>,

    /// The cipher [default: aes256 where the CPU has instructions for it]
    #[arg(long, value_name = "PRF", value_parser = named(&Prf::ALL, Prf::name), conflicts_with = "backend")]
    prf: Option<Prf>,

    /// The implementation of the cipher [default: the best on this CPU]
    #[arg(long, value_name = "NAME", value_parser = named(Backend::ALL, Backend::name))]
    backend: Option<Backend>,

    /// Nodes and CPUs, like nodes=4,cpus=8, or llc [default: this machine's NUMA nodes]
    ///
    /// Each node gets the same number of neighbouring CPUs. llc: a node for each last-level cache of this machine. The modes
    /// canonical and concurrent use one node.
    #[arg(long, value_name = "TOPOLOGY", value_parser = topology)]
    topology: Option<Topology>,

    /// A file that carries seeds over a reboot [default: none]
    ///
    /// The command reads the file, replaces it, mixes the old seed in, and writes the file again at the end. It makes a
    /// missing file, but not its folder. It replaces a damaged seed file, and leaves a file of another kind as it is.
    /// In both cases, and if it cannot replace the file, it says so in a line on stderr and continues. See wellspring
    /// seed.
    #[arg(long, value_name = "FILE")]
    seed_file: Option<PathBuf>,

    /// Harvest noise in a separate thread, also from slow sources; then no read has to do it
    #[arg(long)]
    harvester: bool,
}

impl EngineRequest {
    pub(crate) fn build(&self) -> Result<Engine, Failure> {
        let mut builder = Engine::builder();
        if let Some(mode) = self.mode {
            if self.topology.is_some() && matches!(mode, Mode::Canonical | Mode::Concurrent) {
                let reason = format!("--mode {mode} has no nodes: --topology has no effect");
                return Err(Failure::Input(reason));
            }
            builder = builder.mode(mode);
        }
        if let Some(prf) = self.prf {
            builder = builder.prf(prf);
        }
        if let Some(backend) = self.backend {
            builder = builder.backend(available(backend)?);
        }
        if let Some(topology) = self.topology.clone() {
            builder = builder.topology(topology);
        }
        if let Some(path) = &self.seed_file {
            builder = builder.seed_file(path);
        }
        if self.harvester {
            builder = builder.harvester(Harvester::default());
        }
        let engine = builder.build().map_err(Failure::work)?;
        if let Some(seed_file) = engine.stats().seed_file {
            let name = seed_file.path.display();
            // A file that does not exist yet is made. So it is its folder that does not exist.
            if let SeedFound::Refused(SeedFileError::File(FileFault::System(error))) =
                seed_file.found
                && (error.is_not_found() || error.is_no_folder())
            {
                return Err(Failure::input(format!("{name}: {error}")));
            }
            if seed_file.found.is_fault() {
                say(&format!("wellspring: {name}: {}", seed_file.found));
            }
            if let Some(error) = seed_file
                .last_error
                .filter(|_| !matches!(seed_file.found, SeedFound::Refused(_)))
            {
                say(&format!("wellspring: {name}: not written: {error}"));
            }
        }
        Ok(engine)
    }
}

// Values that several commands read from the command line.

fn topology(text: &str) -> Result<Topology, String> {
    if text == "llc" {
        return wellspring::cache_topology().map_err(|error| error.to_string());
    }
    text.parse()
        .map_err(|error: TopologyError| error.to_string())
}

/// A parser of a fixed set of values, each by its name.
pub(crate) fn named<T: Copy + Send + Sync + 'static>(
    values: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let names = values.iter().map(move |&value| name(value));
    PossibleValuesParser::new(names).map(move |text| {
        let found = values.iter().find(|&&value| name(value) == text);
        *found.expect("clap accepts no other name")
    })
}

/// The backend, if this CPU runs it.
pub(crate) fn available(backend: Backend) -> Result<Backend, Failure> {
    if backend.is_available() {
        return Ok(backend);
    }
    Err(Failure::Input(format!(
        "--backend {backend}: this CPU does not run it"
    )))
}

/// A source's claim, in bits of min-entropy per byte.
pub(crate) fn bits_per_byte(claim: MinEntropy) -> f64 {
    f64::from(claim.as_256ths()) / 256.0
}

// Amounts of bytes, and of things, as text.

/// The prefixes, each 1024 or 1000 times the one before.
const PREFIXES: [char; 6] = ['k', 'M', 'G', 'T', 'P', 'E'];

/// An amount of bytes.
///
/// Read as head(1) and dd(1) read it: a number, or a number with a prefix. `k`, `M`, `G`, `T`, `P`, `E` and
/// `KiB`, `MiB`, .. are powers of 1024; `kB`, `MB`, .. are powers of 1000. The prefix may be in either case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u64);

/// The reason why a text is not an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SizeError {
    /// Not a number with a known suffix.
    Form,
    /// 2^64 bytes or more.
    TooLarge,
}

impl fmt::Display for SizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SizeError::Form => "expected an amount like 64, 10k, 1GiB or 1GB",
            SizeError::TooLarge => "expected less than 16 EiB",
        })
    }
}

impl std::error::Error for SizeError {}

impl FromStr for Size {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        let end = text.find(|character: char| !character.is_ascii_digit());
        let (digits, suffix) = text.split_at(end.unwrap_or(text.len()));
        if digits.is_empty() {
            return Err(SizeError::Form);
        }
        let unit_bytes = unit_bytes(suffix).ok_or(SizeError::Form)?;
        // All are digits: the only error left is a number that is too large.
        let number: u64 = digits.parse().map_err(|_| SizeError::TooLarge)?;
        let bytes = number.checked_mul(unit_bytes).ok_or(SizeError::TooLarge)?;
        Ok(Size(bytes))
    }
}

fn unit_bytes(suffix: &str) -> Option<u64> {
    if matches!(suffix, "" | "B") {
        return Some(1);
    }
    let mut rest = suffix.chars();
    let prefix = rest.next()?;
    let power = PREFIXES
        .iter()
        .position(|known| known.eq_ignore_ascii_case(&prefix))? as u32;
    match rest.as_str() {
        "" | "iB" => Some(1024u64.pow(power + 1)),
        "B" => Some(1000u64.pow(power + 1)),
        _ => None,
    }
}

impl fmt::Display for Size {
    /// Exact: in the largest unit that gives a whole number, else in bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Size(bytes) = *self;
        let whole = |&power: &u32| bytes.is_multiple_of(1 << (10 * power));
        match (1..=6).rev().find(whole).filter(|_| bytes > 0) {
            Some(power) => {
                let prefix = PREFIXES[power as usize - 1].to_ascii_uppercase();
                write!(f, "{} {prefix}iB", bytes >> (10 * power))
            }
            None => f.write_str(&count(bytes, "byte")),
        }
    }
}

/// A number with its noun: `1 tap`, `2 taps`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_means_what_it_means_to_head_and_dd() {
        for (text, bytes) in [
            ("0", 0),
            ("64", 64),
            ("64B", 64),
            ("10k", 10 * 1024),
            ("10K", 10 * 1024),
            ("10KiB", 10 * 1024),
            ("10kB", 10_000),
            ("3m", 3 << 20),
            ("1GiB", 1 << 30),
            ("1GB", 1_000_000_000),
            ("2T", 2 << 40),
            ("1P", 1 << 50),
            ("15EiB", 15 << 60),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
    }

    #[test]
    fn a_wrong_amount_is_refused_for_the_right_reason() {
        for text in [
            "", "k", "-1", "+1", "1.5G", "1 k", " 1", "1b", "1kb", "1kib", "1Q", "1GiBB", "0x10",
            "1_000", "٣",
        ] {
            assert_eq!(text.parse::<Size>(), Err(SizeError::Form), "{text}");
        }
        for text in ["18446744073709551616", "16EiB", "99999999999999999999k"] {
            assert_eq!(text.parse::<Size>(), Err(SizeError::TooLarge), "{text}");
        }
    }

    #[test]
    fn an_amount_is_shown_exactly() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1000, "1000 bytes"),
            (1 << 30, "1 GiB"),
            (3 << 19, "1536 KiB"),
            (u64::MAX, "18446744073709551615 bytes"),
        ] {
            assert_eq!(Size(bytes).to_string(), text);
        }
    }
}
