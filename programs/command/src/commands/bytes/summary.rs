//! The line at the end.

use crate::size::{Size, count};
use std::fmt;
use std::time::Duration;
use wellspring::{Engine, Mode};
use wellspring_bench::format::{duration, rate};
use wellspring_pseudo::{Algorithm, Path};

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

#[cfg(test)]
mod tests {
    use super::*;

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
        let expected = "1 MiB in 100 ms, 10.5 MB/s, xoshiro256++, seed 7, stream 3/0";
        assert_eq!(summary(0).to_string(), expected);
        let expected = format!("{expected}, from byte 8192");
        assert_eq!(summary(8192).to_string(), expected);
    }
}
