//! Threads that read a device file.

use super::locks::Locks;
use super::modes::{ModeGuard, Subject};
use super::pace::{Pace, median};
use crate::open::{DEVICE, Failure};
use rustix::fs::{Mode, OFlags, open};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The most readers.
pub(super) const MOST_READERS: usize = 8;

/// The bytes of a read. The module makes them in pieces of a page.
const READ_BYTES: usize = 16384;

/// The reads of one reader.
#[derive(Clone, Copy)]
pub(super) struct Reading {
    pub(super) reads: u64,
    pub(super) seconds: f64,
}

/// A case: a subject with so many readers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    /// The mean over the readers, in MB/s; the median over the rounds.
    pub(super) each_mb_s: f64,
    /// The fastest reader less the slowest, as a share of the mean; the median over the rounds.
    pub(super) spread: f64,
    /// Of all rounds. `None` for the system's device, or where debugfs cannot be read.
    pub(super) locks: Option<LocksPerRead>,
}

/// How often a read took the lock of a node, and how often that was not free.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocksPerRead {
    pub(super) taken: f64,
    pub(super) contended: f64,
}

/// For 1, 2, .. readers, the cells of all subjects.
pub(super) type Grid = Vec<Vec<Cell>>;

/// The samples of one case.
#[derive(Clone, Default)]
pub(super) struct Samples {
    means: Vec<f64>,
    spreads: Vec<f64>,
    reads: u64,
    locks: Option<Locks>,
}

impl Samples {
    fn add(&mut self, readings: &[Reading], read_bytes: usize, locks: Option<Locks>) {
        let mb_s =
            |reading: &Reading| reading.reads as f64 * read_bytes as f64 / 1e6 / reading.seconds;
        let speeds: Vec<f64> = readings.iter().map(mb_s).collect();
        let mean = speeds.iter().sum::<f64>() / speeds.len() as f64;
        let fastest = speeds.iter().copied().fold(0.0, f64::max);
        let slowest = speeds.iter().copied().fold(f64::INFINITY, f64::min);
        self.means.push(mean);
        self.spreads.push((fastest - slowest) / mean);
        self.reads += readings.iter().map(|reading| reading.reads).sum::<u64>();
        if let Some(locks) = locks {
            let sum = self.locks.get_or_insert_default();
            sum.taken += locks.taken;
            sum.contended += locks.contended;
        }
    }

    pub(super) fn cell(&self) -> Cell {
        let reads = self.reads.max(1) as f64;
        Cell {
            each_mb_s: median(&self.means),
            spread: median(&self.spreads),
            locks: self.locks.map(|locks| LocksPerRead {
                taken: locks.taken as f64 / reads,
                contended: locks.contended as f64 / reads,
            }),
        }
    }
}

/// 1 to 8 readers, wherever the scheduler puts them.
pub(super) fn measure(pace: Pace, mode: &ModeGuard) -> Result<Grid, Failure> {
    let mut samples = vec![vec![Samples::default(); Subject::ALL.len()]; MOST_READERS];
    for _ in 0..pace.rounds {
        for (count, row) in (1..).zip(&mut samples) {
            let anywhere = vec![None; count];
            for (&subject, case) in Subject::ALL.iter().zip(row) {
                sample(subject, &anywhere, READ_BYTES, pace.slice, mode, case)?;
            }
        }
    }
    let row = |row: &Vec<Samples>| row.iter().map(Samples::cell).collect();
    Ok(samples.iter().map(row).collect())
}

/// One turn of a case.
pub(super) fn sample(
    subject: Subject,
    cpus: &[Option<usize>],
    read_bytes: usize,
    time: Duration,
    mode: &ModeGuard,
    samples: &mut Samples,
) -> Result<(), Failure> {
    mode.set(subject)?;
    let is_ours = subject != Subject::Urandom;
    let path = if is_ours { DEVICE } else { subject.name() };
    let before = Locks::now().filter(|_| is_ours);
    let readings = read_for(path, cpus, read_bytes, time)?;
    let locks = before.and_then(|before| Some(Locks::now()?.since(before)));
    samples.add(&readings, read_bytes, locks);
    Ok(())
}

/// A thread for each of `cpus`, on it if it is named. They read a file until the time is over.
fn read_for(
    path: &str,
    cpus: &[Option<usize>],
    read_bytes: usize,
    time: Duration,
) -> Result<Vec<Reading>, Failure> {
    let (start, is_over) = (Barrier::new(cpus.len() + 1), AtomicBool::new(false));
    let reader = |cpu: Option<usize>| -> rustix::io::Result<Reading> {
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
        let seconds = since.elapsed().as_secs_f64();
        Ok(Reading { reads, seconds })
    };
    let readings: Result<Vec<Reading>, _> = thread::scope(|scope| {
        let readers: Vec<_> = cpus
            .iter()
            .map(|&cpu| scope.spawn(move || reader(cpu)))
            .collect();
        start.wait();
        thread::sleep(time);
        is_over.store(true, Ordering::Relaxed);
        let join = |reader: thread::ScopedJoinHandle<'_, _>| reader.join();
        let joined = readers.into_iter().map(join);
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
        let readings = read_for("/dev/zero", &[None, None, Some(0)], 32, time).unwrap();
        assert_eq!(readings.len(), 3);
        assert!(readings.iter().all(|reading| reading.reads > 0));
        assert!(read_for("/nonexistent", &[None, None], 32, time).is_err());

        let reading = |reads| Reading {
            reads,
            seconds: 2.0,
        };
        let mut samples = Samples::default();
        let locks = Locks {
            taken: 8,
            contended: 2,
        };
        samples.add(&[reading(1), reading(3)], 1_000_000, Some(locks));
        let cell = samples.cell();
        assert_eq!((cell.each_mb_s, cell.spread), (1.0, 1.0));
        let locks = cell.locks.unwrap();
        assert_eq!((locks.taken, locks.contended), (2.0, 0.5));
    }
}
