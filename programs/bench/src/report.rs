//! A run: every part that the options ask for, one after the other; its results, with the machine, the date and the version; and
//! the same as JSON.

use crate::figures::median;
use crate::generators::{self, Generator, Request, Threads};
use crate::harvest::{self, Footprint, Harvest};
use crate::latency::{self, Latency};
use crate::throughput::{self, Case, Measurement, Pace, Speed};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::time::{Duration, SystemTime};
use wellspring::clone_detection::PageState;
use wellspring::{Backend, Engine, Prf};

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
        wants(Part::Footprint).then(|| harvest::footprint(options.first_byte_command.as_deref()));
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

// ---- results ----

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
                "nodes": host.nodes,
                "last_level_caches": host.caches,
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
            "throughput": self.throughput.iter().map(throughput_json).collect::<Vec<_>>(),
            "latency": self.latency.iter().map(latency_json).collect::<Vec<_>>(),
            "harvest": self.harvest.iter().map(harvest_json).collect::<Vec<_>>(),
            "footprint": self.footprint.as_ref().map(|one| json!({
                "first_byte_us": one.first_byte_us,
                "tap_bytes": one.tap_bytes,
            })),
        })
    }
}

fn throughput_json(one: &Measurement) -> Value {
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
        "watts": (!one.watts.is_empty()).then(|| median(&one.watts)),
        "requests_per_second_by_round": one.totals(),
        "mean_requests_per_second_by_round_and_thread":
            one.rounds.iter().map(means).collect::<Vec<_>>(),
    })
}

fn latency_json(one: &Latency) -> Value {
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

fn harvest_json(one: &Harvest) -> Value {
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

// ---- the machine ----

/// The machine, the choices that the engine made on it, and the run's date and version.
#[derive(Clone, Debug)]
pub struct Host {
    /// The name of the CPU, from `/proc/cpuinfo`, with family and model, as a hypervisor may hide the name; elsewhere the
    /// architecture.
    pub cpu: String,
    /// How many CPUs this process may use.
    pub cpus: usize,
    /// How many NUMA nodes the machine has.
    pub nodes: usize,
    /// How many last-level caches it has, as far as the system says.
    pub caches: usize,
    /// The release of the kernel.
    pub system: String,
    /// The backend of the process's engine.
    pub backend: &'static str,
    /// The best ChaCha20 backend.
    pub chacha20_backend: &'static str,
    /// Whether reads compare a word of a generation page, which takes some of their time: `watched`, `absent` or
    /// `refused`.
    pub generation_page: &'static str,
    /// The load average of one minute when the run began. Above 0.5, other programs disturb the figures.
    pub load: Option<f64>,
    /// When the run began, in UTC: `2026-11-22T06:10:00Z`.
    pub date: String,
    /// The version of wellspring.
    pub version: &'static str,
    /// The compiler, as `rustc --version` names it.
    pub compiler: &'static str,
    /// The git commit, with `-dirty` after it if files were changed; `None` if built outside a git checkout.
    pub commit: Option<&'static str>,
}

impl Host {
    /// This machine, now.
    #[must_use]
    pub fn this() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let cpuinfo = read("/proc/cpuinfo");
        let value = |name: &str| {
            let mut lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
            lines.find_map(|(key, value)| (key.trim() == name).then(|| value.trim()))
        };
        let [name, family, model] = ["model name", "cpu family", "model"].map(value);
        let cpu = match (name, family, model) {
            (Some(name), Some(family), Some(model)) => {
                format!("{name} (family {family}, model {model})")
            }
            _ => name.unwrap_or(std::env::consts::ARCH).into(),
        };
        Self {
            cpu,
            cpus: cpus(),
            nodes: Engine::process().stats().nodes.len(),
            caches: wellspring::cache_topology().map_or(1, |topology| topology.nodes()),
            system: format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
            backend: Engine::process().backend().name(),
            chacha20_backend: Backend::detect(Prf::ChaCha20).name(),
            generation_page: page_state(Engine::process()),
            load: read("/proc/loadavg")
                .split(' ')
                .next()
                .and_then(|load| load.parse().ok()),
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            version: env!("CARGO_PKG_VERSION"),
            compiler: env!("WELLSPRING_COMPILER"),
            commit: option_env!("WELLSPRING_COMMIT"),
        }
    }

    /// Version, commit and date: a line of every report.
    #[must_use]
    pub fn stamp(&self) -> String {
        let commit = self
            .commit
            .map_or(String::new(), |commit| format!(", commit {commit}"));
        format!("wellspring {}{commit}, {}", self.version, self.date)
    }

    /// CPU, system, backend and generation page: a line of every report.
    #[must_use]
    pub fn machine(&self) -> String {
        let plural = if self.cpus == 1 { "CPU" } else { "CPUs" };
        format!(
            "{}, {} {plural} usable, NUMA nodes: {}, last-level caches: {}, {}, backend {}, generation page {}",
            self.cpu,
            self.cpus,
            self.nodes,
            self.caches,
            self.system,
            self.backend,
            self.generation_page
        )
    }
}

/// How many CPUs this process may use.
pub(crate) fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn page_state(engine: &Engine) -> &'static str {
    match engine.stats().clone_detection.page {
        PageState::Watched => "watched",
        PageState::Refused(_) => "refused",
        _ => "absent",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wellspring::clone_detection::GenerationPage;

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
        // Four modes at five sizes, one of them and the bare keystream at a sixth too, getrandom(2) also at a u64.
        assert_eq!(of_two, 4 * 5 + 1 + 6 + 6);
    }

    #[test]
    fn a_generation_page_that_reads_compare_is_told_from_one_that_is_not_there() {
        let path = std::env::temp_dir().join(format!("bench-page-{}", std::process::id()));
        let state = || {
            let engine = Engine::builder().generation_page(&path).build();
            page_state(&engine.expect("there is memory for an engine"))
        };
        assert_eq!(state(), "absent");
        let _page = GenerationPage::create(&path).unwrap();
        assert_eq!(state(), "watched");
        std::fs::remove_file(&path).unwrap();
    }
}
