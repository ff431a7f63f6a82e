//! The line at the end.

use crate::size::Size;
use std::fmt;
use std::time::Duration;
use wellspring::pseudo::{Algorithm, Path};
use wellspring::{Engine, Mode};

/// The result of a run.
pub(super) struct Summary {
    pub(super) size_bytes: u64,
    pub(super) elapsed: Duration,
    pub(super) origin: Origin,
}

/// The origin of the bytes.
pub(super) enum Origin {
    /// An engine, and the number of threads.
    Engine(Engine, usize),
    /// A reproducible stream, from an offset on.
    Stream {
        algorithm: Algorithm,
        seed: u128,
        path: Path,
        offset_bytes: u64,
    },
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = Size(self.size_bytes);
        let elapsed = duration(self.elapsed);
        let rate = rate(self.size_bytes, self.elapsed);
        write!(f, "{size} in {elapsed}, {rate}, ")?;
        match &self.origin {
            Origin::Engine(engine, threads) => {
                let stats = engine.stats();
                let taps = match stats.mode {
                    Mode::PerThread => count(*threads, "tap"),
                    mode => format!("{mode}, {}", count(*threads, "thread")),
                };
                let nodes = count(stats.nodes.len(), "node");
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

fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

fn duration(duration: Duration) -> String {
    match duration.as_secs_f64() {
        seconds if seconds < 0.001 => format!("{:.0} us", seconds * 1e6),
        seconds if seconds < 0.01 => format!("{:.1} ms", seconds * 1e3),
        seconds => format!("{seconds:.2} s"),
    }
}

/// In powers of 1000, as is usual for rates.
fn rate(bytes: u64, elapsed: Duration) -> String {
    let mut rate = bytes as f64 / elapsed.as_secs_f64().max(1e-9);
    for unit in ["B/s", "kB/s", "MB/s"] {
        if rate < 999.5 {
            return format!("{rate:.0} {unit}");
        }
        rate /= 1000.0;
    }
    format!("{rate:.1} GB/s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_shown_in_a_unit_of_its_size() {
        let in_a_second = |bytes| rate(bytes, Duration::from_secs(1));
        assert_eq!(in_a_second(999), "999 B/s");
        assert_eq!(in_a_second(999_999), "1 MB/s");
        assert_eq!(in_a_second(999_600_000), "1.0 GB/s");
        assert_eq!(in_a_second(12_340_000_000_000), "12340.0 GB/s");
        assert_eq!(rate(0, Duration::ZERO), "0 B/s");
    }

    #[test]
    fn a_duration_is_shown_in_a_unit_of_its_size() {
        assert_eq!(duration(Duration::from_micros(110)), "110 us");
        assert_eq!(duration(Duration::from_micros(1500)), "1.5 ms");
        assert_eq!(duration(Duration::from_millis(110)), "0.11 s");
        assert_eq!(duration(Duration::from_secs(100)), "100.00 s");
    }

    #[test]
    fn a_stream_is_named_so_that_it_can_be_made_again() {
        let summary = |offset_bytes| Summary {
            size_bytes: 1 << 20,
            elapsed: Duration::from_millis(100),
            origin: Origin::Stream {
                algorithm: Algorithm::Xoshiro256PlusPlus,
                seed: 7,
                path: Path::new(&[3, 0]).unwrap(),
                offset_bytes,
            },
        };
        let expected = "1 MiB in 0.10 s, 10 MB/s, xoshiro256++, seed 7, stream 3/0";
        assert_eq!(summary(0).to_string(), expected);
        let expected = format!("{expected}, from byte 8192");
        assert_eq!(summary(8192).to_string(), expected);
    }
}
