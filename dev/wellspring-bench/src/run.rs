//! A run: every section that the options ask for, one after the other.

use crate::contender::{Contender, Work};
use crate::host::{self, Host};
use crate::options::{Options, Section};
use crate::progress::Progress;
use crate::report::Report;
use crate::throughput::{self, Case, Pace};
use crate::{blocks, footprint, harvest, harvester, latency, subjects};
use std::time::Duration;

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
    let host = Host::this();
    let contenders: Vec<Contender> = subjects::standard().into_iter().chain(peers).collect();
    let cases = if options.includes(Section::Throughput) {
        cases(&contenders, &options.threads)
    } else {
        Vec::new()
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
        measurements: throughput::run(&cases, pace(shares.throughput, cases.len()), progress),
        latencies: if options.includes(Section::Latency) {
            latency::run(
                &latency_threads,
                pace(shares.latency, 6 * latency_threads.len()),
                progress,
            )
        } else {
            Vec::new()
        },
        harvest: if options.includes(Section::Harvest) {
            harvest::run(host::cpus(), pace(shares.harvest, 8), progress)
        } else {
            Vec::new()
        },
        harvester: if options.includes(Section::Harvest) {
            harvester::run(host::cpus(), harvester::ROUNDS, progress)
        } else {
            Vec::new()
        },
        blocks: if options.includes(Section::Blocks) {
            blocks::run(pace(shares.blocks, 3), progress)
        } else {
            Vec::new()
        },
        footprint,
        host,
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
        if options.only.is_some() {
            return Self {
                throughput: 1.0,
                latency: 1.0,
                harvest: 1.0,
                blocks: 1.0,
            };
        }
        Self {
            throughput: 0.74,
            latency: 0.12,
            harvest: 0.1,
            blocks: 0.04,
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
