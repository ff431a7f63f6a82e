//! Figures for readers: three digits and a unit.

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

/// A figure in its unit. Ratios have the unit `x`.
#[must_use]
pub fn figure(value: f64, unit: &str) -> String {
    match unit {
        "x" => format!("{}x", digits(value)),
        "ns" => duration(value),
        unit => format!("{} {unit}", digits(value)),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(figure(27.96, "x"), "28.0x");
        assert_eq!(digits(f64::NAN), "-");
    }
}
