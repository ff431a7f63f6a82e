//! The counts that fail, computed from a claim and a chance of false alarm.

use super::table;
use crate::source::{MinEntropy, Symbol};

/// How bad a failure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grade {
    /// A sound source fails so once in 2^30 samples: the source has to pass its start-up again.
    Intermittent,
    /// A sound source fails so once in 2^60 samples: the source is disabled.
    Permanent,
}

impl Grade {
    /// -log2 of the chance that a sound source fails: SP 800-90B recommends 20 to 40 for a test that is
    /// reported to an operator.
    #[must_use]
    pub const fn false_alarm_exponent(self) -> u32 {
        match self {
            Grade::Intermittent => 30,
            Grade::Permanent => 60,
        }
    }
}

/// The counts at which a test fails a source of a given claim, for both grades.
///
/// The repetition count fails at C = 1 + ceil(-log2(alpha) / H) (SP 800-90B 4.4.1). The adaptive proportion test
/// fails at C = 1 + critbinom(W, 2^-H, 1 - alpha) (4.4.2): the least count that a source with H bits a symbol
/// reaches in a window of W symbols with a chance of at most alpha. The table of these counts is computed
/// exactly by `vectors/make-cutoffs.py`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Cutoffs {
    pub(super) repetition_count: [u32; 2],
    pub(super) adaptive_proportion: [u16; 2],
    pub(super) window: u16,
    /// The claim for each byte. Without a claim no test can fail.
    pub(super) claim_256ths: u16,
}

impl Cutoffs {
    /// The value of zeroed memory: cutoffs of no claim.
    pub(super) const ZERO: Self = Self {
        repetition_count: [0; 2],
        adaptive_proportion: [0; 2],
        window: 0,
        claim_256ths: 0,
    };

    /// The cutoffs for a claim. Without a claim no test fails.
    ///
    /// A symbol of one bit claims at most one bit, even if its byte claims more. For a word the adaptive proportion test
    /// assumes a claim of 8 bits at most: a higher cutoff than the claim allows, which raises no false alarm.
    #[must_use]
    pub const fn new(claim: MinEntropy, symbol: Symbol) -> Self {
        let byte = claim.as_256ths();
        let (claim, window) = match symbol {
            Symbol::Bit if byte > 256 => (256, Self::BINARY_WINDOW),
            Symbol::Bit => (byte, Self::BINARY_WINDOW),
            Symbol::Byte => (byte, Self::WINDOW),
            Symbol::Word => (8 * byte, Self::WINDOW),
        };
        if claim == 0 {
            return Self {
                repetition_count: [u32::MAX; 2],
                adaptive_proportion: [u16::MAX; 2],
                window,
                claim_256ths: 0,
            };
        }
        let row = if claim < 2048 { claim as u32 } else { 2048 };
        let [intermittent, permanent]: [&[u64]; 2] = match symbol {
            Symbol::Bit => [&table::WINDOW_1024[0], &table::WINDOW_1024[1]],
            Symbol::Byte | Symbol::Word => [&table::WINDOW_512[0], &table::WINDOW_512[1]],
        };
        Self {
            repetition_count: [
                1 + (256 * Grade::Intermittent.false_alarm_exponent()).div_ceil(claim as u32),
                1 + (256 * Grade::Permanent.false_alarm_exponent()).div_ceil(claim as u32),
            ],
            adaptive_proportion: [
                cutoff(intermittent, window + 1, row),
                cutoff(permanent, window + 1, row),
            ],
            window,
            claim_256ths: byte,
        }
    }

    /// The symbols of a window of the adaptive proportion test (SP 800-90B 4.4.2).
    pub const WINDOW: u16 = 512;

    /// The symbols of a window if a symbol is a bit.
    pub const BINARY_WINDOW: u16 = 1024;

    /// The run length that fails.
    #[must_use]
    pub const fn repetition_count(&self, grade: Grade) -> u32 {
        self.repetition_count[grade as usize]
    }

    /// The count that fails among [`window`](Self::window) symbols. A number above the window never
    /// fails: with a claim below 30/512 of a bit even a window full of one value is not unlikely enough.
    #[must_use]
    pub const fn adaptive_proportion(&self, grade: Grade) -> u16 {
        self.adaptive_proportion[grade as usize]
    }

    /// The symbols of a window.
    #[must_use]
    pub const fn window(&self) -> u16 {
        self.window
    }
}

/// The cutoff of a claim in 256ths of a bit, from the steps of a table: `first` less the ones before the zero that ends
/// the claim.
#[inline(never)]
const fn cutoff(steps: &[u64], first: u16, claim: u32) -> u16 {
    let (mut cutoff, mut claims_left, mut index) = (first, claim, 0);
    // Whole words that end fewer claims than are left.
    while steps[index].count_zeros() < claims_left {
        claims_left -= steps[index].count_zeros();
        cutoff -= steps[index].count_ones() as u16;
        index += 1;
    }
    let mut word = steps[index];
    loop {
        if word & 1 == 1 {
            cutoff -= 1;
        } else if claims_left == 1 {
            return cutoff;
        } else {
            claims_left -= 1;
        }
        word >>= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetition_cutoffs_are_those_of_the_formula() {
        for (claim, symbol, expected) in [
            (2048, Symbol::Byte, [5, 9]),
            (128, Symbol::Byte, [61, 121]),
            (2048, Symbol::Bit, [31, 61]),
            (2048, Symbol::Word, [2, 2]),
            (1, Symbol::Byte, [7681, 15361]),
        ] {
            let cutoffs = Cutoffs::new(MinEntropy::per_byte_256ths(claim), symbol);
            let grades = [Grade::Intermittent, Grade::Permanent];
            assert_eq!(
                grades.map(|grade| cutoffs.repetition_count(grade)),
                expected
            );
        }
    }

    #[test]
    fn a_higher_claim_is_never_held_to_less() {
        let at = |claim, symbol| Cutoffs::new(MinEntropy::per_byte_256ths(claim), symbol);
        for symbol in [Symbol::Bit, Symbol::Byte, Symbol::Word] {
            for claim in 1..2048 {
                let (low, high) = (at(claim, symbol), at(claim + 1, symbol));
                for grade in [Grade::Intermittent, Grade::Permanent] {
                    assert!(low.adaptive_proportion(grade) >= high.adaptive_proportion(grade));
                    assert!(low.repetition_count(grade) >= high.repetition_count(grade));
                }
                let [intermittent, permanent] = low.adaptive_proportion;
                assert!(intermittent <= permanent);
            }
        }
    }

    #[test]
    fn tables_hold_what_an_independent_implementation_computes() {
        // Computed by Python's decimal module with 400 digits, term by term.
        for (claim, symbol, expected) in [
            (2048, Symbol::Byte, [16, 25]),
            (1000, Symbol::Byte, [74, 94]),
            (256, Symbol::Byte, [325, 355]),
            (128, Symbol::Byte, [422, 447]),
            (64, Symbol::Byte, [477, 494]),
            (16, Symbol::Byte, [512, 513]),
            (256, Symbol::Bit, [609, 652]),
            (100, Symbol::Bit, [861, 894]),
            (8, Symbol::Bit, [1024, 1025]),
        ] {
            let cutoffs = Cutoffs::new(MinEntropy::per_byte_256ths(claim), symbol);
            assert_eq!(cutoffs.adaptive_proportion, expected, "{claim} {symbol:?}");
        }
    }
}
