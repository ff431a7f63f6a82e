//! Writes words of many streams in turn, without end, for a battery of tests that reads its standard
//! input.
//!
//! `cargo run --release -p wellspring-pseudo --example interleave -- ALGORITHM SEED STREAMS`
//!
//! The streams have the paths 0 to STREAMS - 1.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use wellspring_pseudo::{Algorithm, Stream};

/// Words that each stream gives to one write.
const ROUNDS: usize = 64;

fn write_until_error(streams: &mut [Stream]) -> io::Result<()> {
    let mut output = io::stdout().lock();
    let mut bytes = Vec::with_capacity(8 * ROUNDS * streams.len());
    loop {
        bytes.clear();
        for _ in 0..ROUNDS {
            for stream in &mut *streams {
                bytes.extend(stream.next_u64().to_le_bytes());
            }
        }
        output.write_all(&bytes)?;
    }
}

fn parse(arguments: &[String]) -> Option<(Algorithm, u128, u32)> {
    let [algorithm, seed, streams] = arguments else {
        return None;
    };
    Some((
        algorithm.parse().ok()?,
        seed.parse().ok()?,
        streams.parse().ok().filter(|&streams| streams > 0)?,
    ))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((algorithm, seed, count)) = parse(&arguments) else {
        eprintln!("usage: interleave ALGORITHM SEED STREAMS");
        for algorithm in Algorithm::ALL {
            eprintln!("  {algorithm}");
        }
        return ExitCode::FAILURE;
    };
    let root = Stream::new(algorithm, seed, &[]);
    let mut streams: Vec<Stream> = root.spawn(0..count).collect();
    match write_until_error(&mut streams) {
        // The reader has had enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot write: {error}");
            ExitCode::FAILURE
        }
        Ok(()) => ExitCode::SUCCESS,
    }
}
