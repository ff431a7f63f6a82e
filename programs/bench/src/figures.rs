//! Figures: statistics of a few samples, three digits and a unit, and tables for a terminal. The statistics are order statistics,
//! because a busy machine makes outliers and no bell curve.

use hdrhistogram::Histogram;

/// 18 minutes. A longer call counts as this long.
const MAX_NS: u64 = 1 << 40;
/// Digits that a bucket keeps: a value is off by at most 1 %, and a histogram takes 34 KiB.
const DIGITS: u8 = 2;

/// Counts of nanoseconds, none yet. It takes its memory here, and none while it counts.
///
/// # Panics
///
/// Never: the bounds are valid.
#[must_use]
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, MAX_NS, DIGITS).expect("the bounds are fixed and valid")
}

/// The `fraction`-quantile (0 to 1) of `samples`, interpolated; `None` of nothing.
#[must_use]
pub fn quantile(samples: &[f64], fraction: f64) -> Option<f64> {
    let mut sorted: Vec<f64> = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = fraction.clamp(0.0, 1.0) * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (
        sorted[place.floor() as usize],
        sorted[place.ceil() as usize],
    );
    Some(below + (above - below) * place.fract())
}

/// The middle of `samples`; NaN of nothing.
#[must_use]
pub fn median(samples: &[f64]) -> f64 {
    quantile(samples, 0.5).unwrap_or(f64::NAN)
}

/// Half the distance between the quartiles, as a share of the median: what to add to and subtract from a
/// median to cover the middle half of the samples. Zero of nothing.
#[must_use]
pub fn spread(samples: &[f64]) -> f64 {
    let quartiles = (quantile(samples, 0.25), quantile(samples, 0.75));
    let (Some(lower), Some(upper)) = quartiles else {
        return 0.0;
    };
    (upper - lower) / 2.0 / median(samples)
}

/// The median of `numerators[i] / denominators[i]`. Both of one round were measured within a moment of each
/// other, so what slowed the machine down in that round cancels.
#[must_use]
pub fn median_ratio(numerators: &[f64], denominators: &[f64]) -> f64 {
    let pairs = numerators.iter().zip(denominators);
    let ratios: Vec<f64> = pairs.map(|(over, under)| over / under).collect();
    median(&ratios)
}

/// The standard deviation of `samples` as a share of their mean: 0 when all got the same. Zero of nothing.
#[must_use]
pub fn coefficient_of_variation(samples: &[f64]) -> f64 {
    if samples.is_empty() {
        return 0.0;
    }
    let count = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / count;
    let variance = samples
        .iter()
        .map(|sample| (sample - mean).powi(2))
        .sum::<f64>()
        / count;
    variance.sqrt() / mean
}

// ---- three digits and a unit ----

/// A duration in nanoseconds as text: `5.72 ns`, `1.50 us`.
#[must_use]
pub fn duration(ns: f64) -> String {
    with_unit(ns, &[(1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s")])
}

/// Bytes per second, by powers of ten: `12.3 GB/s`.
#[must_use]
pub fn rate(bytes_per_second: f64) -> String {
    let units = [
        (1.0, "B/s"),
        (1e3, "kB/s"),
        (1e6, "MB/s"),
        (1e9, "GB/s"),
        (1e12, "TB/s"),
    ];
    with_unit(bytes_per_second, &units)
}

/// A share: `3.16 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{} %", digits(share * 100.0))
}

/// Three digits, or all there are before the point.
#[must_use]
pub fn digits(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => "-".into(),
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        0.01.. => format!("{value:.2}"),
        0.0 => "0".into(),
        _ => format!("{value:.4}"),
    }
}

fn with_unit(value: f64, units: &[(f64, &str)]) -> String {
    let fitting = units
        .iter()
        .rev()
        .find(|(scale, _)| value >= scale * 0.9995);
    let (scale, unit) = fitting.or(units.first()).expect("there are units");
    format!("{} {unit}", digits(value / scale))
}

// ---- tables ----

/// Rows under a head, and notes below them.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The title.
    pub title: String,
    /// The names of the columns.
    pub head: Vec<String>,
    /// The rows; the first cell names the row.
    pub rows: Vec<Vec<String>>,
    /// Notes that explain the figures.
    pub notes: Vec<String>,
}

impl Table {
    /// A table without rows.
    #[must_use]
    pub fn new(title: impl Into<String>, head: &[&str]) -> Self {
        Self {
            title: title.into(),
            head: head.iter().map(ToString::to_string).collect(),
            ..Self::default()
        }
    }

    /// The same with one more note.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// For a terminal: each column as wide as its widest cell, names to the left, figures to the right.
    #[must_use]
    pub fn text(&self) -> String {
        let lines: Vec<&Vec<String>> = [&self.head].into_iter().chain(&self.rows).collect();
        let columns = lines.iter().map(|line| line.len()).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = format!("{}\n", self.title);
        for line in lines {
            let cells = line.iter().zip(&widths).enumerate();
            let cells = cells.map(|(column, (cell, width))| match column {
                0 => format!("  {cell:width$}"),
                _ => format!("  {cell:>width$}"),
            });
            text += cells.collect::<String>().trim_end();
            text.push('\n');
        }
        for note in &self.notes {
            text += &format!("  {note}\n");
        }
        text + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_beyond_the_bounds_counts_as_the_longest() {
        let mut histogram = histogram();
        histogram.saturating_record(5);
        histogram.saturating_record(u64::MAX);
        assert_eq!((histogram.value_at_quantile(0.5), histogram.len()), (5, 2));
        assert!(histogram.max() >= MAX_NS);
        assert_eq!(super::histogram().value_at_quantile(0.5), 0);
    }

    #[test]
    fn a_median_ignores_an_outlier_and_the_order() {
        assert_eq!(median(&[3.0, 1e9, 1.0, 2.0, 2.5]), 2.5);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn quantiles_are_interpolated_between_samples() {
        let samples = [10.0, 20.0, 30.0, 40.0, 50.0];
        assert_eq!(quantile(&samples, 0.0), Some(10.0));
        assert_eq!(quantile(&samples, 0.1), Some(14.0));
        assert_eq!(quantile(&samples, 1.0), Some(50.0));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn a_spread_is_relative_to_the_median() {
        assert_eq!(spread(&[80.0, 90.0, 100.0, 110.0, 120.0]), 0.1);
        assert_eq!(spread(&[7.0]), 0.0);
        assert_eq!(spread(&[]), 0.0);
    }

    #[test]
    fn what_slows_a_whole_round_down_does_not_move_a_ratio() {
        let calm = median_ratio(&[30.0, 30.0, 30.0], &[10.0, 10.0, 10.0]);
        let noisy = median_ratio(&[30.0, 3.0, 15.0], &[10.0, 1.0, 5.0]);
        assert_eq!(calm, noisy);
    }

    #[test]
    fn fairness_is_zero_for_equals_and_one_when_one_of_two_starves() {
        assert_eq!(coefficient_of_variation(&[5.0, 5.0, 5.0]), 0.0);
        assert_eq!(coefficient_of_variation(&[10.0, 0.0]), 1.0);
        assert_eq!(coefficient_of_variation(&[]), 0.0);
    }

    #[test]
    fn figures_have_three_digits_and_the_unit_that_fits() {
        assert_eq!(duration(5.718), "5.72 ns");
        assert_eq!(duration(0.5), "0.50 ns");
        assert_eq!(duration(999.9), "1.00 us");
        assert_eq!(duration(62_500.0), "62.5 us");
        assert_eq!(rate(12.34e9), "12.3 GB/s");
        assert_eq!(rate(391e6), "391 MB/s");
        assert_eq!([rate(0.0), rate(999.0)], ["0 B/s", "999 B/s"]);
        assert_eq!(percent(0.0316), "3.16 %");
        assert_eq!(digits(f64::NAN), "-");
    }

    fn table() -> Table {
        let mut table = Table::new("T", &["", "a", "bbbb"]);
        table.rows.push(vec!["x".into(), "10.0".into(), "1".into()]);
        table
    }

    #[test]
    fn columns_stand_under_their_heads() {
        assert_eq!(table().text(), "T\n        a  bbbb\n  x  10.0     1\n\n");
    }
}
