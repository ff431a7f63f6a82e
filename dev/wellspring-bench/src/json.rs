//! A report as JSON: every figure, with the samples of the rounds. A figure that was not measured is `null`.

use crate::latency::Latency;
use crate::report::Report;
use crate::throughput::{Measurement, Speed};
use serde_json::{Value, json};

/// Every figure of `report`.
#[must_use]
pub fn report(report: &Report) -> Value {
    let host = &report.host;
    let harvest = report.harvest.iter().map(|loss| {
        json!({
            "mode": loss.mode.name(),
            "readers": loss.readers,
            "steps_per_second_alone": loss.alone_per_second,
            "steps_per_second_beside_readers": loss.loaded_per_second,
            "events_dropped_share": loss.dropped_share,
        })
    });
    let harvester = report.harvester.iter().map(|loss| {
        json!({
            "mode": loss.mode.name(),
            "readers": loss.readers,
            "moved_share_alone": loss.alone_share,
            "kept_share": loss.kept_share,
            "events_per_cpu_second_alone": loss.alone_per_cpu_second,
            "kept_cpu_share": loss.kept_cpu_share,
            "cpu_share": loss.cpu_share,
        })
    });
    let blocks = report.blocks.iter().map(
        |with| json!({ "source": with.source, "block_ns": with.block_ns, "share": with.share }),
    );
    let footprint = report.footprint.as_ref().map(|footprint| {
        json!({
            "first_byte_us": footprint.first_byte_us,
            "in_fresh_processes": footprint.in_fresh_processes,
            "tap_bytes": footprint.tap_bytes,
        })
    });
    json!({
        "host": {
            "cpu": host.cpu,
            "cpus": host.cpus,
            "system": host.system,
            "backend": host.backend,
            "chacha20_backend": host.chacha20_backend,
            "load": host.load,
        },
        "date": host.date,
        "version": host.version,
        "commit": host.commit,
        "rounds": report.rounds,
        "throughput": report.measurements.iter().map(measurement).collect::<Vec<_>>(),
        "latency": report.latencies.iter().map(latency).collect::<Vec<_>>(),
        "harvest": harvest.collect::<Vec<_>>(),
        "harvester": harvester.collect::<Vec<_>>(),
        "blocks": blocks.collect::<Vec<_>>(),
        "footprint": footprint,
    })
}

fn measurement(one: &Measurement) -> Value {
    let means = |threads: &Vec<Speed>| threads.iter().map(|speed| speed.mean).collect::<Vec<_>>();
    json!({
        "name": one.name,
        "family": one.family.name(),
        "work": one.work.name(),
        "bytes": one.work.bytes(),
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
    json!({
        "name": one.name,
        "threads": one.threads,
        "calls": one.calls,
        "median_ns": one.median_ns(),
        "p90_ns": one.nines_ns(1),
        "p99_ns": one.nines_ns(2),
        "p99_9_ns": one.nines_ns(3),
        "p99_99_ns": one.nines_ns(4),
        "max_ns": one.max_ns,
        "ns_by_quarter_nines": one.by_quarter_nines,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_report_that_is_read_back_has_every_section_and_its_figures() {
        let text = report(&sample::report()).to_string();
        let read: Value = serde_json::from_str(&text).expect("it is JSON");
        for list in ["throughput", "latency", "harvest", "harvester", "blocks"] {
            assert!(!read[list].as_array().unwrap().is_empty(), "{list}");
        }
        assert_eq!(read["host"]["cpus"], 2);
        assert_eq!(read["footprint"]["first_byte_us"], 60.0);
        let names = read["throughput"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["name"]);
        assert!(names.into_iter().any(|name| name == "<b>&\"peer\"</b>"));
    }

    #[test]
    fn a_figure_that_is_no_number_is_null() {
        let mut unmeasured = sample::report();
        unmeasured.harvest[0].alone_per_second = f64::NAN;
        assert!(report(&unmeasured)["harvest"][0]["steps_per_second_alone"].is_null());
    }
}
