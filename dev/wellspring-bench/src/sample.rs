//! A report with made-up figures, for tests of what is made from reports.

use crate::blocks::BlockLoop;
use crate::contender::{Family, Work};
use crate::footprint::Footprint;
use crate::harvest::HarvestLoss;
use crate::harvester::HarvesterLoss;
use crate::host::Host;
use crate::latency::Latency;
use crate::report::Report;
use crate::subjects::SIZES;
use crate::throughput::{Measurement, Speed};
use wellspring::Mode;

pub(crate) fn measurement(
    name: &str,
    family: Family,
    work: Work,
    threads: usize,
    rate: f64,
) -> Measurement {
    Measurement {
        name: name.into(),
        family,
        work,
        threads,
        rounds: vec![
            vec![
                Speed {
                    mean: rate,
                    usual: rate,
                };
                threads
            ];
            3
        ],
    }
}

pub(crate) fn report() -> Report {
    let cases = Mode::ALL.into_iter().flat_map(|mode| {
        let sizes = SIZES.into_iter().flat_map(|bytes| [(bytes, 1), (bytes, 2)]);
        sizes.map(move |(bytes, threads)| {
            measurement(
                mode.name(),
                Family::Mode,
                Work::Fill(bytes),
                threads,
                1e9 / (20 + bytes) as f64,
            )
        })
    });
    let mut measurements: Vec<Measurement> = cases.collect();
    measurements.push(measurement(
        "<b>&\"peer\"</b>",
        Family::Peer,
        Work::Fill(1 << 20),
        1,
        1e4,
    ));
    measurements.push(measurement(
        "bare",
        Family::Backend,
        Work::Fill(1 << 20),
        1,
        1e4,
    ));
    Report {
        host: Host {
            cpu: "CPU <1>".into(),
            cpus: 2,
            system: "Linux".into(),
            backend: "aes256-vaes512",
            chacha20_backend: "chacha20-avx512",
            load: Some(0.5),
            date: "2026-01-02T03:04:05Z".into(),
            version: "1.2.3",
            commit: Some("0123456789ab"),
        },
        rounds: 3,
        measurements,
        latencies: vec![Latency {
            name: "per-thread".into(),
            threads: 1,
            calls: 10_000,
            by_quarter_nines: (0..13).map(|place| 20.0 + f64::from(place)).collect(),
            max_ns: 5000.0,
        }],
        harvest: vec![HarvestLoss {
            mode: Mode::Canonical,
            readers: 1,
            alone_per_second: 1000.0,
            loaded_per_second: 900.0,
            dropped_share: 0.25,
        }],
        harvester: vec![HarvesterLoss {
            mode: Mode::PerThread,
            readers: 2,
            alone_share: 0.99,
            kept_share: 0.99,
            alone_per_cpu_second: 1.5e6,
            kept_cpu_share: 0.8,
            cpu_share: 0.004,
        }],
        blocks: vec![
            BlockLoop {
                source: "getrandom(2)",
                block_ns: 1500.0,
                share: 0.4,
            },
            BlockLoop {
                source: "pseudo::u64()",
                block_ns: 900.0,
                share: 0.004,
            },
        ],
        footprint: Some(Footprint {
            first_byte_us: 60.0,
            in_fresh_processes: true,
            tap_bytes: None,
        }),
    }
}
