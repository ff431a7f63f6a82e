//! The carry from the low half of the counter to the high half, for all backends.

/// Fills `destination` in runs within which the low 64 bits of the counter do not wrap.
///
/// `fill` gets the counter of the first block of its run. In every lane that it stores it may step the
/// low half alone: the one wrap in 2^64 blocks always falls between two runs. Lanes past the end of
/// a run may wrap; they must not be stored.
///
/// Every run but the last consists of whole blocks. Returns the counter of the next block.
#[inline]
pub(crate) fn fill_in_runs<const BLOCK_BYTES: usize>(
    first: u128,
    destination: &mut [u8],
    mut fill: impl FnMut(u128, &mut [u8]),
) -> u128 {
    let blocks = destination.len().div_ceil(BLOCK_BYTES) as u64;
    let next = first.wrapping_add(blocks.into());
    // 0 stands for 2^64, and no destination has so many blocks.
    let until_wrap = (first as u64).wrapping_neg();
    if until_wrap == 0 || blocks <= until_wrap {
        if blocks > 0 {
            fill(first, destination);
        }
    } else {
        let (before, after) = destination.split_at_mut(until_wrap as usize * BLOCK_BYTES);
        fill(first, before);
        fill(first.wrapping_add(until_wrap.into()), after);
    }
    next
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
    fn a_run_ends_where_the_low_half_wraps() {
        let wrap = 7u128 << 64;
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
