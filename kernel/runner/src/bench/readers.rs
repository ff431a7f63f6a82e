//! Threads that read a device file, and another task and the harvester beside them: how much is measured, in which mode of the
//! module, how often a read took the lock of a node, and how long it waited.

use crate::test::{DEVICE, Failure};
use rustix::fs::{Mode, OFlags, open};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};
use wellspring_bench::figures::median;

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
        let locks = self.locks?;
        Some((self.of_1000(locks.taken), self.of_1000(locks.contended)))
    }

    /// How long 1000 reads waited for locks of nodes.
    pub(super) fn wait_us_of_1000_reads(&self) -> Option<f64> {
        Some(self.of_1000(self.locks?.wait_ns) / 1e3)
    }

    fn of_1000(&self, count: u64) -> f64 {
        1000.0 * count as f64 / self.reads.max(1) as f64
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
            sum.wait_ns += locks.wait_ns;
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
fn read_for(
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

// ---- another task ----
// Another task beside readers, which a timer wakes, and the harvester.

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
pub(super) fn measure_beside(
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
    parse_state(&state).unwrap_or_default()
}

fn parse_state(state: &str) -> Option<u64> {
    let line = state
        .lines()
        .find_map(|line| line.strip_prefix("harvester_ns "))?;
    line.parse().ok()
}

// ---- locks of the nodes ----
// How often reads took the lock of a node, from the module's tables in debugfs. These are counts: they are as true in
// an emulator as elsewhere.

const TABLE: &str = "/sys/kernel/debug/wellspring/nodes";

/// Counts of all nodes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Locks {
    /// How often a reader took the lock of a node.
    pub(super) taken: u64,
    /// How often the lock was not free.
    pub(super) contended: u64,
    /// How long all readers waited for it.
    pub(super) wait_ns: u64,
}

impl Locks {
    /// The counts so far. `None` where debugfs cannot be read.
    pub(super) fn now() -> Option<Self> {
        parse_table(&fs::read_to_string(TABLE).ok()?)
    }

    /// The counts that came since.
    pub(super) fn since(self, before: Locks) -> Locks {
        Locks {
            taken: self.taken.saturating_sub(before.taken),
            contended: self.contended.saturating_sub(before.contended),
            wait_ns: self.wait_ns.saturating_sub(before.wait_ns),
        }
    }
}

/// The sums over the rows of the table, whose first line names the columns.
fn parse_table(table: &str) -> Option<Locks> {
    let mut lines = table.lines();
    let names: Vec<&str> = lines.next()?.split_whitespace().collect();
    let column = |name: &str| names.iter().position(|other| *other == name);
    let (taken, contended) = (column("reservations")?, column("contended")?);
    let wait_ns = column("lock_wait_ns")?;
    let mut sum = Locks::default();
    for line in lines {
        let cells: Vec<&str> = line.split_whitespace().collect();
        sum.taken += cells.get(taken)?.parse::<u64>().ok()?;
        sum.contended += cells.get(contended)?.parse::<u64>().ok()?;
        sum.wait_ns += cells.get(wait_ns)?.parse::<u64>().ok()?;
    }
    Some(sum)
}

// ---- modes ----
// The subjects of the measurement: the system's device, and the module's in each of its modes.

/// `/dev/urandom`, and the modes of `/dev/wellspring`, in the order of the columns.
pub(super) const SUBJECTS: [&str; 5] = [
    "/dev/urandom",
    "canonical",
    "concurrent",
    "per-node",
    "per-cpu",
];

/// The parameter of the module.
const PARAMETER: &str = "/sys/module/wellspring/parameters/mode";

/// Sets modes, and puts the mode that it found back when it is dropped.
pub(super) struct ModeGuard {
    former: String,
}

impl ModeGuard {
    pub(super) fn new() -> Result<Self, Failure> {
        let former = fs::read_to_string(PARAMETER);
        let former = former.map_err(|error| Failure::work(PARAMETER, error))?;
        let guard = Self {
            former: former.trim().to_owned(),
        };
        // Before anything is measured: only root may set it.
        guard.set(&guard.former)?;
        Ok(guard)
    }

    pub(super) fn set(&self, mode: &str) -> Result<(), Failure> {
        fs::write(PARAMETER, mode).map_err(|error| Failure::work(PARAMETER, error))
    }
}

impl Drop for ModeGuard {
    fn drop(&mut self) {
        let _ = fs::write(PARAMETER, &self.former);
    }
}

// ---- pace ----
// How much is measured.

/// How much is measured.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    pub(super) rounds: usize,
    /// The time of one case in one round.
    pub(super) slice: Duration,
    /// The time of a task beside readers in one round.
    pub(super) beside: Duration,
    /// Requests inside the kernel, of one kind in one round.
    pub(super) requests: u32,
}

/// About four minutes.
pub(crate) const FULL: Pace = Pace {
    rounds: 7,
    slice: Duration::from_millis(100),
    beside: Duration::from_millis(500),
    requests: 20_000,
};

/// A few seconds for the figures inside the kernel, so that they can have a busy machine to themselves.
pub(crate) const SHORT: Pace = Pace {
    rounds: 7,
    slice: Duration::from_millis(20),
    beside: Duration::from_millis(20),
    requests: 4000,
};

/// A few seconds, for tests.
pub(crate) const QUICK: Pace = Pace {
    rounds: 1,
    slice: Duration::from_millis(20),
    beside: Duration::from_millis(20),
    requests: 1000,
};

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
            wait_ns: 4000,
        };
        cell.add(&[(1, 2.0), (3, 2.0)], Some(locks));
        assert_eq!((cell.each_per_s(), cell.spread()), (1.0, 1.0));
        assert_eq!(cell.locks_of_1000_reads(), Some((2000.0, 500.0)));
        assert_eq!(cell.wait_us_of_1000_reads(), Some(1000.0));
        assert_eq!(Cell::default().locks_of_1000_reads(), None);
    }

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
        assert_eq!(parse_state("phase ready\nharvester_ns 7\n"), Some(7));
        assert_eq!(parse_state("phase ready\n"), None);
    }

    #[test]
    fn the_other_task_reads_once_in_each_period() {
        let late = wake_and_read("/dev/zero", 3 * PERIOD).unwrap();
        assert_eq!(late.len(), 3);
        assert!(late.iter().all(|us| *us > 0.0));
        assert!(wake_and_read("/nonexistent", PERIOD).is_err());
    }

    #[test]
    fn the_columns_of_all_nodes_are_added_up_by_their_names() {
        let table = "node contended reservations lock_wait_ns\n0 1 10 5\n1 2 20 6\n";
        let sum = Locks {
            taken: 30,
            contended: 3,
            wait_ns: 11,
        };
        assert_eq!(parse_table(table), Some(sum));
        assert_eq!(parse_table("node reservations\n0 10\n"), None);
        assert_eq!(parse_table(""), None);
        assert_eq!(sum.since(sum), Locks::default());
    }
}
