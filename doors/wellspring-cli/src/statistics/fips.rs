//! FIPS 140-2 (change notice of 2001-10-10): tests of blocks of 20,000 bits.
//!
//! The first 4 bytes are not in a block: they are what the first word is compared with, as in `rngtest`. A rest that
//! fills no block is not tested.

const BLOCK_BYTES: usize = 2500;
const WORD_BYTES: usize = 4;

/// The blocks that failed each test; a block may fail several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FipsFailures {
    /// All tested blocks.
    pub(crate) blocks: u64,
    /// Blocks that failed at least one test.
    pub(crate) any: u64,
    /// Not between 9726 and 10274 ones.
    pub(crate) monobit: u64,
    /// The 5000 values of 4 bits: chi-square not between 2.16 and 46.17.
    pub(crate) poker: u64,
    /// The number of runs of 1, 2, 3, 4, 5, or 6 and more equal bits out of its interval.
    pub(crate) runs: u64,
    /// A run of 26 equal bits or more.
    pub(crate) long_run: u64,
    /// A word of 32 bits that is equal to the word before.
    pub(crate) continuous_run: u64,
}

/// The smallest and largest number of runs of each length, for zeros and for ones.
const RUN_INTERVALS: [(u32, u32); 6] = [
    (2315, 2685),
    (1114, 1386),
    (527, 723),
    (240, 384),
    (103, 209),
    (103, 209),
];

/// Runs of this many bits fail.
const LONG_RUN_BITS: u32 = 26;

/// The failures so far, and the bytes of the next block with the word before it.
pub(super) struct Fips {
    block: [u8; WORD_BYTES + BLOCK_BYTES],
    filled: usize,
    failures: FipsFailures,
}

impl Default for Fips {
    fn default() -> Self {
        Self {
            block: [0; WORD_BYTES + BLOCK_BYTES],
            filled: 0,
            failures: FipsFailures::default(),
        }
    }
}

impl Fips {
    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let taken = bytes.len().min(self.block.len() - self.filled);
            let (start, rest) = bytes.split_at(taken);
            self.block[self.filled..][..taken].copy_from_slice(start);
            self.filled += taken;
            bytes = rest;
            if self.filled == self.block.len() {
                self.test_block();
                self.block.copy_within(BLOCK_BYTES.., 0);
                self.filled = WORD_BYTES;
            }
        }
    }

    pub(super) fn failures(&self) -> FipsFailures {
        self.failures
    }

    fn test_block(&mut self) {
        let block = &self.block[WORD_BYTES..];
        let longest_run_bits;
        let failed = [
            fails_monobit(block),
            fails_poker(block),
            {
                let (counts, longest) = runs(block);
                longest_run_bits = longest;
                let is_inside = |counts: &[u32; 6]| {
                    let mut pairs = counts.iter().zip(RUN_INTERVALS);
                    pairs.all(|(count, (least, most))| (least..=most).contains(count))
                };
                !counts.iter().all(is_inside)
            },
            longest_run_bits >= LONG_RUN_BITS,
            {
                let (words, _) = self.block.as_chunks::<WORD_BYTES>();
                words.windows(2).any(|pair| pair[0] == pair[1])
            },
        ];
        let failures = &mut self.failures;
        failures.blocks += 1;
        failures.any += u64::from(failed.contains(&true));
        let counters = [
            &mut failures.monobit,
            &mut failures.poker,
            &mut failures.runs,
            &mut failures.long_run,
            &mut failures.continuous_run,
        ];
        for (counter, failed) in counters.into_iter().zip(failed) {
            *counter += u64::from(failed);
        }
    }
}

fn fails_monobit(block: &[u8]) -> bool {
    let ones: u32 = block.iter().map(|byte| byte.count_ones()).sum();
    !(9726..=10_274).contains(&ones)
}

fn fails_poker(block: &[u8]) -> bool {
    let mut counts = [0u64; 16];
    for &byte in block {
        counts[usize::from(byte >> 4)] += 1;
        counts[usize::from(byte & 15)] += 1;
    }
    let squares: u64 = counts.iter().map(|count| count * count).sum();
    // 2.16 < 16 / 5000 * squares - 5000 < 46.17.
    !(1_563_176..=1_576_928).contains(&squares)
}

/// How many runs of zeros and of ones there are of each length (6 stands for all longer ones), and the longest.
fn runs(block: &[u8]) -> ([[u32; 6]; 2], u32) {
    let mut counts = [[0; 6]; 2];
    let mut longest = 0;
    let mut end = |bit: usize, length: u32| {
        counts[bit][(length.min(6) - 1) as usize] += 1;
        longest = longest.max(length);
    };
    let mut bit = usize::from(block[0] >> 7);
    let mut length = 0;
    let (words, rest) = block.as_chunks::<4>();
    debug_assert!(rest.is_empty(), "a block is a multiple of 4 bytes");
    for &word in words {
        let word = u32::from_be_bytes(word);
        let mut left = u32::BITS;
        // The bits left are the highest ones.
        let mut bits = word;
        while left > 0 {
            let same = if bit == 1 {
                bits.leading_ones()
            } else {
                bits.leading_zeros()
            };
            if same >= left {
                length += left;
                break;
            }
            if length + same > 0 {
                end(bit, length + same);
            }
            bit ^= 1;
            length = 0;
            bits <<= same;
            left -= same;
        }
    }
    end(bit, length);
    (counts, longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_those_that_are_found_bit_by_bit() {
        let mut block = [0u8; BLOCK_BYTES];
        let mut state = 1u64;
        for (index, byte) in block.iter_mut().enumerate() {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            *byte = match index % 50 {
                0..10 => 0,
                10..15 => 255,
                _ => (state >> 56) as u8,
            };
        }
        let bits: Vec<u8> = block
            .iter()
            .flat_map(|byte| (0..8).rev().map(move |shift| byte >> shift & 1))
            .collect();
        let (mut counts, mut longest) = ([[0; 6]; 2], 0);
        for run in bits.chunk_by(|one, other| one == other) {
            counts[usize::from(run[0])][run.len().min(6) - 1] += 1;
            longest = longest.max(run.len() as u32);
        }
        assert_eq!(runs(&block), (counts, longest));
    }

    #[test]
    fn a_block_of_zeros_fails_all_tests_and_a_rest_none() {
        let mut fips = Fips::default();
        fips.update(&[0; WORD_BYTES + BLOCK_BYTES + 2499]);
        let all = FipsFailures {
            blocks: 1,
            any: 1,
            monobit: 1,
            poker: 1,
            runs: 1,
            long_run: 1,
            continuous_run: 1,
        };
        assert_eq!(fips.failures(), all);
    }
}
