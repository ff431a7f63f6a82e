//! Throughput: all cases in turn, in short slices, round after round. A slow spell of the machine slows all cases alike.

use crate::figures::{coefficient_of_variation, median, median_ratio, spread};
use crate::generators::{Generator, Request, Threads};
use indicatif::ProgressBar;
use std::fs;
use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// How the time is cut.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// How often each case has its turn.
    pub rounds: usize,
    /// How long a turn is.
    pub slice: Duration,
}

/// A generator, its request, and the number of threads.
pub struct Case<'a> {
    /// The generator.
    pub generator: &'a Generator,
    /// The request.
    pub request: Request,
    /// On how many threads at once.
    pub threads: usize,
}

/// The results of a case.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// The generator's name.
    pub name: String,
    /// The request.
    pub request: Request,
    /// On how many threads at once.
    pub threads: usize,
    /// Whether these threads wait for each other.
    pub waits: bool,
    /// For each round the pace of each thread.
    pub rounds: Vec<Vec<Speed>>,
    /// For each round the power of all processors, other programs included, in watts; empty where RAPL cannot be read.
    pub watts: Vec<f64>,
}

/// How fast a thread was in a turn, in requests per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// Over the whole turn.
    pub mean: f64,
    /// In the median portion of the turn. So portions in which the thread lost its CPU do not count.
    pub usual: f64,
}

impl Measurement {
    /// For each round the requests per second of all threads together.
    ///
    /// If threads never wait for each other, the sum of the usual speeds: only the machine can slow them. Otherwise the sum
    /// of the means: waiting is part of what is measured, and under a lock that threads take in turns the usual speed of
    /// each would look fast.
    #[must_use]
    pub fn totals(&self) -> Vec<f64> {
        if self.waits {
            self.means()
        } else {
            self.sums(|speed| speed.usual)
        }
    }

    /// This throughput in bytes divided by the throughput of `other`: the median of the rounds' ratios, by the same kind of
    /// speed on both sides.
    #[must_use]
    pub fn over(&self, other: &Measurement) -> f64 {
        let scale = self.request.bytes() as f64 / other.request.bytes() as f64;
        scale
            * if self.waits {
                median_ratio(&self.means(), &other.means())
            } else {
                median_ratio(&self.totals(), &other.totals())
            }
    }

    /// For each round the mean speeds of all threads together.
    #[must_use]
    pub fn means(&self) -> Vec<f64> {
        self.sums(|speed| speed.mean)
    }

    fn sums(&self, pick: impl Fn(&Speed) -> f64) -> Vec<f64> {
        let total = |threads: &Vec<Speed>| threads.iter().map(&pick).sum();
        self.rounds.iter().map(total).collect()
    }

    /// All threads together: the median of bytes per second.
    #[must_use]
    pub fn bytes_per_second(&self) -> f64 {
        median(&self.totals()) * self.request.bytes() as f64
    }

    /// The time of one request in its thread, in nanoseconds: the median.
    #[must_use]
    pub fn ns_per_request(&self) -> f64 {
        self.threads as f64 * 1e9 / median(&self.totals())
    }

    /// See [`spread`].
    #[must_use]
    pub fn spread(&self) -> f64 {
        spread(&self.totals())
    }

    /// How unequal the threads' shares were: the median of the rounds' coefficients of variation.
    #[must_use]
    pub fn unfairness(&self) -> f64 {
        let shares =
            |threads: &Vec<Speed>| threads.iter().map(|speed| speed.mean).collect::<Vec<_>>();
        let rounds = self.rounds.iter().map(shares);
        median(
            &rounds
                .map(|shares| coefficient_of_variation(&shares))
                .collect::<Vec<_>>(),
        )
    }
}

/// Runs all cases; `bar` goes a step for each turn.
///
/// # Panics
///
/// If a generator panics.
#[must_use]
pub fn run(cases: &[Case<'_>], pace: Pace, bar: &ProgressBar) -> Vec<Measurement> {
    bar.set_length((pace.rounds * cases.len()) as u64);
    let mut measurements: Vec<Measurement> = cases
        .iter()
        .map(|case| Measurement {
            name: case.generator.name.clone(),
            request: case.request,
            threads: case.threads,
            waits: case.threads > 1 && case.generator.threads == Threads::Waiting,
            rounds: Vec::with_capacity(pace.rounds),
            watts: Vec::new(),
        })
        .collect();
    let rapl = Path::new("/sys/class/powercap");
    for _ in 0..pace.rounds {
        for (case, measurement) in cases.iter().zip(&mut measurements) {
            let (start, before) = (Instant::now(), energies(rapl));
            measurement.rounds.push(turn(case, pace.slice));
            let used = joules(&before, &energies(rapl));
            measurement
                .watts
                .extend(used.map(|used| used / start.elapsed().as_secs_f64()));
            bar.set_message(case.generator.name.clone());
            bar.inc(1);
        }
    }
    measurements
}

/// A counter of energy, and the number after which it begins again, in microjoules.
type Energy = (u64, u64);

/// The energy of each package of processors, by RAPL. Most virtual machines have none, and Linux lets root alone read it.
fn energies(folder: &Path) -> Vec<Energy> {
    let number = |name: &str, file: &str| {
        let text = fs::read_to_string(folder.join(name).join(file)).ok()?;
        text.trim().parse().ok()
    };
    // Parts of a package have names with a second number.
    let package = |package: u32| {
        let name = format!("intel-rapl:{package}");
        Some((
            number(&name, "energy_uj")?,
            number(&name, "max_energy_range_uj")?,
        ))
    };
    (0..).map_while(package).collect()
}

/// The energy between two looks; `None` if a counter was not there.
fn joules(before: &[Energy], after: &[Energy]) -> Option<f64> {
    if before.is_empty() || before.len() != after.len() {
        return None;
    }
    let used = before.iter().zip(after).map(|((from, range), (to, _))| {
        let passed = if to < from { *range } else { 0 };
        (passed + to - from) as f64 / 1e6
    });
    Some(used.sum())
}

/// One turn: the speed of each thread.
fn turn(case: &Case<'_>, slice: Duration) -> Vec<Speed> {
    let start = Barrier::new(case.threads);
    let work = || {
        let mut runner = case.generator.runner();
        let mut buffer = vec![0; case.request.bytes()];
        let mut run = |count| runner.run(case.request, count, &mut buffer);
        let portion = portion(slice, &mut run);
        start.wait();
        speed(slice, portion, &mut run)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..case.threads).map(|_| scope.spawn(work)).collect();
        let speeds = threads.into_iter().map(|thread| thread.join());
        speeds
            .map(|speed| speed.expect("a generator does not panic"))
            .collect()
    })
}

/// How many requests take about a sixteenth of a slice. Also warms up: caches, the thread's tap.
///
/// Portions bound the time that one thread is at work after the others ended their slice, when it would see
/// less contention than it should.
fn portion(slice: Duration, run: &mut impl FnMut(u64) -> Duration) -> u64 {
    let wanted_ns = slice.as_nanos() as f64 / 16.0;
    run(1);
    let mut count = 1;
    loop {
        let ns = run(count).as_nanos() as f64;
        if ns >= wanted_ns / 8.0 {
            return ((count as f64 * wanted_ns / ns) as u64).max(1);
        }
        count *= 4;
    }
}

/// The speed over a slice, portion by portion.
fn speed(slice: Duration, portion: u64, run: &mut impl FnMut(u64) -> Duration) -> Speed {
    let end = Instant::now() + slice;
    let mut seconds = Vec::with_capacity(64);
    while seconds.is_empty() || Instant::now() < end {
        seconds.push(run(portion).as_secs_f64());
    }
    let requests = (portion * seconds.len() as u64) as f64;
    Speed {
        mean: requests / seconds.iter().sum::<f64>(),
        usual: portion as f64 / median(&seconds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generators::Runner;
    use hdrhistogram::Histogram;
    use std::sync::{Arc, Mutex};

    /// Reports a known time for each request, and takes none.
    struct Told {
        request: Duration,
        /// Added to every tenth portion.
        stumble: Duration,
        portions: u32,
    }

    impl Runner for Told {
        fn run(&mut self, _: Request, requests: u64, _: &mut [u8]) -> Duration {
            self.portions += 1;
            let stumbles = requests > 1 && self.portions.is_multiple_of(10);
            let stumble = if stumbles {
                self.stumble
            } else {
                Duration::ZERO
            };
            self.request.mul_f64(requests as f64) + stumble
        }

        fn time_calls(&mut self, _: u64, _: &mut Histogram<u64>) {}
    }

    const PACE: Pace = Pace {
        rounds: 3,
        slice: Duration::from_millis(5),
    };

    fn told(name: &str, us: u64, stumble_us: u64) -> Generator {
        let make = move || Told {
            request: Duration::from_micros(us),
            stumble: Duration::from_micros(stumble_us),
            portions: 0,
        };
        Generator::new(name, &[Request::Fill(64)], make).on(Threads::Independent)
    }

    fn case(generator: &Generator, threads: usize) -> Case<'_> {
        Case {
            generator,
            request: generator.requests[0],
            threads,
        }
    }

    fn measure(cases: &[Case<'_>]) -> Vec<Measurement> {
        run(cases, PACE, &ProgressBar::hidden())
    }

    #[test]
    fn a_request_of_known_length_is_measured_as_such_on_any_number_of_threads() {
        let generator = told("two microseconds", 2, 0);
        let measured = measure(&[case(&generator, 1), case(&generator, 3)]);
        for (measurement, threads) in measured.iter().zip([1.0, 3.0]) {
            let us = measurement.ns_per_request() / 1e3;
            assert!((us - 2.0).abs() < 0.01, "{us}");
            let expected = threads * 64.0 / (us / 1e6);
            assert!((measurement.bytes_per_second() / expected - 1.0).abs() < 1e-9);
            assert!(measurement.unfairness() < 1e-6);
        }
    }

    #[test]
    fn a_slow_portion_slows_the_mean_and_not_the_usual_speed() {
        let generator = told("stumbler", 2, 500_000);
        let speed = measure(&[case(&generator, 1)])[0].rounds[0][0];
        assert!((speed.usual / 5e5 - 1.0).abs() < 0.01, "{speed:?}");
        assert!(speed.usual > 1.5 * speed.mean, "{speed:?}");
    }

    #[test]
    fn energy_is_the_sum_of_all_packages_and_missing_where_it_cannot_be_read() {
        let folder = std::env::temp_dir().join(format!("bench-rapl-{}", std::process::id()));
        let set = |package: &str, energy_uj: u64| {
            let package = folder.join(package);
            fs::create_dir_all(&package).unwrap();
            fs::write(package.join("energy_uj"), format!("{energy_uj}\n")).unwrap();
            fs::write(package.join("max_energy_range_uj"), "9000000\n").unwrap();
        };
        assert_eq!(joules(&energies(&folder), &energies(&folder)), None);
        set("intel-rapl:0", 1_000_000);
        set("intel-rapl:0:0", 1_000_000);
        set("intel-rapl:1", 8_000_000);
        let before = energies(&folder);
        set("intel-rapl:0", 1_500_000);
        set("intel-rapl:0:0", 1_400_000);
        // Begun again.
        set("intel-rapl:1", 1_000_000);
        assert_eq!(joules(&before, &energies(&folder)), Some(2.5));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn all_cases_take_their_turn_in_every_round() {
        let turns = Arc::new(Mutex::new(Vec::new()));
        let noted = |name: &'static str| {
            let turns = turns.clone();
            let make = move || {
                turns.lock().unwrap().push(name);
                Told {
                    request: Duration::from_micros(1),
                    stumble: Duration::ZERO,
                    portions: 0,
                }
            };
            Generator::new(name, &[Request::Fill(64)], make).on(Threads::Independent)
        };
        let (first, second) = (noted("first"), noted("second"));
        let measured = measure(&[case(&first, 1), case(&second, 2)]);
        // The second one has two threads.
        assert_eq!(
            *turns.lock().unwrap(),
            ["first", "second", "second"].repeat(3)
        );
        assert!(measured[1].rounds.iter().all(|threads| threads.len() == 2));
    }

    #[test]
    fn a_ratio_counts_bytes_and_threads_that_wait_count_with_their_waiting() {
        let measured = |bytes, waits, mean, usual| Measurement {
            name: String::new(),
            request: Request::Fill(bytes),
            threads: 1,
            waits,
            rounds: vec![vec![Speed { mean, usual }]; 3],
            watts: Vec::new(),
        };
        let plain = measured(32, false, 1.0, 10.0);
        assert_eq!(measured(64, false, 2.0, 10.0).over(&plain), 2.0);
        assert_eq!(measured(32, true, 2.0, 10.0).over(&plain), 2.0);
        assert_eq!(measured(32, false, 2.0, 10.0).over(&plain), 1.0);
    }
}
