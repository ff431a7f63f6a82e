//! Requests inside the kernel, and a loop that writes blocks. The module of the tests measures them.

use super::modes::ModeGuard;
use super::pace::Pace;
use crate::ioctl::{self, Measure};
use crate::open::{Failure, TEST_DEVICE};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use wellspring_bench::statistics::median;

/// The kinds, with their numbers in `kernel/tests/uapi.h`, and the bytes of each.
const KINDS: [(&str, f64); 11] = [
    ("16 bytes for a task", 16.0),
    ("16 bytes for a task, by a worker", 16.0),
    ("16 bytes for a softirq", 16.0),
    ("16 bytes for a softirq, by a worker", 16.0),
    ("blocks with two secret numbers each", 4096.0),
    ("blocks with two pseudo numbers each", 4096.0),
    ("blocks with two of get_random_u64()", 4096.0),
    ("AES-XTS of 16 bytes, directly", 16.0),
    ("AES-XTS of 16 bytes, by cryptd", 16.0),
    ("AES-XTS of 4096 bytes, directly", 4096.0),
    ("AES-XTS of 4096 bytes, by cryptd", 4096.0),
];

/// The figures of one kind.
pub(super) struct Row {
    pub(super) name: &'static str,
    /// The time of a request, or of a block with its numbers.
    pub(super) each_ns: f64,
    pub(super) mb_s: f64,
    /// Context switches of a request.
    pub(super) switches: f64,
    /// The share of the time that numbers take. Only the blocks have numbers.
    pub(super) share: f64,
}

/// Measures all kinds that this kernel has, in the mode per-cpu.
pub(super) fn measure(tests: &OwnedFd, pace: Pace, mode: &ModeGuard) -> Result<Vec<Row>, Failure> {
    mode.set("per-cpu")?;
    let mut samples = [const { Vec::new() }; KINDS.len()];
    for _ in 0..pace.rounds {
        for (kind, samples) in (0..).zip(&mut samples) {
            let mut measure = Measure {
                measurement: kind,
                count: pace.requests,
                ..Measure::default()
            };
            match ioctl::measure(tests, &mut measure) {
                // Without wellspring_crypto.ko, or cryptd.
                Err(Errno::NOENT) => continue,
                done => done.map_err(|error| Failure::work(TEST_DEVICE, error))?,
            }
            if measure.errors > 0 || measure.count == 0 {
                let reason = format!("{} reads failed in the kernel", measure.errors);
                return Err(Failure::Work(reason));
            }
            samples.push(measure);
        }
    }
    let measured = KINDS.into_iter().zip(&samples);
    let measured = measured.filter(|(_, samples)| !samples.is_empty());
    Ok(measured.map(row).collect())
}

fn row(((name, bytes), samples): ((&'static str, f64), &Vec<Measure>)) -> Row {
    let medians = |figure: fn(&Measure) -> f64| {
        let figures: Vec<f64> = samples.iter().map(figure).collect();
        median(&figures)
    };
    let each_ns = medians(|sample| sample.ns as f64 / f64::from(sample.count));
    Row {
        name,
        each_ns,
        mb_s: bytes * 1e3 / each_ns,
        switches: medians(|sample| sample.switches as f64 / f64::from(sample.count)),
        share: medians(|sample| sample.numbers_ns as f64 / sample.ns as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_medians_of_its_rounds() {
        let sample = |ns| Measure {
            count: 10,
            ns,
            numbers_ns: 5,
            switches: 10,
            ..Measure::default()
        };
        let samples = vec![sample(100), sample(1000), sample(50)];
        let blocks = row((("x", 16.0), &samples));
        assert_eq!((blocks.each_ns, blocks.switches), (10.0, 1.0));
        assert_eq!((blocks.mb_s, blocks.share), (1600.0, 0.05));
    }
}
