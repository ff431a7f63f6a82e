//! A source that does not answer: a file of another service, which is stopped.

use super::common::{PATIENCE, Service, has_fuse, start_with_files};
use std::io::{Read, Write};
use std::time::{Duration, Instant};

/// Lets a stopped service go on, also after a failure: its readers cannot end before.
struct Stopped<'a>(&'a Service);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.0.signal("-CONT");
    }
}

fn wait_for_metric(service: &Service, line: &str) {
    let until = Instant::now() + PATIENCE;
    loop {
        let metrics = service.get("/metrics");
        if metrics.lines().any(|one| one == line) {
            return;
        }
        assert!(Instant::now() < until, "no '{line}' in: {metrics}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_source_that_hangs_stops_neither_the_metrics_nor_the_sockets() {
    if !has_fuse() {
        return;
    }
    let (other, mount) = start_with_files();
    let noise = mount.join("random");
    let more = format!("[engine]\nnoise_files = [\"{}\"]\n", noise.display());
    let service = Service::start(&more);
    let metric = |state: &str, value: u8| {
        format!(
            "wellspring_source_state{{source=\"file {}\",state=\"{state}\"}} {value}",
            noise.display()
        )
    };
    wait_for_metric(&service, &metric("working", 1));
    other.signal("-STOP");
    let stopped = Stopped(&other);
    wait_for_metric(&service, &metric("hanging", 1));
    let mut egd = service.socket("egd.sock");
    for _ in 0..100 {
        egd.write_all(&[2, 255]).unwrap();
        egd.read_exact(&mut [0; 255]).unwrap();
    }
    let problems = service.status()["problems"].to_string();
    assert!(
        problems.contains("hangs: a draw has not ended"),
        "{problems}"
    );
    drop(stopped);
    wait_for_metric(&service, &metric("working", 1));
}

#[test]
fn the_service_ends_while_a_source_hangs() {
    if !has_fuse() {
        return;
    }
    let (other, mount) = start_with_files();
    let noise = mount.join("random");
    let more = format!("[engine]\nnoise_files = [\"{}\"]\n", noise.display());
    let mut service = Service::start(&more);
    let state = |state: &str| {
        let file = noise.display();
        format!("wellspring_source_state{{source=\"file {file}\",state=\"{state}\"}} 1")
    };
    wait_for_metric(&service, &state("working"));
    other.signal("-STOP");
    let stopped = Stopped(&other);
    wait_for_metric(&service, &state("hanging"));
    service.signal("-TERM");
    service.wait_for_log("the end does not wait for a source");
    // The kernel keeps a process whose request the stopped service has taken, and one that closes a file of it.
    drop(stopped);
    assert!(service.wait_for_end().success());
}
