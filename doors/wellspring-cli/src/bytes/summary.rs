//! The line at the end.

use crate::size::Size;
use std::fmt;
use std::time::Duration;
use wellspring::pseudo::{Algorithm, Path};
use wellspring::{Engine, Mode};

/// What a run came to.
pub(super) struct Summary {
    pub(super) size_bytes: u64,
    pub(super) elapsed: Duration,
    pub(super) origin: Origin,
}

/// Where the bytes came from.
pub(super) enum Origin {
    /// An engine, by so many threads.
    Engine(Engine, usize),
    /// A reproducible stream.
    Stream(Algorithm, u128, Path),
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
            Origin::Stream(algorithm, seed, path) => {
                write!(f, "{algorithm}, seed {seed}, stream {path}")
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

/// In powers of 1000, as rates are.
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
    fn a_rate_has_the_unit_that_suits_it() {
        let in_a_second = |bytes| rate(bytes, Duration::from_secs(1));
        assert_eq!(in_a_second(999), "999 B/s");
        assert_eq!(in_a_second(999_999), "1 MB/s");
        assert_eq!(in_a_second(999_600_000), "1.0 GB/s");
        assert_eq!(in_a_second(12_340_000_000_000), "12340.0 GB/s");
        assert_eq!(rate(0, Duration::ZERO), "0 B/s");
    }

    #[test]
    fn a_duration_has_the_unit_that_suits_it() {
        assert_eq!(duration(Duration::from_micros(110)), "110 us");
        assert_eq!(duration(Duration::from_micros(1500)), "1.5 ms");
        assert_eq!(duration(Duration::from_millis(110)), "0.11 s");
        assert_eq!(duration(Duration::from_secs(100)), "100.00 s");
    }

    #[test]
    fn a_stream_is_named_so_that_it_can_be_made_again() {
        let summary = Summary {
            size_bytes: 1 << 20,
            elapsed: Duration::from_millis(100),
            origin: Origin::Stream(
                Algorithm::Xoshiro256PlusPlus,
                7,
                Path::new(&[3, 0]).unwrap(),
            ),
        };
        let expected = "1 MiB in 0.10 s, 10 MB/s, xoshiro256++, seed 7, stream 3/0";
        assert_eq!(summary.to_string(), expected);
    }
}
