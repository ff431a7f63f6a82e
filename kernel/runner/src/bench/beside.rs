//! Another task beside readers, which a timer wakes, and the harvester.

use super::modes::{ModeGuard, SUBJECTS};
use super::pace::Pace;
use super::readers::read_for;
use crate::open::{DEVICE, Failure};
use rustix::fs::{Mode, OFlags, open};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// The state of the module, which has the time of all rounds of the harvester.
const STATE: &str = "/sys/kernel/debug/wellspring/state";

/// The timer of the other task.
const PERIOD: Duration = Duration::from_millis(1);

/// The other task reads this much each time.
const OWN_BYTES: usize = 16;

/// The figures of one subject in all rounds.
#[derive(Clone, Default)]
pub(super) struct Beside {
    /// From the time for which the timer was set to the end of the read.
    late_us: Vec<f64>,
    harvester_ns: u64,
    wall_ns: u64,
}

impl Beside {
    /// The time that a share of the reads did not pass.
    pub(super) fn late_us(&self, share: f64) -> f64 {
        let mut sorted = self.late_us.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        let index = (share * last as f64).round() as usize;
        sorted.get(index).copied().unwrap_or_default()
    }

    /// The share of a CPU that rounds of the harvester took.
    pub(super) fn harvester(&self) -> f64 {
        self.harvester_ns as f64 / self.wall_ns.max(1) as f64
    }
}

/// Measures each subject beside this many readers.
pub(super) fn measure(
    readers: usize,
    read_bytes: usize,
    pace: Pace,
    mode: &ModeGuard,
) -> Result<[Beside; SUBJECTS.len()], Failure> {
    let group = vec![None; readers];
    let mut row = SUBJECTS.map(|_| Beside::default());
    for _ in 0..pace.rounds {
        for (subject, cell) in SUBJECTS.iter().zip(&mut row) {
            let path = if subject.starts_with('/') {
                subject
            } else {
                mode.set(subject)?;
                DEVICE
            };
            let (before, since) = (harvester_ns(), Instant::now());
            let readings = thread::scope(|scope| {
                let other = scope.spawn(|| wake_and_read(path, pace.beside));
                let readings = read_for(path, &group, read_bytes, pace.beside);
                readings.map(|_| other.join())
            })?;
            let late = readings.unwrap_or(Err(rustix::io::Errno::IO));
            cell.late_us
                .extend(late.map_err(|error| Failure::work(path, error))?);
            cell.harvester_ns += harvester_ns().saturating_sub(before);
            cell.wall_ns += since.elapsed().as_nanos() as u64;
        }
    }
    Ok(row)
}

/// Reads in each period, and returns how late each read was at its end, in us. A read that comes after the next period has begun
/// makes that one late too.
fn wake_and_read(path: &str, time: Duration) -> rustix::io::Result<Vec<f64>> {
    let file = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let periods = (time.as_nanos() / PERIOD.as_nanos()) as u32;
    let start = Instant::now();
    let mut bytes = [0; OWN_BYTES];
    (1..=periods)
        .map(|period| {
            let due = start + period * PERIOD;
            thread::sleep(due.saturating_duration_since(Instant::now()));
            rustix::io::read(&file, &mut bytes)?;
            Ok(due.elapsed().as_secs_f64() * 1e6)
        })
        .collect()
}

/// 0 where debugfs cannot be read.
fn harvester_ns() -> u64 {
    let state = fs::read_to_string(STATE).unwrap_or_default();
    parse(&state).unwrap_or_default()
}

fn parse(state: &str) -> Option<u64> {
    let line = state
        .lines()
        .find_map(|line| line.strip_prefix("harvester_ns "))?;
    line.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_the_reads_are_by_rank_and_the_last_is_the_longest() {
        let cell = Beside {
            late_us: (0..=100).rev().map(f64::from).collect(),
            harvester_ns: 1,
            wall_ns: 4,
        };
        let figures = [0.5, 0.99, 1.0].map(|share| cell.late_us(share));
        assert_eq!((figures, cell.harvester()), ([50.0, 99.0, 100.0], 0.25));
        assert_eq!(Beside::default().late_us(0.5), 0.0);
        assert_eq!(parse("phase ready\nharvester_ns 7\n"), Some(7));
        assert_eq!(parse("phase ready\n"), None);
    }

    #[test]
    fn the_other_task_reads_once_in_each_period() {
        let late = wake_and_read("/dev/zero", 3 * PERIOD).unwrap();
        assert_eq!(late.len(), 3);
        assert!(late.iter().all(|us| *us > 0.0));
        assert!(wake_and_read("/nonexistent", PERIOD).is_err());
    }
}
