//! The two continuous tests (SP 800-90B section 4.4), both grades of each in one count.

use super::cutoffs::{Cutoffs, Grade};

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
pub(super) struct Continuous {
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
    pub(super) const ZERO: Self = Self {
        last: 0,
        reference: 0,
        run: 0,
        position: 0,
        matches: 0,
    };

    /// Takes the next symbol. Returns whether a test failed.
    #[inline]
    pub(super) fn step(&mut self, cutoffs: &Cutoffs, symbol: u64, findings: &mut Findings) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{MinEntropy, Symbol};
    use alloc::vec::Vec;

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
        // Of 16 places each, as many hold 7 as make `count` of 512.
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
}
