//! Modes, two threads.

use super::blocks::are_distinct;
use super::outcome::{Outcome, broken, failed};
use std::thread;
use wellspring::{Engine, Mode};

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
