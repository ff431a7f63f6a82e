//! A machine of sockets and threads as a discrete-event queue for locks.
//!
//! Each thread repeats a cycle of steps: work that delays no other thread, and holds of a lock, which delay those that
//! wait. Locks are fair (first come, first served). What a lock costs beyond the hold is the travel of cache lines,
//! which depends on the thread that had them last.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// How many threads, where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Sockets.
    pub(crate) sockets: usize,
    /// Threads on each, all busy.
    pub(crate) threads_per_socket: usize,
}

impl Shape {
    /// All threads.
    #[must_use]
    pub(crate) fn threads(self) -> usize {
        self.sockets * self.threads_per_socket
    }

    /// The socket of a thread.
    #[must_use]
    pub(crate) fn socket_of(self, thread: usize) -> usize {
        thread / self.threads_per_socket
    }
}

/// The cost of handing a lock over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handover {
    /// A cache line from one core to another of the same socket, in nanoseconds.
    pub(crate) local_line_ns: f64,
    /// A cache line from another socket, in nanoseconds.
    pub(crate) remote_line_ns: f64,
    /// The lines that move with the lock: its word, and what it protects.
    pub(crate) lines: f64,
    /// Of the threads that poll the lock's word and fetch it anew when it changes, the share that is served
    /// before the next owner. A half, on average, for a lock whose waiters poll one word (S. Boyd-Wickizer
    /// et al., "Non-scalable locks are dangerous", 2012); none for a lock with a word for each waiter.
    pub(crate) polling_share: f64,
    /// Other time until the next owner of a contended lock runs, for example until it is woken, in nanoseconds.
    pub(crate) wake_ns: f64,
}

impl Handover {
    fn line_ns(&self, shape: Shape, from: usize, to: usize) -> f64 {
        if from == to {
            0.0
        } else if shape.socket_of(from) == shape.socket_of(to) {
            self.local_line_ns
        } else {
            self.remote_line_ns
        }
    }
}

/// A part of a cycle.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// So long on its own.
    Work {
        /// Nanoseconds.
        ns: f64,
    },
    /// So long with a lock.
    Hold {
        /// The lock's number.
        lock: usize,
        /// Nanoseconds, without what the handover costs.
        ns: f64,
    },
}

/// The steps that a thread repeats.
#[derive(Clone, Debug)]
pub(crate) struct Cycle {
    /// In this order.
    pub(crate) steps: Vec<Step>,
    /// The bytes that a cycle makes.
    pub(crate) bytes: f64,
}

/// The result of a simulation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    /// All threads together.
    pub(crate) bytes_per_second: f64,
    /// The share of the threads' time that went into waiting for locks and for the lines that move with them.
    pub(crate) waiting_share: f64,
}

/// The cycles of each thread that a simulation goes through, on average.
const CYCLES: usize = 150;
/// Work varies by up to this share of itself, so that threads do not march in step.
const JITTER: f64 = 0.1;

struct Lock {
    owner: Option<usize>,
    last_owner: Option<usize>,
    waiting: VecDeque<usize>,
    waiting_by_socket: Vec<usize>,
}

struct Simulation<'a> {
    shape: Shape,
    handover: Handover,
    cycles: &'a [Cycle],
    locks: Vec<Lock>,
    /// The step each thread is at.
    places: Vec<usize>,
    /// When each thread began to wait.
    since_ns: Vec<f64>,
    /// The next step's end of each thread that does not wait: time in picoseconds, so that it can be ordered.
    events: BinaryHeap<Reverse<(u64, usize)>>,
    now_ns: f64,
    waited_ns: f64,
    random: u64,
}

/// Runs the threads' cycles on a machine.
///
/// # Panics
///
/// When there is not one cycle for each thread.
#[must_use]
pub(crate) fn simulate(
    shape: Shape,
    handover: Handover,
    locks: usize,
    cycles: &[Cycle],
) -> Outcome {
    assert_eq!(cycles.len(), shape.threads(), "a cycle for each thread");
    let lock = || Lock {
        owner: None,
        last_owner: None,
        waiting: VecDeque::new(),
        waiting_by_socket: vec![0; shape.sockets],
    };
    let mut simulation = Simulation {
        shape,
        handover,
        cycles,
        locks: (0..locks).map(|_| lock()).collect(),
        places: vec![0; cycles.len()],
        since_ns: vec![0.0; cycles.len()],
        events: BinaryHeap::new(),
        now_ns: 0.0,
        waited_ns: 0.0,
        random: 0x9e37_79b9_7f4a_7c15,
    };
    (0..cycles.len()).for_each(|thread| simulation.begin(thread));
    let (mut bytes, mut done) = (0.0, 0);
    while done < CYCLES * cycles.len() {
        let Some(Reverse((time_ps, thread))) = simulation.events.pop() else {
            break;
        };
        simulation.now_ns = time_ps as f64 / 1e3;
        if simulation.end(thread) {
            bytes += cycles[thread].bytes;
            done += 1;
        }
        simulation.begin(thread);
    }
    Outcome {
        bytes_per_second: bytes / simulation.now_ns * 1e9,
        waiting_share: simulation.waited_ns / (simulation.now_ns * cycles.len() as f64),
    }
}

impl Simulation<'_> {
    /// The thread starts its next step, or begins to wait for it.
    fn begin(&mut self, thread: usize) {
        match self.cycles[thread].steps[self.places[thread]] {
            Step::Work { ns } => {
                let varied = ns * (1.0 + JITTER * self.variation());
                self.schedule(thread, varied);
            }
            Step::Hold { lock, .. } => {
                self.since_ns[thread] = self.now_ns;
                if self.locks[lock].owner.is_none() {
                    self.take(lock, thread, 0.0);
                } else {
                    self.locks[lock].waiting.push_back(thread);
                    self.locks[lock].waiting_by_socket[self.shape.socket_of(thread)] += 1;
                }
            }
        }
    }

    /// The thread has ended its step. Returns whether that ended its cycle.
    fn end(&mut self, thread: usize) -> bool {
        let steps = &self.cycles[thread].steps;
        if let Step::Hold { lock, .. } = steps[self.places[thread]] {
            self.locks[lock].owner = None;
            self.locks[lock].last_owner = Some(thread);
            if let Some(next) = self.locks[lock].waiting.pop_front() {
                self.locks[lock].waiting_by_socket[self.shape.socket_of(next)] -= 1;
                let contended_ns = self.contended_ns(lock, thread);
                self.take(lock, next, contended_ns);
            }
        }
        self.places[thread] = (self.places[thread] + 1) % self.cycles[thread].steps.len();
        self.places[thread] == 0
    }

    fn take(&mut self, lock: usize, thread: usize, contended_ns: f64) {
        let last_owner = self.locks[lock].last_owner.unwrap_or(thread);
        let line_ns = self.handover.line_ns(self.shape, last_owner, thread);
        let travel_ns = self.handover.lines * line_ns + contended_ns;
        self.locks[lock].owner = Some(thread);
        self.waited_ns += self.now_ns - self.since_ns[thread] + travel_ns;
        if let Step::Hold { ns, .. } = self.cycles[thread].steps[self.places[thread]] {
            self.schedule(thread, travel_ns + ns);
        }
    }

    /// The time that threads which wait for the lock cost its next owner.
    fn contended_ns(&self, lock: usize, from: usize) -> f64 {
        let waiting = self.locks[lock].waiting_by_socket.iter().enumerate();
        let polls_ns = waiting.map(|(socket, &count)| {
            let is_local = socket == self.shape.socket_of(from);
            let line_ns = if is_local {
                self.handover.local_line_ns
            } else {
                self.handover.remote_line_ns
            };
            count as f64 * line_ns
        });
        self.handover.wake_ns + self.handover.polling_share * polls_ns.sum::<f64>()
    }

    fn schedule(&mut self, thread: usize, ns: f64) {
        let time_ps = ((self.now_ns + ns) * 1e3) as u64;
        self.events.push(Reverse((time_ps, thread)));
    }

    /// From -1 to 1, the same in every run: xorshift64 (G. Marsaglia, 2003).
    fn variation(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: Handover = Handover {
        local_line_ns: 0.0,
        remote_line_ns: 0.0,
        lines: 0.0,
        polling_share: 0.0,
        wake_ns: 0.0,
    };

    fn one_socket(threads: usize) -> Shape {
        Shape {
            sockets: 1,
            threads_per_socket: threads,
        }
    }

    fn run(shape: Shape, handover: Handover, steps: &[Step]) -> Outcome {
        let cycle = Cycle {
            steps: steps.to_vec(),
            bytes: 1.0,
        };
        simulate(shape, handover, 1, &vec![cycle; shape.threads()])
    }

    fn assert_close(found: f64, expected: f64) {
        assert!(
            (found / expected - 1.0).abs() < 0.03,
            "{found} instead of {expected}"
        );
    }

    #[test]
    fn threads_that_share_nothing_add_up() {
        let work = [Step::Work { ns: 100.0 }];
        assert_close(run(one_socket(1), FREE, &work).bytes_per_second, 1e7);
        assert_close(run(one_socket(16), FREE, &work).bytes_per_second, 16e7);
    }

    #[test]
    fn a_lock_serves_no_more_than_its_holds_allow() {
        let steps = [Step::Work { ns: 300.0 }, Step::Hold { lock: 0, ns: 100.0 }];
        assert_close(
            run(one_socket(1), FREE, &steps).bytes_per_second,
            1e9 / 400.0,
        );
        let crowd = run(one_socket(40), FREE, &steps);
        assert_close(crowd.bytes_per_second, 1e9 / 100.0);
        // Each of 40 is served every 4000 ns and works or holds for 400 of them.
        assert_close(crowd.waiting_share, 0.9);
    }

    #[test]
    fn lines_travel_only_when_the_owner_changes() {
        let handover = Handover {
            local_line_ns: 50.0,
            lines: 2.0,
            ..FREE
        };
        let steps = [Step::Hold { lock: 0, ns: 100.0 }];
        assert_close(
            run(one_socket(1), handover, &steps).bytes_per_second,
            1e9 / 100.0,
        );
        assert_close(
            run(one_socket(2), handover, &steps).bytes_per_second,
            1e9 / 200.0,
        );
    }

    #[test]
    fn waiters_that_poll_slow_the_owner_down() {
        let handover = Handover {
            local_line_ns: 10.0,
            polling_share: 0.5,
            ..FREE
        };
        let steps = [Step::Hold { lock: 0, ns: 100.0 }];
        // With 21 threads one holds, one is next and 19 go on waiting.
        assert_close(
            run(one_socket(21), handover, &steps).bytes_per_second,
            1e9 / (100.0 + 0.5 * 19.0 * 10.0),
        );
    }

    #[test]
    fn the_same_simulation_gives_the_same_outcome() {
        let steps = [Step::Work { ns: 300.0 }, Step::Hold { lock: 0, ns: 100.0 }];
        let outcome = || run(one_socket(7), FREE, &steps).bytes_per_second;
        assert_eq!(outcome().to_bits(), outcome().to_bits());
    }
}
