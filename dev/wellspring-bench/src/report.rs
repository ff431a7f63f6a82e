//! The results of a run: data, and the ratios between its figures.

use crate::blocks::BlockLoop;
use crate::contender::Work;
use crate::footprint::Footprint;
use crate::harvest::HarvestLoss;
use crate::harvester::HarvesterLoss;
use crate::host::Host;
use crate::latency::Latency;
use crate::statistics::median_ratio;
use crate::throughput::Measurement;

/// Everything that a run found. Sections that were not run are empty.
#[derive(Clone, Debug)]
pub struct Report {
    /// The machine, the date and the version.
    pub host: Host,
    /// How often each case had its turn.
    pub rounds: usize,
    /// Throughput of every case.
    pub measurements: Vec<Measurement>,
    /// Distributions of single calls.
    pub latencies: Vec<Latency>,
    /// Feeding and reseeding beside readers.
    pub harvest: Vec<HarvestLoss>,
    /// The harvester's thread beside readers.
    pub harvester: Vec<HarvesterLoss>,
    /// The block-writing loop.
    pub blocks: Vec<BlockLoop>,
    /// First byte and memory of a tap.
    pub footprint: Option<Footprint>,
}

impl Report {
    /// The measurement of a case, if it was one.
    #[must_use]
    pub fn find(&self, name: &str, work: Work, threads: usize) -> Option<&Measurement> {
        let wanted =
            |one: &&Measurement| one.name == name && one.work == work && one.threads == threads;
        self.measurements.iter().find(wanted)
    }

    /// How many times the throughput of `slow` that of `fast` is: the median of the rounds' ratios.
    #[must_use]
    pub fn ratio(&self, fast: &Measurement, slow: &Measurement) -> f64 {
        let scale = fast.work.bytes() as f64 / slow.work.bytes() as f64;
        scale * median_ratio(&fast.totals(), &slow.totals())
    }

    /// How many times the throughput of one thread that of `many` is: the median of the rounds' ratios.
    #[must_use]
    pub fn scaling(&self, many: &Measurement, one: &Measurement) -> f64 {
        many.over(one)
    }

    /// The largest number of threads that was measured.
    #[must_use]
    pub fn most_threads(&self) -> usize {
        self.measurements
            .iter()
            .map(|one| one.threads)
            .max()
            .unwrap_or(1)
    }

    /// How many times the throughput of `slow` that of `fast` is, both by name, at the same work on one thread;
    /// `None` if one of them was not measured.
    #[must_use]
    pub fn times(&self, fast: &str, slow: &str, work: Work) -> Option<f64> {
        Some(self.ratio(self.find(fast, work, 1)?, self.find(slow, work, 1)?))
    }
}
