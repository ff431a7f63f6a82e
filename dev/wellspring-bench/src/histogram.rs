//! Counts of latencies: HdrHistogram, with bounds that fit every latency a run can meet.

/// 2^40 ticks: minutes on any machine. A longer call counts as this long.
const MAX_TICKS: u64 = 1 << 40;
/// Digits that a bucket keeps: a value is off by at most 1 %, and a histogram takes 34 KiB.
const DIGITS: u8 = 2;

/// Counts of durations in ticks. It takes its memory when it is made, none while it counts.
#[derive(Clone, Debug)]
pub struct Histogram(hdrhistogram::Histogram<u64>);

impl Histogram {
    /// An empty histogram.
    #[must_use]
    pub fn new() -> Self {
        let counts = hdrhistogram::Histogram::new_with_bounds(1, MAX_TICKS, DIGITS);
        Self(counts.expect("the bounds are fixed and valid"))
    }

    /// Counts a duration.
    #[inline]
    pub fn add(&mut self, ticks: u64) {
        self.0.saturating_record(ticks);
    }

    /// Adds all that `other` has counted.
    pub fn merge(&mut self, other: &Histogram) {
        self.0.add(&other.0).expect("all have the same bounds");
    }

    /// How many durations were counted.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.len()
    }

    /// The longest duration, up to 1 % more; 0 of nothing.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.0.max()
    }

    /// The duration that `fraction` (0 to 1) of all do not exceed, up to 1 % more; 0 of nothing.
    #[must_use]
    pub fn quantile(&self, fraction: f64) -> u64 {
        self.0.value_at_quantile(fraction)
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_a_known_sequence_are_right_to_one_percent() {
        let mut histogram = Histogram::new();
        (1..=10_000).for_each(|ticks| histogram.add(ticks));
        for (fraction, expected) in [(0.5, 5000.0), (0.99, 9900.0), (0.999, 9990.0), (1.0, 1e4)] {
            let found = histogram.quantile(fraction) as f64;
            assert!(
                (found / expected - 1.0).abs() <= 0.01,
                "{fraction}: {found}"
            );
        }
        assert_eq!(histogram.total(), 10_000);
    }

    #[test]
    fn a_duration_beyond_the_bounds_counts_as_the_longest() {
        let mut histogram = Histogram::new();
        histogram.add(5);
        histogram.add(u64::MAX);
        assert_eq!((histogram.quantile(0.5), histogram.total()), (5, 2));
        assert!(histogram.max() >= MAX_TICKS);
        assert_eq!(Histogram::new().quantile(0.5), 0);
    }

    #[test]
    fn the_histograms_of_threads_add_up() {
        let (mut first, mut second) = (Histogram::new(), Histogram::new());
        (0..100).for_each(|_| first.add(10));
        (0..300).for_each(|_| second.add(50));
        first.merge(&second);
        assert_eq!((first.total(), first.max()), (400, 50));
        assert_eq!((first.quantile(0.25), first.quantile(0.26)), (10, 50));
    }
}
