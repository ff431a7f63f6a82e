//! Threads that read a device file.

use super::locks::Locks;
use super::modes::{ModeGuard, SUBJECTS};
use super::pace::Pace;
use crate::open::{DEVICE, Failure};
use rustix::fs::{Mode, OFlags, open};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use wellspring_bench::statistics::median;

/// A reader for each, on this CPU if it is named.
pub(super) type Group = Vec<Option<usize>>;

/// A subject with a group of readers.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    /// The reads of a reader in a second, the mean over the readers: one for each round.
    means: Vec<f64>,
    /// The fastest reader less the slowest, as a share of the mean: one for each round.
    spreads: Vec<f64>,
    /// The reads of all readers in all rounds.
    reads: u64,
    /// The locks in all rounds. `None` for the system's device, or where debugfs cannot be read.
    locks: Option<Locks>,
}

impl Cell {
    /// The reads of one reader in a second.
    pub(super) fn each_per_s(&self) -> f64 {
        median(&self.means)
    }

    pub(super) fn spread(&self) -> f64 {
        median(&self.spreads)
    }

    /// How often 1000 reads took the lock of a node, and how often that was not free.
    pub(super) fn locks_of_1000_reads(&self) -> Option<(f64, f64)> {
        let share = |count: u64| 1000.0 * count as f64 / self.reads.max(1) as f64;
        let locks = self.locks?;
        Some((share(locks.taken), share(locks.contended)))
    }

    /// Adds a round: the reads of each reader, and its seconds.
    fn add(&mut self, readings: &[(u64, f64)], locks: Option<Locks>) {
        let speeds: Vec<f64> = readings
            .iter()
            .map(|(reads, s)| *reads as f64 / s)
            .collect();
        let mean = speeds.iter().sum::<f64>() / speeds.len() as f64;
        let fastest = speeds.iter().copied().fold(0.0, f64::max);
        let slowest = speeds.iter().copied().fold(f64::INFINITY, f64::min);
        self.means.push(mean);
        self.spreads.push((fastest - slowest) / mean);
        self.reads += readings.iter().map(|(reads, _)| reads).sum::<u64>();
        if let Some(locks) = locks {
            let sum = self.locks.get_or_insert_default();
            sum.taken += locks.taken;
            sum.contended += locks.contended;
        }
    }
}

/// Measures each group of readers with each subject. A row for each group.
pub(super) fn measure(
    groups: &[Group],
    read_bytes: usize,
    pace: Pace,
    mode: &ModeGuard,
) -> Result<Vec<[Cell; SUBJECTS.len()]>, Failure> {
    let mut rows = vec![SUBJECTS.map(|_| Cell::default()); groups.len()];
    for _ in 0..pace.rounds {
        for (group, row) in groups.iter().zip(&mut rows) {
            for (subject, cell) in SUBJECTS.iter().zip(row) {
                if subject.starts_with('/') {
                    cell.add(&read_for(subject, group, read_bytes, pace.slice)?, None);
                    continue;
                }
                mode.set(subject)?;
                let before = Locks::now();
                let readings = read_for(DEVICE, group, read_bytes, pace.slice)?;
                let locks = before.and_then(|before| Some(Locks::now()?.since(before)));
                cell.add(&readings, locks);
            }
        }
    }
    Ok(rows)
}

/// Has a group read a file until the time is over. Returns the reads of each reader, and its seconds.
pub(super) fn read_for(
    path: &str,
    group: &Group,
    read_bytes: usize,
    time: Duration,
) -> Result<Vec<(u64, f64)>, Failure> {
    let (start, is_over) = (Barrier::new(group.len() + 1), AtomicBool::new(false));
    let reader = |cpu: Option<usize>| -> rustix::io::Result<(u64, f64)> {
        let prepared = prepare(path, cpu);
        // Also if that failed: the others wait here.
        start.wait();
        let (file, mut bytes) = (prepared?, vec![0; read_bytes]);
        let since = Instant::now();
        let mut reads = 0;
        while !is_over.load(Ordering::Relaxed) || reads == 0 {
            rustix::io::read(&file, &mut bytes)?;
            reads += 1;
        }
        Ok((reads, since.elapsed().as_secs_f64()))
    };
    let readings: Result<Vec<_>, _> = thread::scope(|scope| {
        let spawn = |&cpu: &Option<usize>| scope.spawn(move || reader(cpu));
        let readers: Vec<_> = group.iter().map(spawn).collect();
        start.wait();
        thread::sleep(time);
        is_over.store(true, Ordering::Relaxed);
        let joined = readers.into_iter().map(|reader| reader.join());
        joined
            .map(|reading| reading.unwrap_or(Err(rustix::io::Errno::IO)))
            .collect()
    });
    readings.map_err(|error| Failure::work(path, error))
}

fn prepare(path: &str, cpu: Option<usize>) -> rustix::io::Result<rustix::fd::OwnedFd> {
    if let Some(cpu) = cpu {
        let mut here = CpuSet::new();
        here.set(cpu);
        sched_setaffinity(None, &here)?;
    }
    open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reader_reads_and_the_cell_has_their_mean_and_spread() {
        let time = Duration::from_millis(1);
        let readings = read_for("/dev/zero", &vec![None, None, Some(0)], 32, time).unwrap();
        assert_eq!(readings.len(), 3);
        assert!(readings.iter().all(|(reads, _)| *reads > 0));
        assert!(read_for("/nonexistent", &vec![None, None], 32, time).is_err());

        let mut cell = Cell::default();
        let locks = Locks {
            taken: 8,
            contended: 2,
        };
        cell.add(&[(1, 2.0), (3, 2.0)], Some(locks));
        assert_eq!((cell.each_per_s(), cell.spread()), (1.0, 1.0));
        assert_eq!(cell.locks_of_1000_reads(), Some((2000.0, 500.0)));
        assert_eq!(Cell::default().locks_of_1000_reads(), None);
    }
}
