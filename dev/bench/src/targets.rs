//! The figures that the project wants to reach, as ratios within one run where possible.

use crate::peers::name as peer;
use wellspring::Mode;
use wellspring_bench::Report;
use wellspring_bench::contender::Work;
use wellspring_bench::format::{digits, duration};
use wellspring_bench::latency::{AFTER_RESEED, HARVESTING, OF_A_HERD, WITHOUT_RESEED};
use wellspring_bench::subjects::{CACHED_BYTES, SIZES, name};
use wellspring_bench::table::Table;
use wellspring_bench::throughput::Measurement;

const MIB: Work = Work::Fill(1 << 20);
const KEY: Work = Work::Fill(32);

/// Which side of the figure is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// This or more.
    AtLeast,
    /// This or less.
    AtMost,
}

/// A figure the project wants to reach.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// The quantity that is compared.
    pub(crate) what: String,
    /// The side of it.
    pub(crate) bound: Bound,
    /// The figure.
    pub(crate) wanted: f64,
    /// `x` for ratios, else a unit.
    pub(crate) unit: &'static str,
    /// The value of this run; `None` if it did not measure that.
    pub(crate) found: Option<f64>,
}

impl Target {
    pub(crate) fn at_least(what: impl Into<String>, wanted: f64, found: Option<f64>) -> Self {
        Self {
            what: what.into(),
            bound: Bound::AtLeast,
            wanted,
            unit: "x",
            found,
        }
    }

    pub(crate) fn at_most(
        what: impl Into<String>,
        wanted: f64,
        unit: &'static str,
        found: Option<f64>,
    ) -> Self {
        Self {
            what: what.into(),
            bound: Bound::AtMost,
            wanted,
            unit,
            found,
        }
    }

    /// Whether it was reached; `None` if this run cannot tell.
    #[must_use]
    pub(crate) fn is_met(&self) -> Option<bool> {
        let found = self.found?;
        Some(match self.bound {
            Bound::AtLeast => found >= self.wanted,
            Bound::AtMost => found <= self.wanted,
        })
    }
}

pub(crate) fn of(report: &Report) -> Vec<Target> {
    let mut targets = bulk(report);
    targets.extend(small(report));
    targets.extend(scaling(report));
    targets.extend(statistical(report));
    targets.extend(edges(report));
    targets.extend(harvest(report));
    targets
}

fn bulk(report: &Report) -> Vec<Target> {
    let ours = Mode::PerThread.name();
    let against = |name: &str, wanted| {
        Target::at_least(
            format!("1 MiB, over {name}"),
            wanted,
            report.times(ours, name, MIB),
        )
    };
    let chacha20 = |name: &str, wanted| {
        let found = report.times(name::CHACHA20, name, MIB);
        Target::at_least(format!("1 MiB on ChaCha20, over {name}"), wanted, found)
    };
    let in_cache = || {
        let ours = report.find(ours, MIB, 1)?;
        let backend = report.find(report.host.backend, Work::Fill(CACHED_BYTES), 1)?;
        Some(report.ratio(ours, backend))
    };
    vec![
        against(name::GETRANDOM, 28.0),
        against(peer::RAND, 5.5),
        against(peer::AES_CTR, 2.4),
        against(peer::AWS_LC, 2.4),
        against(peer::OPENSSL_AES, 1.9),
        Target::at_least(
            "1 MiB, over the bare backend looping in L1",
            0.95,
            in_cache(),
        ),
        chacha20(peer::CHACHA20, 3.0),
        chacha20(peer::OPENSSL_CHACHA20, 1.0),
    ]
}

fn small(report: &Report) -> Vec<Target> {
    let ours = Mode::PerThread.name();
    let key = |name: &str, wanted| {
        Target::at_least(
            format!("32 bytes, over {name}"),
            wanted,
            report.times(ours, name, KEY),
        )
    };
    let word = |what: &str, name: &str, wanted| {
        let found = report.times(name, peer::RAND, Work::Word);
        Target::at_least(format!("u64 {what}, over {}", peer::RAND), wanted, found)
    };
    vec![
        key(name::VDSO, 12.0),
        key(peer::RAND, 8.0),
        word("by the global function", name::GLOBAL, 2.0),
        word("by an owned generator", name::OWNED, 2.5),
    ]
}

fn scaling(report: &Report) -> Vec<Target> {
    let doubled = |mode: Mode, bytes| {
        let at = |threads| report.find(mode.name(), Work::Fill(bytes), threads);
        Some(report.scaling(at(2)?, at(1)?))
    };
    let mut targets: Vec<Target> = SIZES
        .iter()
        .map(|&bytes| {
            let what = format!(
                "per-thread, {}, two threads over one",
                Work::Fill(bytes).name()
            );
            Target::at_least(what, 1.9, doubled(Mode::PerThread, bytes))
        })
        .collect();
    targets.push(Target::at_least(
        "concurrent, 64 KiB, two threads over one",
        1.8,
        doubled(Mode::Concurrent, 65_536),
    ));
    targets
}

fn statistical(report: &Report) -> Vec<Target> {
    let bulk = report.times(name::PSEUDO, peer::FASTRAND, MIB);
    let word = report.find(name::PSEUDO, Work::Word, 1);
    let cheaper = report.times(name::PSEUDO, name::GETRANDOM, Work::Word);
    vec![
        Target::at_least("pseudo, 1 MiB, over fastrand", 4.0, bulk),
        Target::at_most(
            "pseudo::u64()",
            1.5,
            "ns",
            word.map(Measurement::ns_per_request),
        ),
        Target::at_least("pseudo::u64(), over getrandom(2)", 150.0, cheaper),
    ]
}

/// First bytes, weight, and the reads that have more to do than others.
fn edges(report: &Report) -> Vec<Target> {
    let latency = |name: &str| {
        report
            .latencies
            .iter()
            .find(|one| one.name == name && one.threads == 1)
    };
    let p999 = |name: &str| latency(name)?.nines_ns(3);
    let herd = report.latencies.iter().find(|one| one.name == OF_A_HERD);
    let footprint = report.footprint.as_ref();
    let start = match footprint {
        Some(footprint) if footprint.in_fresh_processes => "first byte of a fresh process",
        _ => "first byte of a fresh engine",
    };
    vec![
        Target::at_most(
            start,
            200.0,
            "us",
            footprint.map(|footprint| footprint.first_byte_us),
        ),
        Target::at_most(
            "a thread's tap",
            8192.0,
            "B",
            footprint.and_then(|footprint| footprint.tap_bytes),
        ),
        Target::at_most(
            "32 bytes with refills, p99.9",
            2000.0,
            "ns",
            p999(Mode::PerThread.name()),
        ),
        Target::at_most(
            format!("{AFTER_RESEED}, p99.9, beyond the same loop without one"),
            2000.0,
            "ns",
            p999(AFTER_RESEED)
                .zip(p999(WITHOUT_RESEED))
                .map(|(with, without)| with - without),
        ),
        Target::at_most(
            format!("{OF_A_HERD}, p99.9"),
            10.0,
            "us",
            herd.and_then(|one| one.nines_ns(3)).map(|ns| ns / 1000.0),
        ),
        Target::at_most(
            format!("{HARVESTING}, median"),
            2000.0,
            "ns",
            latency(HARVESTING)
                .filter(|one| one.calls > 0)
                .map(|one| one.median_ns()),
        ),
    ]
}

/// The speed of the harvester beside readers on every CPU, compared with its speed alone.
fn harvest(report: &Report) -> Vec<Target> {
    let modes = [Mode::PerThread, Mode::PerNode, Mode::Concurrent];
    let target = |mode: Mode| {
        let found = report.harvester.iter().find(|one| one.mode == mode);
        let what = format!("harvester beside readers, {mode}, in its own time");
        Target::at_least(what, 0.95, found.map(|one| one.kept_cpu_share))
    };
    modes.map(target).into()
}

/// The targets with what this run found, and `more` of them.
pub(crate) fn table(report: &Report, more: Vec<Target>) -> Table {
    let mut table = Table::new("Targets", &["", "wanted", "found", ""]);
    for target in of(report).into_iter().chain(more) {
        let sign = match target.bound {
            Bound::AtLeast => ">=",
            Bound::AtMost => "<=",
        };
        let verdict = match target.is_met() {
            Some(true) => "met",
            Some(false) => "NOT MET",
            None => "not measured",
        };
        table.rows.push(vec![
            target.what.clone(),
            format!("{sign} {}", figure(target.wanted, target.unit)),
            target
                .found
                .map_or("-".into(), |found| figure(found, target.unit)),
            verdict.into(),
        ]);
    }
    table.note("Ratios are medians of the rounds' ratios. Not measured: another section, or a peer that is missing.")
}

fn figure(value: f64, unit: &str) -> String {
    match unit {
        "x" => format!("{}x", digits(value)),
        "ns" => duration(value),
        "us" => duration(value * 1e3),
        unit => format!("{} {unit}", digits(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_met_on_its_good_side_and_open_without_a_figure() {
        let at_least = |found| Target::at_least("x", 2.0, found).is_met();
        let at_most = |found| Target::at_most("x", 2.0, "ns", found).is_met();
        assert_eq!(
            [at_least(Some(1.9)), at_least(Some(2.0)), at_least(None)],
            [Some(false), Some(true), None]
        );
        assert_eq!(
            [at_most(Some(2.1)), at_most(Some(2.0)), at_most(None)],
            [Some(false), Some(true), None]
        );
    }
}
