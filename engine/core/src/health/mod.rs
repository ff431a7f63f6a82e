//! Whether a source's samples are used and credited: start-up and continuous tests (SP 800-90B sections 4.3 and 4.4),
//! pure functions of the samples.
//!
//! They catch a source that has died, got stuck or lost its noise, not a source that is slightly weaker than it claims.
//! The credit follows the source's claim; these tests detect when the claim can no longer be true.
//!
//! ```text
//! Health       the state of a source: start-up, active, quarantined, disabled
//! Continuous   the repetition count and the adaptive proportion test, both grades of each
//! Cutoffs      from a claim and a chance of false alarm to the counts that fail; `table.rs` is computed
//! ```
//!
//! ```
//! use wellspring_core::health::{Health, SourceHealth, Action};
//! use wellspring_core::source::{MinEntropy, Symbol};
//! let claim = MinEntropy::per_byte_256ths(256);
//! let mut health = Health::ZERO;
//! let samples: Vec<u8> = (0..1024u32).map(|n| (n * n / 7) as u8).collect();
//! assert_eq!(health.judge(claim, Symbol::Byte, &samples).action, Action::Discard, "start-up");
//! assert_eq!(health.judge(claim, Symbol::Byte, &samples).action, Action::Credit);
//! let stuck = health.judge(claim, Symbol::Byte, &[7; 40]);
//! assert_eq!(stuck.action, Action::Discard);
//! assert_eq!(health.state(), SourceHealth::Quarantined);
//! ```

use crate::source::{MinEntropy, Symbol};
use core::fmt;

// Written by `vectors/make-cutoffs.py`.
#[rustfmt::skip]
mod table;

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
    /// It has not passed 1024 symbols yet: its samples are tested and discarded.
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

/// The use of samples: hashed into a pool with credit, without credit, or discarded.
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
    /// If a test fails, this call's samples are discarded. Samples of the same window that earlier calls let through
    /// stay in the pools, where they weaken nothing. Their credit was wrong: so, when the source is active again, a
    /// whole window of its samples gets no credit.
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

/// A continuous test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Test {
    /// One value many times in a row (SP 800-90B 4.4.1): a source that is stuck.
    RepetitionCount,
    /// One value too often in a window (4.4.2): a source that lost much of its noise.
    AdaptiveProportion,
}

/// The result of the tests: the number of failures of each grade.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    counts: [[u32; 2]; 2],
}

impl Findings {
    /// How often a test failed. One run, or one window, fails each grade at most once.
    #[must_use]
    pub const fn count(&self, test: Test, grade: Grade) -> u32 {
        self.counts[test as usize][grade as usize]
    }

    /// How often any test failed.
    #[must_use]
    pub const fn of_grade(&self, grade: Grade) -> u32 {
        self.counts[0][grade as usize].saturating_add(self.counts[1][grade as usize])
    }

    /// Whether no test failed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.of_grade(Grade::Intermittent) == 0 && self.of_grade(Grade::Permanent) == 0
    }

    /// Adds the failures of other findings.
    pub fn add(&mut self, other: &Findings) {
        for (test, others) in self.counts.iter_mut().zip(other.counts) {
            for (count, more) in test.iter_mut().zip(others) {
                *count = count.saturating_add(more);
            }
        }
    }

    /// Notes each test that fails just now, at these counts. Returns whether any does.
    #[cold]
    fn note_failures(&mut self, cutoffs: &Cutoffs, run: u32, matches: u16) -> bool {
        let mut has_failed = false;
        for grade in [Grade::Intermittent, Grade::Permanent] {
            for (test, fails) in [
                (
                    Test::RepetitionCount,
                    run == cutoffs.repetition_count(grade),
                ),
                (
                    Test::AdaptiveProportion,
                    matches == cutoffs.adaptive_proportion(grade),
                ),
            ] {
                let count = &mut self.counts[test as usize][grade as usize];
                *count = count.saturating_add(u32::from(fails));
                has_failed |= fails;
            }
        }
        has_failed
    }
}

/// The state of both tests.
///
/// A failure does not reset them: a run that goes on after the intermittent cutoff reaches the permanent one,
/// through a quarantine too.
///
/// It holds raw samples, so it has no `Debug`.
#[repr(C)]
struct Continuous {
    last: u64,
    /// The first symbol of the window.
    reference: u64,
    /// How often `last` came in a row; 0 before the first symbol.
    run: u32,
    /// The symbols of the window so far; 0 between windows.
    position: u16,
    /// How many of them are the reference.
    matches: u16,
}

impl Continuous {
    /// The value of zeroed memory: tests that have seen no sample.
    const ZERO: Self = Self {
        last: 0,
        reference: 0,
        run: 0,
        position: 0,
        matches: 0,
    };

    /// Takes the next symbol. Returns whether a test failed.
    #[inline]
    fn step(&mut self, cutoffs: &Cutoffs, symbol: u64, findings: &mut Findings) -> bool {
        let run = self.count_repetitions(symbol);
        let matches = self.count_in_window(cutoffs.window(), symbol);
        // The cutoffs of the permanent grade are not lower. Hardly any symbol of a sound source comes as far as this.
        let grade = Grade::Intermittent;
        (run >= cutoffs.repetition_count(grade) || matches >= cutoffs.adaptive_proportion(grade))
            && findings.note_failures(cutoffs, run, matches)
    }

    /// How often the symbol has come in a row.
    #[inline]
    fn count_repetitions(&mut self, symbol: u64) -> u32 {
        let repeats = self.run > 0 && self.last == symbol;
        self.run = if repeats {
            self.run.saturating_add(1)
        } else {
            1
        };
        self.last = symbol;
        self.run
    }

    /// How often the reference has come in this window, if the symbol is the reference; else 0.
    #[inline]
    fn count_in_window(&mut self, window: u16, symbol: u64) -> u16 {
        if self.position == 0 {
            (self.reference, self.matches) = (symbol, 0);
        }
        self.position += 1;
        if self.position >= window {
            self.position = 0;
        }
        if symbol != self.reference {
            return 0;
        }
        self.matches += 1;
        self.matches
    }
}

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
    repetition_count: [u32; 2],
    adaptive_proportion: [u16; 2],
    window: u16,
    /// The claim for each byte. Without a claim no test can fail.
    claim_256ths: u16,
}

impl Cutoffs {
    /// The value of zeroed memory: cutoffs of no claim.
    const ZERO: Self = Self {
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
    use crate::source::{MinEntropy, Symbol};
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
        // A claim of 8 bits a byte is 64 bits a word, so no two words may be equal, and 1 bit a bit.
        assert!(fails(&mut health, MinEntropy::FULL, Symbol::Word, &[6; 16]));
        let mut health = active();
        assert!(!fails(&mut health, MinEntropy::FULL, Symbol::Bit, &[1; 30]));
        assert!(!fails(&mut health, MinEntropy::NONE, Symbol::Bit, &[1; 9]));
    }

    #[test]
    fn words_are_compared_as_words() {
        let mut health = Health::ZERO;
        let claim = MinEntropy::per_byte_256ths(32);
        // 1 bit a word: bytes that repeat in different words are not a repetition.
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

    const CUTOFFS: Cutoffs = Cutoffs::new(MinEntropy::per_byte_256ths(256), Symbol::Byte);

    fn findings(symbols: impl IntoIterator<Item = u64>) -> [u32; 4] {
        let (mut tests, mut found) = (Continuous::ZERO, Findings::default());
        for symbol in symbols {
            tests.step(&CUTOFFS, symbol, &mut found);
        }
        let [[a, b], [c, d]] = found.counts;
        [a, b, c, d]
    }

    #[test]
    fn a_run_one_short_of_the_cutoff_passes_and_the_cutoff_fails() {
        let run = |length: u64| (0..10).chain((0..length).map(|_| 7)).chain(20..30);
        assert_eq!(findings(run(30)), [0, 0, 0, 0]);
        assert_eq!(findings(run(31)), [1, 0, 0, 0]);
        assert_eq!(findings(run(60)), [1, 0, 0, 0]);
        assert_eq!(findings(run(61)), [1, 1, 0, 0]);
        assert_eq!(findings(run(200)), [1, 1, 0, 0], "one run fails once");
    }

    #[test]
    fn the_first_symbol_is_not_a_repetition_of_nothing() {
        assert_eq!(findings((0..30).map(|_| 0)), [0; 4]);
        assert_eq!(findings((0..31).map(|_| 0)), [1, 0, 0, 0]);
    }

    /// A window that starts with 7 and holds it `count` times, spread evenly.
    fn window(count: u64) -> impl Iterator<Item = u64> {
        (0..512u64).map(move |place| {
            let of_before = (place * count).div_ceil(512);
            let of_here = ((place + 1) * count).div_ceil(512);
            if of_here > of_before || place == 0 {
                7
            } else {
                1000 + place
            }
        })
    }

    #[test]
    fn a_window_one_short_of_the_cutoff_passes_and_the_cutoff_fails() {
        let [intermittent, permanent] = CUTOFFS.adaptive_proportion.map(u64::from);
        for (count, expected) in [
            (intermittent - 1, [0, 0, 0, 0]),
            (intermittent, [0, 0, 1, 0]),
            (permanent - 1, [0, 0, 1, 0]),
            (permanent, [0, 0, 1, 1]),
        ] {
            let symbols: Vec<u64> = window(count).collect();
            let sevens = symbols.iter().filter(|&&symbol| symbol == 7).count() as u64;
            assert_eq!(sevens, count);
            assert_eq!(findings(symbols), expected, "{count}");
        }
    }

    #[test]
    fn windows_do_not_run_into_each_other() {
        let [intermittent, _] = CUTOFFS.adaptive_proportion.map(u64::from);
        assert_eq!(
            findings((0..20).flat_map(|_| window(intermittent - 1))),
            [0; 4]
        );
        assert_eq!(
            findings((0..20).flat_map(|_| window(intermittent))),
            [0, 0, 20, 0]
        );
    }

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
