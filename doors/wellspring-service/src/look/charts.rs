//! The drawings of the page, made by the code that draws the benchmark's report.

use crate::doors::Door;
use crate::history::Sample;
use crate::state::State;
use wellspring_bench::chart::{Axis, Bar, Bars, Drawing, Lines, MAX_SERIES, Point, Series, Tint};

/// A figure with a decimal unit.
pub(super) fn amount(value: f64, unit: &str) -> String {
    let scales = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let scale = scales.into_iter().find(|(scale, _)| value >= *scale);
    let (scale, prefix) = scale.unwrap_or((1.0, ""));
    let digits = if scale == 1.0 { 0 } else { 1 };
    format!("{:.digits$} {prefix}{unit}", value / scale)
}

/// All drawings, the most important first.
pub(super) fn drawings(state: &State) -> Vec<Drawing> {
    let samples = state.history.samples();
    let doors = door_rates(&samples);
    let mut drawings = vec![rates("Bytes a second, by door", "B/s", &samples, doors)];
    let nodes = samples.last().map_or(0, |last| last.fetches.len());
    let fetches = (0..nodes.min(MAX_SERIES)).map(|node| {
        let count = move |sample: &Sample| sample.fetches.get(node).copied().unwrap_or_default();
        (format!("node {node}"), steps(&samples, count))
    });
    let fetches = fetches.collect();
    drawings.push(rates(
        "Fresh keys a second, by node",
        "/s",
        &samples,
        fetches,
    ));
    drawings.extend(latency(&samples));
    drawings.push(credit(state));
    drawings.push(pools(state));
    drawings
}

/// The rate between each two samples: the growth of `count` a second.
fn steps(samples: &[Sample], count: impl Fn(&Sample) -> u64) -> Vec<f64> {
    let rate = |pair: &[Sample]| {
        let seconds = (pair[1].at - pair[0].at).as_secs_f64().max(0.001);
        count(&pair[1]).saturating_sub(count(&pair[0])) as f64 / seconds
    };
    samples.windows(2).map(rate).collect()
}

/// The doors that have handed out most in the time shown.
fn door_rates(samples: &[Sample]) -> Vec<(String, Vec<f64>)> {
    let rate = |door: Door| {
        let count = move |sample: &Sample| sample.bytes[door as usize];
        (door.name().to_owned(), steps(samples, count))
    };
    let bytes_doors = Door::ALL.into_iter().filter(|door| *door != Door::Web);
    let mut all: Vec<(String, Vec<f64>)> = bytes_doors.map(rate).collect();
    let sum = |rates: &[f64]| rates.iter().sum::<f64>();
    all.sort_by(|a, b| sum(&b.1).total_cmp(&sum(&a.1)));
    // The line of a door that hands out nothing would cover the zeros of the others.
    let drawn = all.iter().filter(|(_, rates)| sum(rates) > 0.0).count();
    all.truncate(drawn.clamp(1, MAX_SERIES));
    all
}

/// The axis of rates goes to this at least: a smaller one would have steps of less than 1, whose labels are the same.
const LEAST_RATE: f64 = 5.0;

fn rates(title: &str, unit: &str, samples: &[Sample], all: Vec<(String, Vec<f64>)>) -> Drawing {
    let most = all
        .iter()
        .flat_map(|(_, rates)| rates)
        .copied()
        .fold(LEAST_RATE, f64::max);
    let now = samples.last().map(|last| last.at);
    let ago = |sample: &Sample| now.map_or(0.0, |now| (now - sample.at).as_secs_f64());
    let series = all.into_iter().map(|(name, rates)| Series {
        name,
        is_dashed: false,
        points: samples
            .iter()
            .skip(1)
            .zip(rates)
            .map(|(sample, rate)| Point {
                x: 120.0 - ago(sample).min(120.0),
                y: rate,
                words: format!("{}, {:.0} s ago", amount(rate, unit), ago(sample)),
            })
            .collect(),
    });
    let mut x = Axis::linear("seconds ago", 120.0, |_| String::new());
    x.to = 120.0;
    x.ticks = [120, 90, 60, 30, 0]
        .map(|ago: u32| (120.0 - f64::from(ago), ago.to_string()))
        .into();
    Lines {
        title: title.into(),
        x,
        y: Axis::linear("the last two minutes", most, |value| amount(value, unit)),
        series: series.collect(),
        ideal: Vec::new(),
    }
    .draw()
}

/// The time within which 50 %, 99 % and 99.9 % of the requests of the last ten seconds were answered.
fn latency(samples: &[Sample]) -> Option<Drawing> {
    let last = samples.last()?;
    let earlier = &samples[samples.len().saturating_sub(11)];
    let counts = last.latencies.since(&earlier.latencies);
    let bar = |name: &str, per_mille, tint| {
        let ns = counts.quantile_ns(per_mille).unwrap_or(0) as f64;
        Bar {
            name: name.into(),
            value: ns,
            label: if ns > 0.0 {
                format!("{:.0} us", (ns / 1000.0).max(1.0))
            } else {
                "-".into()
            },
            tint,
        }
    };
    let bars = Bars {
        title: "How long requests take".into(),
        caption: format!("at most; {} requests in 10 s", counts.requests()),
        bars: vec![
            bar("half of them", 500, Tint::Ours),
            bar("99 of 100", 990, Tint::Reference),
            bar("999 of 1000", 999, Tint::Other),
        ],
        mark: None,
    };
    Some(bars.draw())
}

fn credit(state: &State) -> Drawing {
    let nodes = state.engine.stats().nodes;
    let bar = |(number, node): (usize, &wellspring::NodeStats)| Bar {
        name: format!("node {number}"),
        value: f64::from(node.credit_bits),
        label: format!("{} bits", node.credit_bits),
        tint: Tint::Ours,
    };
    Bars {
        title: "Credit of the seeds".into(),
        caption: "what is left for each node".into(),
        bars: nodes.iter().enumerate().map(bar).collect(),
        mark: None,
    }
    .draw()
}

/// The fill of the pools. Logarithmic, since each is used half as often as the one before.
fn pools(state: &State) -> Drawing {
    let pools = state.engine.stats().pools;
    let points = pools.iter().enumerate().map(|(number, pool)| Point {
        x: number as f64,
        y: f64::from(pool.bytes.max(1)),
        words: format!(
            "pool {number}: {} bytes, {} bits of credit",
            pool.bytes, pool.credit_bits
        ),
    });
    let points: Vec<Point> = points.collect();
    let bytes = points.iter().map(|point| point.y);
    let last = points.len().saturating_sub(1) as f64;
    let mut x = Axis::linear("pool", last, |_| String::new());
    x.to = last;
    x.ticks = [0.0, 0.25, 0.5, 0.75, 1.0]
        .map(|part| (last * part).round())
        .map(|number| (number, number.to_string()))
        .into();
    let label = "since each was last used";
    let mut y = Axis::logarithmic(label, bytes, |value| amount(value, "B"));
    // A pool has whole bytes, and an empty one is drawn at 1.
    y.ticks.retain(|(bytes, _)| *bytes >= 1.0);
    y.from = 1.0;
    Lines {
        title: "Fill of the pools".into(),
        x,
        y,
        series: vec![Series {
            name: "bytes".into(),
            is_dashed: false,
            points,
        }],
        ideal: Vec::new(),
    }
    .draw()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_labels_of_an_idle_service_are_the_same() {
        let drawing = rates("idle", "B/s", &[], Vec::new()).inline();
        for label in ["0 B/s", "1 B/s", "5 B/s"] {
            assert_eq!(drawing.matches(&format!(">{label}<")).count(), 1, "{label}");
        }
    }

    #[test]
    fn amounts_have_a_unit_that_fits() {
        let amounts = [0.0, 999.0, 1000.0, 1.5e6, 4e9].map(|value| amount(value, "B/s"));
        assert_eq!(
            amounts,
            ["0 B/s", "999 B/s", "1.0 kB/s", "1.5 MB/s", "4.0 GB/s"]
        );
    }
}
