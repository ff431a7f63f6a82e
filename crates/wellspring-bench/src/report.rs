//! A run, and everything it found.

use crate::blocks::{self, BlockLoop};
use crate::contender::{Contender, Work};
use crate::footprint::{self, Footprint};
use crate::harvest::{self, HarvestLoss};
use crate::harvester::{self, HarvesterLoss};
use crate::latency::{self, Latency};
use crate::machine::{self, Machine};
use crate::options::{Options, Section};
use crate::progress::Progress;
use crate::race::{self, Case, Measurement, Pace};
use crate::statistics::median_ratio;
use crate::subjects;
use crate::targets::{self, Target};
use crate::{json, page, tables};
use std::time::Duration;

/// Everything a run found. Parts that were not run are empty.
#[derive(Clone, Debug)]
pub struct Report {
    /// On what.
    pub machine: Machine,
    /// How often each case had its turn.
    pub rounds: usize,
    /// Throughput of every case.
    pub measurements: Vec<Measurement>,
    /// Distributions of single calls.
    pub latencies: Vec<Latency>,
    /// The harvest side beside readers.
    pub harvest: Vec<HarvestLoss>,
    /// The harvester's thread beside readers.
    pub harvester: Vec<HarvesterLoss>,
    /// The block-writing loop.
    pub blocks: Vec<BlockLoop>,
    /// First byte and weight.
    pub footprint: Option<Footprint>,
}

/// Runs what `options` ask for, with `peers` beside the engine and the operating system.
///
/// # Panics
///
/// When the system has no memory that is wiped on fork: then there is no engine to measure.
#[must_use]
pub fn run(options: &Options, peers: Vec<Contender>, progress: &mut dyn Progress) -> Report {
    // Before any other part has used taps and given them back.
    let footprint = options
        .includes(Section::Footprint)
        .then(|| footprint::run(options.first_byte_command.as_deref()));
    let machine = Machine::this();
    let contenders: Vec<Contender> = subjects::standard().into_iter().chain(peers).collect();
    let cases = match options.includes(Section::Throughput) {
        true => cases(&contenders, &options.threads),
        false => Vec::new(),
    };
    let ends = *options.threads.last().unwrap_or(&1);
    let latency_threads = if ends > 1 { vec![1, ends] } else { vec![1] };
    let rounds = options.rounds;
    let steps = |section, steps: usize| if options.includes(section) { steps } else { 0 };
    progress.begin(
        cases.len() * rounds
            + steps(Section::Latency, latency::steps(&latency_threads, rounds))
            + steps(
                Section::Harvest,
                harvest::steps(rounds) + harvester::steps(),
            )
            + steps(Section::Blocks, blocks::steps(rounds)),
    );
    let pace = |share: f64, turns: usize| Pace {
        rounds,
        slice: slice(options, share, turns),
    };
    let shares = Shares::of(options);
    Report {
        rounds,
        measurements: race::run(&cases, pace(shares.throughput, cases.len()), progress),
        latencies: match options.includes(Section::Latency) {
            true => latency::run(
                &latency_threads,
                pace(shares.latency, 6 * latency_threads.len()),
                progress,
            ),
            false => Vec::new(),
        },
        harvest: match options.includes(Section::Harvest) {
            true => harvest::run(machine::cpus(), pace(shares.harvest, 8), progress),
            false => Vec::new(),
        },
        harvester: match options.includes(Section::Harvest) {
            true => harvester::run(machine::cpus(), progress),
            false => Vec::new(),
        },
        blocks: match options.includes(Section::Blocks) {
            true => blocks::run(pace(shares.blocks, 3), progress),
            false => Vec::new(),
        },
        footprint,
        machine,
    }
}

/// How the time is shared out.
struct Shares {
    throughput: f64,
    latency: f64,
    harvest: f64,
    blocks: f64,
}

impl Shares {
    fn of(options: &Options) -> Self {
        match options.only {
            None => Self {
                throughput: 0.74,
                latency: 0.12,
                harvest: 0.1,
                blocks: 0.04,
            },
            Some(_) => Self {
                throughput: 1.0,
                latency: 1.0,
                harvest: 1.0,
                blocks: 1.0,
            },
        }
    }
}

/// The length of a turn, so that all turns of all rounds take their share of the time. A sixth of it is
/// spent on warming up.
fn slice(options: &Options, share: f64, turns: usize) -> Duration {
    let turns = (turns * options.rounds).max(1);
    let slice = options.time.mul_f64(share * 0.85) / turns as u32;
    slice.clamp(Duration::from_millis(1), Duration::from_millis(100))
}

/// Contenders one after the other, so that those that are compared run close together.
fn cases<'a>(contenders: &'a [Contender], threads: &[usize]) -> Vec<Case<'a>> {
    let mut works: Vec<Work> = Vec::new();
    for work in contenders.iter().flat_map(|contender| &contender.works) {
        if !works.contains(work) {
            works.push(*work);
        }
    }
    let mut cases = Vec::new();
    for work in works {
        for contender in contenders
            .iter()
            .filter(|contender| contender.works.contains(&work))
        {
            let threads = threads
                .iter()
                .filter(|&&threads| threads == 1 || contender.scales);
            cases.extend(threads.map(|&threads| Case {
                contender,
                work,
                threads,
            }));
        }
    }
    cases
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

    /// What the project set itself, with what this run found beside it.
    #[must_use]
    pub fn targets(&self) -> Vec<Target> {
        targets::of(self)
    }

    /// Tables for a terminal.
    #[must_use]
    pub fn table(&self) -> String {
        tables::text(&tables::of(self))
    }

    /// Every figure, with the rounds' samples.
    #[must_use]
    pub fn json(&self) -> String {
        json::report(self).to_string()
    }

    /// A page with plots, in one file.
    #[must_use]
    pub fn html(&self) -> String {
        page::report(self)
    }
}
