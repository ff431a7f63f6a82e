//! A run: every part that the options ask for, one after the other.

use crate::generator::{Generator, Request, Threads};
use crate::host::{Host, cpus};
use crate::report::Report;
use crate::throughput::{self, Case, Pace};
use crate::{footprint, generators, harvest, latency};
use indicatif::{ProgressBar, ProgressStyle};
use std::ffi::OsString;
use std::time::Duration;

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All generators, by size and threads.
    Throughput,
    /// Percentiles of single calls.
    Latency,
    /// The harvester beside readers.
    Harvest,
    /// The first byte and the memory of a tap.
    Footprint,
}

impl Part {
    /// All parts.
    pub const ALL: [Part; 4] = [
        Part::Throughput,
        Part::Latency,
        Part::Harvest,
        Part::Footprint,
    ];

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Part::Throughput => "throughput",
            Part::Latency => "latency",
            Part::Harvest => "harvest",
            Part::Footprint => "footprint",
        }
    }
}

/// The selection of measurements.
#[derive(Clone, Debug)]
pub struct Options {
    /// About how long throughput and latency may take together.
    pub time: Duration,
    /// How often each case has its turn.
    pub rounds: usize,
    /// The numbers of threads. The first is 1.
    pub threads: Vec<usize>,
    /// One part alone.
    pub only: Option<Part>,
    /// A command that does nothing but print the nanoseconds of [`first_byte`](crate::first_byte), for the
    /// first byte of a fresh process. Without one it is not measured.
    pub first_byte_command: Option<Vec<OsString>>,
}

impl Options {
    /// Some ten seconds, for a first impression.
    #[must_use]
    pub fn quick() -> Self {
        Self {
            time: Duration::from_secs(6),
            rounds: 5,
            ..Self::default()
        }
    }
}

impl Default for Options {
    /// Some forty seconds, on 1, 2, 4 ... threads up to the CPUs there are.
    fn default() -> Self {
        Self {
            time: Duration::from_secs(36),
            rounds: 9,
            threads: doublings(cpus()),
            only: None,
            first_byte_command: None,
        }
    }
}

/// 1, 2, 4 ... and `last`.
fn doublings(last: usize) -> Vec<usize> {
    let powers = (0..)
        .map(|power| 1 << power)
        .take_while(|&threads| threads < last);
    powers.chain([last]).collect()
}

/// Runs what `options` ask for, with `peers` beside the engine and the operating system. A bar on stderr shows how far it
/// is, if that is a terminal.
///
/// # Panics
///
/// When the system has no memory for it: then there is no engine to measure.
#[must_use]
pub fn run(options: &Options, peers: Vec<Generator>) -> Report {
    let wants = |part| options.only.is_none_or(|only| only == part);
    // Before any other part has used taps and given them back.
    let footprint =
        wants(Part::Footprint).then(|| footprint::run(options.first_byte_command.as_deref()));
    let host = Host::this();
    let cpus = host.cpus;
    let mut report = Report::new(host, options.rounds);
    report.footprint = footprint;
    let bar = bar();
    if wants(Part::Throughput) {
        let generators: Vec<Generator> = generators::standard().into_iter().chain(peers).collect();
        let cases = cases(&generators, &options.threads);
        let pace = pace(options, 0.85, cases.len());
        report.throughput = throughput::run(&cases, pace, &bar);
        let place = |name: &str| generators.iter().position(|one| one.name == name);
        report.throughput.sort_by_key(|one| place(&one.name));
    }
    if wants(Part::Latency) {
        bar.reset();
        let most = *options.threads.last().unwrap_or(&1);
        let threads = if most > 1 { vec![1, most] } else { vec![1] };
        let pace = pace(options, 0.15, latency::KINDS * threads.len());
        report.latency = latency::run(&threads, pace, &bar);
    }
    if wants(Part::Harvest) {
        bar.reset();
        report.harvest = harvest::run(cpus, options.rounds / 3, &bar);
    }
    bar.finish_and_clear();
    report
}

fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("[{bar:30}] {pos} of {len}, ETA {eta}  {msg}");
    let style = style.expect("the template is fixed").progress_chars("=> ");
    ProgressBar::new(0).with_style(style)
}

/// Turns of a length with which all turns of all rounds take their share of the time. A sixth of it is spent on warming
/// up.
fn pace(options: &Options, share: f64, turns: usize) -> Pace {
    let share = if options.only.is_some() { 1.0 } else { share };
    let slice = options.time.mul_f64(share * 0.85) / (turns * options.rounds).max(1) as u32;
    Pace {
        rounds: options.rounds,
        slice: slice.clamp(Duration::from_millis(1), Duration::from_millis(100)),
    }
}

/// Generators one after the other: compared generators run close together.
fn cases<'a>(generators: &'a [Generator], threads: &[usize]) -> Vec<Case<'a>> {
    let mut requests: Vec<Request> = Vec::new();
    for request in generators.iter().flat_map(|one| &one.requests) {
        if !requests.contains(request) {
            requests.push(*request);
        }
    }
    let of_request = |request| {
        let serving = move |one: &&Generator| one.requests.contains(&request);
        generators
            .iter()
            .filter(serving)
            .flat_map(move |generator| {
                let is_wanted = |&&count: &&usize| count == 1 || generator.threads != Threads::One;
                let threads = threads.iter().filter(is_wanted);
                threads.map(move |&threads| Case {
                    generator,
                    request,
                    threads,
                })
            })
    };
    requests.into_iter().flat_map(of_request).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_double_up_to_the_cpus() {
        assert_eq!(doublings(1), [1]);
        assert_eq!(doublings(2), [1, 2]);
        assert_eq!(doublings(12), [1, 2, 4, 8, 12]);
    }

    #[test]
    fn only_generators_for_threads_are_measured_on_several() {
        let generators = generators::standard();
        let cases = cases(&generators, &[1, 2]);
        for case in &cases {
            let scales = case.generator.threads != Threads::One;
            assert!(case.threads == 1 || scales, "{}", case.generator.name);
        }
        let of_two = cases.iter().filter(|case| case.threads == 2).count();
        // Four modes at five sizes, and getrandom(2) at these and a u64.
        assert_eq!(of_two, 4 * 5 + 6);
    }
}
