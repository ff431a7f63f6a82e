//! The carry from the low half of the counter to the high half, for all backends of x86-64.

/// Fills `destination` in runs within which the low 64 bits of the counter do not wrap.
///
/// `fill` gets the counter of the first block of its run. In every lane that it stores it may step the
/// low half alone: the one wrap in 2^64 blocks always falls between two runs. Lanes past the end of
/// a run may wrap; they must not be stored.
///
/// Every run but the last consists of whole blocks. At the end the counter is that of the next block.
#[inline]
pub(crate) fn fill_in_runs(
    counter: &mut u128,
    block_bytes: usize,
    destination: &mut [u8],
    mut fill: impl FnMut(u128, &mut [u8]),
) {
    let mut rest = destination;
    while !rest.is_empty() {
        let bytes = bytes_until_wrap(*counter as u64, block_bytes).min(rest.len());
        let (run, after) = rest.split_at_mut(bytes);
        fill(*counter, run);
        *counter = counter.wrapping_add(bytes.div_ceil(block_bytes) as u128);
        rest = after;
    }
}

/// The bytes of the blocks from `low` to the wrap, or `usize::MAX` if they are more.
#[inline]
fn bytes_until_wrap(low: u64, block_bytes: usize) -> usize {
    // From 0 there are 2^64 blocks, a number that does not fit in 64 bits: one is added below.
    let blocks = low.wrapping_neg().wrapping_sub(1);
    usize::try_from(blocks)
        .unwrap_or(usize::MAX)
        .saturating_add(1)
        .saturating_mul(block_bytes)
}

#[cfg(test)]
mod tests {
    use super::fill_in_runs;

    extern crate std;
    use std::vec::Vec;

    fn runs(mut counter: u128, bytes: usize) -> (Vec<(u128, usize)>, u128) {
        let mut runs = Vec::new();
        let mut destination = [0; 400];
        fill_in_runs(&mut counter, 16, &mut destination[..bytes], |first, run| {
            runs.push((first, run.len()));
        });
        (runs, counter)
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
