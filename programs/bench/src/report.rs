//! The results of a run, and the same as JSON.

use crate::footprint::Footprint;
use crate::generator::Request;
use crate::harvest::Harvest;
use crate::host::Host;
use crate::latency::Latency;
use crate::throughput::{Measurement, Speed};
use serde_json::{Value, json};

/// Everything that a run found. Parts that were not run are empty.
#[derive(Clone, Debug)]
pub struct Report {
    /// The machine, the date and the version.
    pub host: Host,
    /// How often each case had its turn.
    pub rounds: usize,
    /// Throughput of every case.
    pub throughput: Vec<Measurement>,
    /// Distributions of single calls.
    pub latency: Vec<Latency>,
    /// The harvester's thread beside readers.
    pub harvest: Vec<Harvest>,
    /// First byte and memory of a tap.
    pub footprint: Option<Footprint>,
}

impl Report {
    pub(crate) fn new(host: Host, rounds: usize) -> Self {
        Self {
            host,
            rounds,
            throughput: Vec::new(),
            latency: Vec::new(),
            harvest: Vec::new(),
            footprint: None,
        }
    }

    /// The measurement of a case, if it was one.
    #[must_use]
    pub fn find(&self, name: &str, request: Request, threads: usize) -> Option<&Measurement> {
        let wanted = |one: &&Measurement| {
            one.name == name && one.request == request && one.threads == threads
        };
        self.throughput.iter().find(wanted)
    }

    /// The throughput of `fast` divided by the throughput of `slow`, at the same request on one thread. Both are names. `None`
    /// if one of them was not measured.
    #[must_use]
    pub fn times(&self, fast: &str, slow: &str, request: Request) -> Option<f64> {
        Some(
            self.find(fast, request, 1)?
                .over(self.find(slow, request, 1)?),
        )
    }

    /// Every figure, with the samples of the rounds. A figure that was not measured is `null`.
    #[must_use]
    pub fn json(&self) -> Value {
        let host = &self.host;
        json!({
            "host": {
                "cpu": host.cpu,
                "cpus": host.cpus,
                "system": host.system,
                "backend": host.backend,
                "chacha20_backend": host.chacha20_backend,
                "generation_page": host.generation_page,
                "load": host.load,
            },
            "date": host.date,
            "version": host.version,
            "commit": host.commit,
            "compiler": host.compiler,
            "rounds": self.rounds,
            "throughput": self.throughput.iter().map(throughput).collect::<Vec<_>>(),
            "latency": self.latency.iter().map(latency).collect::<Vec<_>>(),
            "harvest": self.harvest.iter().map(harvest).collect::<Vec<_>>(),
            "footprint": self.footprint.as_ref().map(|one| json!({
                "first_byte_us": one.first_byte_us,
                "tap_bytes": one.tap_bytes,
            })),
        })
    }
}

fn throughput(one: &Measurement) -> Value {
    let means = |threads: &Vec<Speed>| threads.iter().map(|speed| speed.mean).collect::<Vec<_>>();
    json!({
        "name": one.name,
        "request": one.request.name(),
        "bytes": one.request.bytes(),
        "threads": one.threads,
        "bytes_per_second": one.bytes_per_second(),
        "ns_per_request": one.ns_per_request(),
        "spread": one.spread(),
        "unfairness": one.unfairness(),
        "requests_per_second_by_round": one.totals(),
        "mean_requests_per_second_by_round_and_thread":
            one.rounds.iter().map(means).collect::<Vec<_>>(),
    })
}

fn latency(one: &Latency) -> Value {
    let [p90, p99, p99_9, p99_99] = one.nines_ns;
    json!({
        "name": one.name,
        "threads": one.threads,
        "calls": one.calls,
        "median_ns": one.median_ns,
        "p90_ns": p90,
        "p99_ns": p99,
        "p99_9_ns": p99_9,
        "p99_99_ns": p99_99,
        "max_ns": one.max_ns,
    })
}

fn harvest(one: &Harvest) -> Value {
    json!({
        "mode": one.mode.name(),
        "readers": one.readers,
        "moved_share_alone": one.moved_share_alone,
        "kept_share": one.kept_share,
        "events_per_cpu_second_alone": one.events_per_cpu_second_alone,
        "kept_cpu_share": one.kept_cpu_share,
        "cpu_share": one.cpu_share,
    })
}
