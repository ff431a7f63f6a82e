//! Throughput: all cases in turn, in short slices, round after round. What slows the machine for a while slows all
//! cases alike.

use crate::contender::{Contender, Family, Runner, Work};
use crate::progress::Progress;
use crate::statistics::{coefficient_of_variation, median, median_ratio, spread};
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

/// A contender, its request, and the number of threads.
pub struct Case<'a> {
    /// The contender.
    pub contender: &'a Contender,
    /// The request.
    pub work: Work,
    /// On how many threads at once.
    pub threads: usize,
}

/// The results of a case.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// The contender's name.
    pub name: String,
    /// The contender's group.
    pub family: Family,
    /// The request.
    pub work: Work,
    /// On how many threads at once.
    pub threads: usize,
    /// For each round the pace of each thread.
    pub rounds: Vec<Vec<Speed>>,
}

/// How fast a thread was in a turn, in requests per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// Over the whole turn.
    pub mean: f64,
    /// In the middle one of the turn's portions, which leaves out those in which the thread was taken off its
    /// CPU.
    pub usual: f64,
}

impl Measurement {
    /// For each round the requests per second of all threads together.
    ///
    /// Of threads that never wait for each other the usual speeds: only the machine can slow them. Of others the
    /// means: waiting is part of what is measured, and under a lock that threads take in turns the usual speed of
    /// each would look fast.
    #[must_use]
    pub fn totals(&self) -> Vec<f64> {
        if self.waits() {
            self.means()
        } else {
            self.sums(|speed| speed.usual)
        }
    }

    /// Whether it is wellspring's.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        matches!(
            self.family,
            Family::Mode | Family::Handle | Family::Helper | Family::Backend
        ) || self.name.starts_with("pseudo")
    }

    /// Whether its threads wait for each other: several do, on a lock of the engine's or the kernel's.
    fn waits(&self) -> bool {
        let behind_a_lock = ["canonical", "concurrent", "per-node", "getrandom(2)"];
        self.threads > 1 && behind_a_lock.contains(&self.name.as_str())
    }

    /// This one's throughput over `one`'s: the median of the rounds' ratios, by the same kind of speed on both sides.
    #[must_use]
    pub fn over(&self, one: &Measurement) -> f64 {
        if self.waits() {
            median_ratio(&self.means(), &one.means())
        } else {
            median_ratio(&self.totals(), &one.totals())
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
        median(&self.totals()) * self.work.bytes() as f64
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

/// Runs all cases; one step of progress for each turn.
///
/// # Panics
///
/// If a contender panics.
#[must_use]
pub fn run(cases: &[Case<'_>], pace: Pace, progress: &mut dyn Progress) -> Vec<Measurement> {
    let mut measurements: Vec<Measurement> = cases
        .iter()
        .map(|case| Measurement {
            name: case.contender.name.clone(),
            family: case.contender.family,
            work: case.work,
            threads: case.threads,
            rounds: Vec::with_capacity(pace.rounds),
        })
        .collect();
    for _ in 0..pace.rounds {
        for (case, measurement) in cases.iter().zip(&mut measurements) {
            measurement.rounds.push(turn(case, pace.slice));
            progress.step(&case.contender.name);
        }
    }
    measurements
}

/// One turn: the speed of each thread.
fn turn(case: &Case<'_>, slice: Duration) -> Vec<Speed> {
    let start = Barrier::new(case.threads);
    let work = || {
        let mut runner = case.contender.runner();
        let mut buffer = vec![0; case.work.bytes()];
        let requests = portion(&mut *runner, case.work, slice, &mut buffer);
        start.wait();
        speed(&mut *runner, case.work, slice, requests, &mut buffer)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..case.threads).map(|_| scope.spawn(work)).collect();
        let speeds = threads.into_iter().map(|thread| thread.join());
        speeds
            .map(|speed| speed.expect("a contender does not panic"))
            .collect()
    })
}

/// How many requests take about a sixteenth of a slice. Also warms up: caches, the thread's tap.
///
/// Portions bound the time that one thread is at work after the others ended their slice, when it would see
/// less contention than it should.
fn portion(runner: &mut dyn Runner, work: Work, slice: Duration, buffer: &mut [u8]) -> u64 {
    let wanted_ns = slice.as_nanos() as f64 / 16.0;
    runner.run(work, 1, buffer);
    let mut requests = 1;
    loop {
        let ns = runner.run(work, requests, buffer).as_nanos() as f64;
        if ns >= wanted_ns / 8.0 {
            let scaled = requests as f64 * wanted_ns / ns;
            return (scaled as u64).max(1);
        }
        requests *= 4;
    }
}

/// The speed over a slice, portion by portion.
fn speed(
    runner: &mut dyn Runner,
    work: Work,
    slice: Duration,
    portion: u64,
    buffer: &mut [u8],
) -> Speed {
    let end = Instant::now() + slice;
    let mut seconds = Vec::with_capacity(64);
    while seconds.is_empty() || Instant::now() < end {
        seconds.push(runner.run(work, portion, buffer).as_secs_f64());
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
    use crate::clock::Clock;
    use crate::histogram::Histogram;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Reports a known time for each request, and takes none.
    struct Told {
        request: Duration,
        /// Added to every tenth portion.
        stumble: Duration,
        portions: u32,
    }

    impl Runner for Told {
        fn run(&mut self, _: Work, requests: u64, _: &mut [u8]) -> Duration {
            self.portions += 1;
            let stumbles = requests > 1 && self.portions.is_multiple_of(10);
            let stumble = if stumbles {
                self.stumble
            } else {
                Duration::ZERO
            };
            self.request.mul_f64(requests as f64) + stumble
        }

        fn time_calls(&mut self, _: &Clock, _: u64, _: &mut Histogram) {}
    }

    const PACE: Pace = Pace {
        rounds: 3,
        slice: Duration::from_millis(5),
    };

    fn told(name: &str, us: u64, stumble_us: u64) -> Contender {
        let make = move || Told {
            request: Duration::from_micros(us),
            stumble: Duration::from_micros(stumble_us),
            portions: 0,
        };
        Contender::new(name, Family::Peer, &[Work::Fill(64)], make).on_threads()
    }

    fn case(contender: &Contender, threads: usize) -> Case<'_> {
        Case {
            contender,
            work: contender.works[0],
            threads,
        }
    }

    #[test]
    fn a_request_of_known_length_is_measured_as_such_on_any_number_of_threads() {
        let contender = told("two microseconds", 2, 0);
        let measured = run(&[case(&contender, 1), case(&contender, 3)], PACE, &mut ());
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
        let contender = told("stumbler", 2, 500_000);
        let speed = run(&[case(&contender, 1)], PACE, &mut ())[0].rounds[0][0];
        assert!((speed.usual / 5e5 - 1.0).abs() < 0.01, "{speed:?}");
        assert!(speed.usual > 1.5 * speed.mean, "{speed:?}");
    }

    #[test]
    fn all_cases_take_their_turn_in_every_round() {
        static TURNS: AtomicUsize = AtomicUsize::new(0);
        struct Order;
        impl Progress for Order {
            fn begin(&mut self, _: usize) {}
            fn step(&mut self, what: &str) {
                let turn = TURNS.fetch_add(1, Ordering::Relaxed);
                assert_eq!(what, ["first", "second"][turn % 2]);
            }
        }
        let (first, second) = (told("first", 1, 0), told("second", 1, 0));
        let measured = run(&[case(&first, 1), case(&second, 2)], PACE, &mut Order);
        assert_eq!(TURNS.load(Ordering::Relaxed), 6);
        assert!(measured[1].rounds.iter().all(|threads| threads.len() == 2));
    }
}
