//! Bytes on demand: as many as asked for, for each line of the standard input.
//!
//! All from one thread's tap, so that a program in another language, which talks to this one over pipes, has an
//! engine as its own.

use super::encoding::Encoding;
use crate::failure::Failure;
use crate::output::Output;
use std::io::{BufRead, stdin};

/// The most for a line: all of it is made at once.
pub(super) const MAX_BYTES: u64 = 1 << 20;

/// Answers every line with `size_bytes` bytes, until the input ends.
pub(super) fn answer(
    mut fill: impl FnMut(&mut [u8]),
    size_bytes: usize,
    encoding: Encoding,
    mut output: Output,
) -> Result<(), Failure> {
    let mut bytes = vec![0; size_bytes];
    let mut text = Vec::new();
    let mut input = stdin().lock();
    loop {
        let line = input.skip_until(b'\n');
        if line.map_err(|error| Failure::work(format!("standard input: {error}")))? == 0 {
            return Ok(());
        }
        fill(&mut bytes);
        let answer = encoding.encode(&bytes, &mut text);
        let written = output
            .write(answer)
            .and_then(|()| output.write(encoding.end()));
        written.map_err(|error| output.failure(&error, ""))?;
        bytes.fill(0);
        text.fill(0);
    }
}
