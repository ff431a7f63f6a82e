//! A histogram of latencies that takes no memory while it counts.

/// Buckets an octave: a value is off by at most 1/64, 1.6 %.
const STEPS: usize = 64;
/// Up to 2^40 ticks, minutes on any machine.
const OCTAVES: usize = 40;

/// Counts of durations in ticks, in buckets whose width grows with the value. Adding is a few instructions
/// and a store.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Box<[u64]>,
    total: u64,
    max: u64,
}

impl Histogram {
    /// An empty histogram.
    #[must_use]
    pub fn new() -> Self {
        Self {
            counts: vec![0; STEPS * OCTAVES].into(),
            total: 0,
            max: 0,
        }
    }

    /// Counts a duration.
    #[inline]
    pub fn add(&mut self, ticks: u64) {
        self.counts[bucket(ticks)] += 1;
        self.total += 1;
        self.max = self.max.max(ticks);
    }

    /// Adds all that `other` has counted.
    pub fn merge(&mut self, other: &Histogram) {
        for (count, other) in self.counts.iter_mut().zip(&other.counts) {
            *count += other;
        }
        self.total += other.total;
        self.max = self.max.max(other.max);
    }

    /// How many were counted.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The longest, exactly.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The duration that `fraction` (0 to 1) of all do not exceed, to the bucket's upper end and never above
    /// the longest; 0 of nothing.
    #[must_use]
    pub fn quantile(&self, fraction: f64) -> u64 {
        let wanted = (fraction * self.total as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (index, &count) in self.counts.iter().enumerate() {
            seen += count;
            if count > 0 && seen >= wanted {
                return upper_end(index).min(self.max);
            }
        }
        self.max
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

/// Values below [`STEPS`] have a bucket each; from there on each octave has [`STEPS`] buckets.
fn bucket(ticks: u64) -> usize {
    let steps = STEPS as u64;
    if ticks < steps {
        return ticks as usize;
    }
    let octave = ticks.ilog2() - steps.ilog2();
    let index = (octave as usize + 1) * STEPS + ((ticks >> octave) - steps) as usize;
    index.min(STEPS * OCTAVES - 1)
}

/// The largest value of a bucket.
fn upper_end(index: usize) -> u64 {
    if index < STEPS {
        return index as u64;
    }
    let octave = index / STEPS - 1;
    let step = (index % STEPS + STEPS) as u64;
    ((step + 1) << octave) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_bucket_and_buckets_are_narrow() {
        let values = (0..5000)
            .chain((13..39).flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 12345]));
        for value in values {
            let index = bucket(value);
            let below = if index == 0 {
                None
            } else {
                Some(upper_end(index - 1))
            };
            assert!(below.is_none_or(|below| below < value), "{value}");
            assert!(value <= upper_end(index), "{value}");
            assert!(upper_end(index) - value <= value / 64, "{value}");
        }
    }

    #[test]
    fn percentiles_of_a_known_sequence_are_right() {
        let mut histogram = Histogram::new();
        (1..=10_000).for_each(|ticks| histogram.add(ticks));
        for (fraction, expected) in [(0.5, 5000.0), (0.99, 9900.0), (0.999, 9990.0)] {
            let found = histogram.quantile(fraction) as f64;
            assert!(
                (found / expected - 1.0).abs() < 1.0 / 64.0,
                "{fraction}: {found}"
            );
        }
        assert_eq!(histogram.quantile(1.0), 10_000);
        assert_eq!((histogram.total(), histogram.max()), (10_000, 10_000));
    }

    #[test]
    fn the_longest_and_the_absurd_are_kept() {
        let mut histogram = Histogram::new();
        histogram.add(5);
        histogram.add(u64::MAX);
        assert_eq!(histogram.quantile(0.5), 5);
        assert_eq!(histogram.max(), u64::MAX);
        assert_eq!(Histogram::new().quantile(0.5), 0);
    }

    #[test]
    fn threads_histograms_add_up() {
        let (mut first, mut second) = (Histogram::new(), Histogram::new());
        (0..100).for_each(|_| first.add(10));
        (0..300).for_each(|_| second.add(50));
        first.merge(&second);
        assert_eq!((first.total(), first.max()), (400, 50));
        assert_eq!((first.quantile(0.25), first.quantile(0.26)), (10, 50));
    }
}
