//! The costs that the model computes with, measured on this machine.

use super::queue::Handover;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use wellspring::{Backend, Engine, Mode};
use wellspring_bench::contender::{Contender, Family, Subject, Work};
use wellspring_bench::statistics::quantile;
use wellspring_bench::subjects::{self, CACHED_BYTES};
use wellspring_bench::throughput::{self, Case, Pace};
use wellspring_cipher::Keystream;

/// Lines that move with a node's lock: its word, the key and counter, the mailbox's head.
pub(crate) const LINES: f64 = 3.0;
/// If the cost of a line between sockets is not measured: this factor times the cost within a socket.
pub(crate) const REMOTE_FACTOR: f64 = 2.4;
/// The assumed cost of a line between two CPUs, on a machine with one CPU, where it cannot be measured.
const ASSUMED_LINE_NS: f64 = 50.0;

/// The costs of the parts of a read, in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    /// The engine's backend, of which these are the costs.
    pub(crate) backend: &'static str,
    /// A byte of keystream, in a long read.
    pub(crate) generation_ns_per_byte: f64,
    /// Setting up a key and making the next one: what a claim does under the lock, and what making the
    /// output begins with.
    pub(crate) key_ns: f64,
    /// The other costs of a locked read: signals, clock, the lock when no other thread wants it.
    pub(crate) around_lock_ns: f64,
    /// A 32-byte read from a tap, refills included.
    pub(crate) tap_read_ns: f64,
    /// A cache line between two cores of this machine.
    pub(crate) local_line_ns: f64,
    /// Whether that was measured.
    pub(crate) is_line_measured: bool,
}

impl Costs {
    /// Takes about two seconds.
    #[must_use]
    pub(crate) fn measure() -> Self {
        let backend = Engine::process().backend();
        let key = [Work::Fill(32)];
        let contenders = [
            Contender::new(
                "bulk",
                Family::Backend,
                &[Work::Fill(CACHED_BYTES)],
                move || Stream(Keystream::new(backend, &[7; 32], 0)),
            ),
            Contender::new("key", Family::Backend, &key, move || Keyed(backend)),
            subjects::mode(Mode::Concurrent, &key),
            subjects::mode(Mode::PerThread, &key),
        ];
        let case = |contender| Case {
            contender,
            work: contender.works[0],
            threads: 1,
        };
        let pace = Pace {
            rounds: 15,
            slice: Duration::from_millis(15),
        };
        let measured = throughput::run(
            &contenders.iter().map(case).collect::<Vec<_>>(),
            pace,
            &mut (),
        );
        let [bulk_ns, key_ns, locked_ns, tap_read_ns] =
            [0, 1, 2, 3].map(|place| measured[place].ns_per_request());
        let line_ns = line_ns();
        Self {
            backend: backend.name(),
            generation_ns_per_byte: bulk_ns / CACHED_BYTES as f64,
            key_ns,
            around_lock_ns: (locked_ns - 2.0 * key_ns).max(0.0),
            tap_read_ns,
            local_line_ns: line_ns.unwrap_or(ASSUMED_LINE_NS),
            is_line_measured: line_ns.is_some(),
        }
    }

    /// The handover of a node's lock. Its waiters poll one word; that they sleep after a while is not part of
    /// the model.
    #[must_use]
    pub(crate) fn handover(&self) -> Handover {
        Handover {
            local_line_ns: self.local_line_ns,
            remote_line_ns: self.local_line_ns * REMOTE_FACTOR,
            lines: LINES,
            polling_share: 0.5,
            wake_ns: 0.0,
        }
    }
}

struct Stream(Keystream);

impl Subject for Stream {
    fn fill(&mut self, destination: &mut [u8]) {
        self.0.fill(destination);
    }
}

struct Keyed(Backend);

impl Subject for Keyed {
    fn fill(&mut self, destination: &mut [u8]) {
        Keystream::new(self.0, black_box(&[7; 32]), 0).fill(destination);
    }
}

/// A cache line between two cores: two threads answer each other through one word. `None` with one CPU.
fn line_ns() -> Option<f64> {
    const ROUND_TRIPS: u64 = 500;
    const BATCHES: usize = 40;
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return None;
    }
    let ball = Ball(AtomicU64::new(0));
    let last = 2 * ROUND_TRIPS * BATCHES as u64;
    let samples: Vec<f64> = std::thread::scope(|scope| {
        scope.spawn(|| (0..last / 2).for_each(|turn| ball.answer(2 * turn + 1)));
        let batch = |batch: u64| {
            let start = Instant::now();
            (0..ROUND_TRIPS).for_each(|turn| ball.answer(2 * (batch * ROUND_TRIPS + turn)));
            start.elapsed().as_nanos() as f64 / (2 * ROUND_TRIPS) as f64
        };
        (0..BATCHES as u64).map(batch).collect()
    });
    // Both threads ran undisturbed in the fast batches; in the others one thread waited for a CPU.
    quantile(&samples, 0.1)
}

/// A word that shares its cache lines with no other data.
#[repr(align(128))]
struct Ball(AtomicU64);

impl Ball {
    /// Waits for `turn` and makes it the next.
    fn answer(&self, turn: u64) {
        let mut looks = 0;
        while self.0.load(Ordering::Acquire) != turn {
            looks += 1;
            if looks % 10_000 == 0 {
                // The other thread may wait for this CPU.
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
        self.0.store(turn + 1, Ordering::Release);
    }
}

#[cfg(test)]
/// Round figures of no machine in particular.
pub(crate) const COSTS: Costs = Costs {
    backend: "aes256-vaes512",
    generation_ns_per_byte: 0.1,
    key_ns: 50.0,
    around_lock_ns: 400.0,
    tap_read_ns: 10.0,
    local_line_ns: 50.0,
    is_line_measured: true,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cost_is_a_time() {
        let costs = Costs::measure();
        for ns in [
            costs.generation_ns_per_byte,
            costs.key_ns,
            costs.tap_read_ns,
            costs.local_line_ns,
        ] {
            assert!(ns > 0.0 && ns.is_finite(), "{costs:?}");
        }
        assert!(costs.around_lock_ns >= 0.0);
    }
}
