//! No 16 bytes twice.

use super::outcome::{Outcome, failed};

/// The size of the blocks that are compared: among a million random blocks, two are equal with a probability of about 10^-27.
pub(super) const BLOCK_BYTES: usize = 16;

/// Passes if no block occurs twice among all of the reads, and none is all zeros.
pub(super) fn are_distinct<'a>(reads: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    let blocks = |read: &'a [u8]| read.as_chunks::<BLOCK_BYTES>().0;
    let mut blocks: Vec<u128> = reads
        .into_iter()
        .flat_map(blocks)
        .map(|&block| u128::from_le_bytes(block))
        .collect();
    blocks.sort_unstable();
    if blocks.first() == Some(&0) {
        return failed("16 zero bytes were returned");
    }
    match blocks.windows(2).filter(|pair| pair[0] == pair[1]).count() {
        0 => Ok(()),
        repetitions => failed(format!(
            "{repetitions} of {} blocks of 16 bytes came twice",
            blocks.len()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_and_zeros_are_found_wherever_they_are() {
        let read: Vec<u8> = (1..=64).collect();
        assert!(are_distinct([&read[..]]).is_ok());
        assert!(are_distinct([&read[..], &read[48..]]).is_err());
        assert!(are_distinct([&[7; 32][..]]).is_err());
        assert!(are_distinct([&read[..], &[0; 16]]).is_err());
    }
}
