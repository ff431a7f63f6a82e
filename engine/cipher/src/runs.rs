//! The carry from the low word of the counter to the words above it, for all backends.

/// Fills `destination` in runs within which the low 32 bits of the counter do not wrap.
///
/// `fill` gets the counter of the first block of its run. In every lane that it stores it may step the
/// low word alone: the one wrap in 2^32 blocks always falls between two runs. Lanes past the end of
/// a run may wrap; they must not be stored.
///
/// Every run but the last consists of whole blocks. Returns the counter of the next block.
#[inline]
pub(crate) fn fill_in_runs<const BLOCK_BYTES: usize>(
    first: u128,
    destination: &mut [u8],
    mut fill: impl FnMut(u128, &mut [u8]),
) -> u128 {
    let (mut first, mut rest) = (first, destination);
    while !rest.is_empty() {
        let until_wrap = (1 << 32) - u64::from(first as u32);
        let bytes = (until_wrap * BLOCK_BYTES as u64).min(rest.len() as u64);
        let (run, after) = rest.split_at_mut(bytes as usize);
        fill(first, run);
        first = first.wrapping_add(bytes.div_ceil(BLOCK_BYTES as u64).into());
        rest = after;
    }
    first
}

#[cfg(test)]
mod tests {
    use super::fill_in_runs;

    extern crate std;
    use std::vec::Vec;

    fn runs(first: u128, bytes: usize) -> (Vec<(u128, usize)>, u128) {
        let mut runs = Vec::new();
        let mut destination = [0; 400];
        let next = fill_in_runs::<16>(first, &mut destination[..bytes], |first, run| {
            runs.push((first, run.len()));
        });
        (runs, next)
    }

    #[test]
    fn a_run_ends_where_the_low_word_wraps() {
        let wrap = 7u128 << 32;
        assert_eq!(
            runs(wrap - 2, 50),
            ([(wrap - 2, 32), (wrap, 18)].to_vec(), wrap + 2)
        );
        assert_eq!(runs(wrap - 2, 32), ([(wrap - 2, 32)].to_vec(), wrap));
        assert_eq!(runs(wrap, 50), ([(wrap, 50)].to_vec(), wrap + 4));
        assert_eq!(runs(wrap + 1, 50), ([(wrap + 1, 50)].to_vec(), wrap + 5));
    }

    #[test]
    fn zero_follows_the_largest_counter() {
        assert_eq!(runs(u128::MAX, 17), ([(u128::MAX, 16), (0, 1)].to_vec(), 1));
    }

    #[test]
    fn nothing_is_filled_for_no_bytes() {
        assert_eq!(runs(3, 0), (Vec::new(), 3));
    }
}
