//! Continuous tests of raw samples (SP 800-90B section 4.4): pure functions of the samples.
//!
//! They catch a source that has died or got stuck, not one that is subtly weak; what a source is worth
//! is its claim, and these tests tell when the claim has become absurd.

use crate::source::MinEntropy;

/// The chance of a false alarm that the cutoffs are set for: 2^-30 a sample, between SP 800-90B's
/// recommended bounds of 2^-20 and 2^-40.
const FALSE_ALARM_EXPONENT: u32 = 30;

/// The repetition count test (SP 800-90B section 4.4.1) on bytes: catches a source that is stuck.
///
/// Fails when one value comes C times in a row, C = 1 + ceil(-log2(alpha) / H), H the claim in bits a byte.
#[derive(Clone, Debug)]
pub struct RepetitionCount {
    cutoff: u32,
    last: Option<u8>,
    count: u32,
}

impl RepetitionCount {
    /// A test for a source with this claim. Without a claim there is nothing to hold it to, and the test
    /// never fails.
    #[must_use]
    pub const fn new(claim: MinEntropy) -> Self {
        let cutoff = match claim.as_256ths() {
            0 => u32::MAX,
            per_byte => 1 + (FALSE_ALARM_EXPONENT * 256).div_ceil(per_byte as u32),
        };
        Self {
            cutoff,
            last: None,
            count: 0,
        }
    }

    /// The run length that fails.
    #[must_use]
    pub const fn cutoff(&self) -> u32 {
        self.cutoff
    }

    /// Goes over `samples` in order, from where the last call ended, and says whether they pass.
    #[must_use]
    pub fn passes(&mut self, samples: &[u8]) -> bool {
        let mut passes = true;
        for &sample in samples {
            self.count = if self.last == Some(sample) {
                self.count.saturating_add(1)
            } else {
                1
            };
            self.last = Some(sample);
            passes &= self.count < self.cutoff;
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_one_short_of_the_cutoff_passes_and_the_cutoff_fails() {
        // 1 + ceil(30 / 8) = 5 for full entropy; 1 + ceil(30 / 0.5) = 61 for half a bit.
        for (claim, cutoff) in [
            (MinEntropy::FULL, 5),
            (MinEntropy::per_byte_256ths(128), 61),
        ] {
            let mut test = RepetitionCount::new(claim);
            assert_eq!(test.cutoff(), cutoff);
            assert!(test.passes(&[9]));
            for _ in 1..cutoff {
                assert!(test.passes(&[7]));
            }
            assert!(!test.passes(&[7]), "the run goes on across calls");
            assert!(test.passes(&[8]), "another value ends it");
        }
    }

    #[test]
    fn a_source_that_claims_nothing_is_held_to_nothing() {
        assert!(RepetitionCount::new(MinEntropy::NONE).passes(&[0; 10_000]));
    }
}
