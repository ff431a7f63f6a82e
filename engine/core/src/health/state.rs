//! The state of a source: start-up, active, quarantined, disabled.

use super::continuous::{Continuous, Findings};
use super::cutoffs::{Cutoffs, Grade};
use crate::source::{MinEntropy, Symbol};
use core::fmt;

/// The symbols that must pass in a row before a source with a claim is used (SP 800-90B 4.3, requirement 10 asks for
/// 1024 at least).
pub const START_UP_SYMBOLS: u32 = 1024;

/// This number of intermittent failures in a row counts as one permanent failure.
const MAX_IN_A_ROW: u8 = 3;

/// After this number of symbols without a failure, the next failure is the first of a new row.
const FORGOTTEN_AFTER: u32 = 1 << 16;

/// The state of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum SourceHealth {
    /// It has not passed 1024 symbols yet: its samples are tested and thrown away.
    #[default]
    StartUp,
    /// Its samples are used.
    Active,
    /// It failed, and has to pass 1024 symbols again.
    Quarantined,
    /// It failed permanently. It is used again only if an operator restarts it.
    Disabled,
}

impl SourceHealth {
    /// All states, in the order of their numbers.
    pub const ALL: [Self; 4] = [
        Self::StartUp,
        Self::Active,
        Self::Quarantined,
        Self::Disabled,
    ];

    /// The name in reports and traces: `start-up`, `active`, `quarantined` or `disabled`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            SourceHealth::StartUp => "start-up",
            SourceHealth::Active => "active",
            SourceHealth::Quarantined => "quarantined",
            SourceHealth::Disabled => "disabled",
        }
    }
}

/// The use of samples: mixed with credit, mixed without, or thrown away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Mix them, and credit the claim.
    Credit,
    /// Mix them, and credit nothing: this compensates for credit that was given in a window that failed later.
    Mix,
    /// Throw them away.
    Discard,
}

/// The result of the tests for some samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The same action for all of them.
    pub action: Action,
    /// The failures that the tests found in them.
    pub findings: Findings,
}

/// The health of a source.
#[repr(C)]
pub struct Health {
    tests: Continuous,
    /// The symbols since the start-up began or the last failure came.
    passed: u32,
    /// The symbols still to be mixed without credit.
    without_credit: u32,
    state: SourceHealth,
    failures_in_a_row: u8,
    /// The number of the [`Symbol`] that `cutoffs` are for.
    symbol: u8,
    _reserved: [u8; 5],
    cutoffs: Cutoffs,
}

impl Health {
    /// The value of zeroed memory: a source that gave no sample so far.
    pub const ZERO: Self = Self {
        tests: Continuous::ZERO,
        passed: 0,
        without_credit: 0,
        state: SourceHealth::StartUp,
        failures_in_a_row: 0,
        symbol: 0,
        _reserved: [0; 5],
        cutoffs: Cutoffs::ZERO,
    };

    /// The state.
    #[must_use]
    pub const fn state(&self) -> SourceHealth {
        self.state
    }

    /// Tests the next samples of a source with this claim, whole symbols, and decides about all of them at once.
    ///
    /// If a test fails, this call's samples are thrown away. Samples of the same window that earlier calls let through
    /// are in the pools, where they do no harm. Their credit was wrong: so, when the source is active again, a whole
    /// window of its samples gets no credit.
    ///
    /// A source without a claim is active at once and never fails.
    #[must_use]
    pub fn judge(&mut self, claim: MinEntropy, symbol: Symbol, samples: &[u8]) -> Outcome {
        let cutoffs = self.cutoffs(claim, symbol);
        let mut findings = Findings::default();
        if self.state == SourceHealth::Disabled {
            return Outcome {
                action: Action::Discard,
                findings,
            };
        }
        if cutoffs.claim_256ths == 0 {
            self.state = SourceHealth::Active;
            return Outcome {
                action: Action::Credit,
                findings,
            };
        }
        let mut symbols = 0u32;
        for symbol in self::symbols(symbol, samples) {
            symbols = symbols.saturating_add(1);
            if self.tests.step(&cutoffs, symbol, &mut findings) {
                self.fail(&cutoffs, findings.of_grade(Grade::Permanent) > 0);
                symbols = 0;
            }
        }
        let action = match (findings.is_empty(), self.state) {
            (true, SourceHealth::Active) => self.use_samples(symbols),
            _ => Action::Discard,
        };
        self.pass(symbols);
        Outcome { action, findings }
    }

    /// Starts a source again: for an operator who has repaired it.
    pub fn restart(&mut self) {
        *self = Self::ZERO;
    }

    /// The cutoffs for a claim. Computed only if claim or symbol changed: that takes 3800 instructions for a claim of 8
    /// bits, and a reader waits for them.
    fn cutoffs(&mut self, claim: MinEntropy, symbol: Symbol) -> Cutoffs {
        let known = (self.cutoffs.claim_256ths, self.symbol);
        if known != (claim.as_256ths(), symbol as u8) {
            self.cutoffs = Cutoffs::new(claim, symbol);
            self.symbol = symbol as u8;
        }
        self.cutoffs
    }

    fn fail(&mut self, cutoffs: &Cutoffs, is_permanent: bool) {
        if self.passed >= FORGOTTEN_AFTER {
            self.failures_in_a_row = 0;
        }
        self.failures_in_a_row = self.failures_in_a_row.saturating_add(1);
        self.passed = 0;
        self.without_credit = u32::from(cutoffs.window());
        let is_disabled = is_permanent || self.failures_in_a_row >= MAX_IN_A_ROW;
        self.state = if is_disabled {
            SourceHealth::Disabled
        } else {
            SourceHealth::Quarantined
        };
    }

    fn pass(&mut self, symbols: u32) {
        self.passed = self.passed.saturating_add(symbols);
        let waits = matches!(
            self.state,
            SourceHealth::StartUp | SourceHealth::Quarantined
        );
        if waits && self.passed >= START_UP_SYMBOLS {
            self.state = SourceHealth::Active;
        }
    }

    /// The action for samples that passed: no credit until a whole window of them has passed after a failure.
    fn use_samples(&mut self, symbols: u32) -> Action {
        let without_credit = self.without_credit;
        self.without_credit = without_credit.saturating_sub(symbols);
        if without_credit == 0 {
            Action::Credit
        } else {
            Action::Mix
        }
    }
}

impl fmt::Debug for Health {
    /// Shows no sample.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Health")
            .field("state", &self.state)
            .field("passed", &self.passed)
            .finish_non_exhaustive()
    }
}

/// The symbols of some samples.
fn symbols(symbol: Symbol, samples: &[u8]) -> impl Iterator<Item = u64> {
    let bytes = samples.chunks_exact(symbol.bytes());
    bytes.map(|bytes| match bytes.first_chunk() {
        Some(word) => u64::from_le_bytes(*word),
        None => u64::from(bytes[0]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const CLAIM: MinEntropy = MinEntropy::per_byte_256ths(256);

    /// Samples that pass.
    fn sound(length: usize) -> Vec<u8> {
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        (0..length).map(|_| next()).collect()
    }

    fn judge(health: &mut Health, samples: &[u8]) -> Action {
        health.judge(CLAIM, Symbol::Byte, samples).action
    }

    fn active() -> Health {
        let mut health = Health::ZERO;
        assert_eq!(judge(&mut health, &sound(1024)), Action::Discard);
        assert_eq!(health.state(), SourceHealth::Active);
        health
    }

    #[test]
    fn nothing_of_the_start_up_is_used() {
        let mut health = Health::ZERO;
        for piece in sound(1024).chunks(64) {
            assert_eq!(health.state(), SourceHealth::StartUp);
            assert_eq!(judge(&mut health, piece), Action::Discard);
        }
        assert_eq!(judge(&mut health, &sound(64)), Action::Credit);
    }

    #[test]
    fn a_source_that_is_stuck_from_the_start_never_counts() {
        let mut health = Health::ZERO;
        for _ in 0..100 {
            assert_eq!(judge(&mut health, &[0; 20]), Action::Discard);
        }
        assert_eq!(health.state(), SourceHealth::Disabled);
    }

    #[test]
    fn a_failure_costs_a_start_up_and_a_window_of_credit() {
        let mut health = active();
        assert_eq!(judge(&mut health, &[7; 31]), Action::Discard);
        assert_eq!(health.state(), SourceHealth::Quarantined);
        assert_eq!(judge(&mut health, &sound(1023)), Action::Discard);
        assert_eq!(health.state(), SourceHealth::Quarantined);
        assert_eq!(judge(&mut health, &sound(1)), Action::Discard);
        assert_eq!(health.state(), SourceHealth::Active);
        assert_eq!(judge(&mut health, &sound(511)), Action::Mix);
        assert_eq!(judge(&mut health, &sound(1)), Action::Mix);
        assert_eq!(judge(&mut health, &sound(1)), Action::Credit);
    }

    #[test]
    fn what_follows_a_failure_in_the_same_sample_is_part_of_the_next_start_up() {
        let mut health = active();
        let samples: Vec<u8> = [7; 40].into_iter().chain(sound(1024)).collect();
        assert_eq!(judge(&mut health, &samples), Action::Discard);
        assert_eq!(health.state(), SourceHealth::Active);
        assert_eq!(judge(&mut health, &sound(1)), Action::Mix);
    }

    #[test]
    fn a_run_reaches_the_permanent_grade_through_a_quarantine() {
        let mut health = active();
        assert_eq!(judge(&mut health, &[7; 31]), Action::Discard);
        assert_eq!(health.state(), SourceHealth::Quarantined);
        assert_eq!(judge(&mut health, &[7; 31]), Action::Discard);
        assert_eq!(health.state(), SourceHealth::Disabled);
        assert_eq!(judge(&mut health, &sound(5000)), Action::Discard);
        health.restart();
        assert_eq!(health.state(), SourceHealth::StartUp);
    }

    #[test]
    fn three_failures_in_a_row_are_one_too_many_but_not_over_a_long_time() {
        let mut health = active();
        for state in [
            SourceHealth::Quarantined,
            SourceHealth::Quarantined,
            SourceHealth::Disabled,
        ] {
            let _ = judge(&mut health, &[7; 40]);
            assert_eq!(health.state(), state);
            let _ = judge(&mut health, &sound(2000));
        }
        let mut health = active();
        for _ in 0..10 {
            let _ = judge(&mut health, &[7; 40]);
            let _ = judge(&mut health, &sound(1 << 16));
            assert_eq!(health.state(), SourceHealth::Active);
        }
    }

    #[test]
    fn how_samples_are_cut_changes_no_state() {
        let samples: Vec<u8> = sound(1500)
            .into_iter()
            .chain([7; 40])
            .chain(sound(1200))
            .collect();
        for piece in [1, 7, 64, 256] {
            let mut health = Health::ZERO;
            let mut findings = Findings::default();
            for piece in samples.chunks(piece) {
                findings.add(&health.judge(CLAIM, Symbol::Byte, piece).findings);
            }
            assert_eq!(findings.of_grade(Grade::Intermittent), 1);
            assert_eq!(health.state(), SourceHealth::Active);
        }
    }

    #[test]
    fn a_source_that_claims_nothing_is_held_to_nothing() {
        let mut health = Health::ZERO;
        let outcome = health.judge(MinEntropy::NONE, Symbol::Byte, &[0; 10_000]);
        assert_eq!(outcome.action, Action::Credit);
        assert!(outcome.findings.is_empty());
    }

    #[test]
    fn a_new_claim_and_a_new_symbol_have_their_own_cutoffs() {
        let per_byte = MinEntropy::per_byte_256ths;
        let fails = |health: &mut Health, claim, symbol, samples: &[u8]| {
            !health.judge(claim, symbol, samples).findings.is_empty()
        };
        let mut health = active();
        // The repetition count fails at 31 for a bit, at 5 for 8 bits, and at 16 for 2 bits.
        assert!(!fails(&mut health, per_byte(256), Symbol::Byte, &[7; 30]));
        assert!(!fails(&mut health, per_byte(512), Symbol::Byte, &[8; 15]));
        assert!(fails(&mut health, per_byte(512), Symbol::Byte, &[9; 16]));
        let mut health = active();
        assert!(fails(&mut health, MinEntropy::FULL, Symbol::Byte, &[7; 5]));
        let mut health = active();
        // 8 bits a byte are 64 a word, of which two may not be the same, and one a bit.
        assert!(fails(&mut health, MinEntropy::FULL, Symbol::Word, &[6; 16]));
        let mut health = active();
        assert!(!fails(&mut health, MinEntropy::FULL, Symbol::Bit, &[1; 30]));
        assert!(!fails(&mut health, MinEntropy::NONE, Symbol::Bit, &[1; 9]));
    }

    #[test]
    fn words_are_compared_as_words() {
        let mut health = Health::ZERO;
        let claim = MinEntropy::per_byte_256ths(32);
        // 1 bit a word: bytes that repeat in different words are no repetition.
        let words: Vec<u8> = (0..200u64).flat_map(u64::to_le_bytes).collect();
        assert!(
            health
                .judge(claim, Symbol::Word, &words)
                .findings
                .is_empty()
        );
        let findings = health.judge(claim, Symbol::Word, &[9; 31 * 8]).findings;
        assert_eq!(findings.of_grade(Grade::Intermittent), 1);
    }
}
