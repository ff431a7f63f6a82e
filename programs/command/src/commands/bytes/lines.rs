//! Bytes on demand: an answer for each line of the standard input.
//!
//! All answers come from one thread's tap. So a program in another language can use the engine over two pipes.

use super::encoding::Encoding;
use crate::failure::Failure;
use crate::input::Input;
use crate::output::Output;
use std::io::{BufRead, BufReader};
use zeroize::{Zeroize, Zeroizing};

/// The most bytes for a line: an answer is made in one piece.
pub(super) const MAX_BYTES: u64 = 1 << 20;

/// Answers every line with `size_bytes` bytes, until the input ends.
pub(super) fn answer(
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
