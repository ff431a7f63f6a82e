//! A read in each mode, as steps of the queue.

use super::costs::Costs;
use super::queue::{Cycle, Outcome, Shape, Step, simulate};
use wellspring::Mode;

/// The bytes that a canonical read makes under one hold of the lock.
const CHUNK_BYTES: usize = 4096;
/// How often a reseed sends every tap to its node: Fortuna's limit, which is the worst case.
const RESEED_INTERVAL_NS: f64 = 100e6;
/// Keys that a tap fetches at a time, one for each nesting depth, and the key that the node takes itself.
const TAP_KEYS: f64 = 4.0;

/// The threads of a machine, all reading `bytes` at a time in one mode.
#[must_use]
pub(crate) fn predict(costs: &Costs, shape: Shape, mode: Mode, bytes: usize) -> Outcome {
    let cycles: Vec<Cycle> = (0..shape.threads())
        .map(|thread| cycle(costs, mode, bytes, shape.socket_of(thread)))
        .collect();
    simulate(shape, costs.handover(), shape.sockets, &cycles)
}

fn cycle(costs: &Costs, mode: Mode, bytes: usize, socket: usize) -> Cycle {
    let generation_ns = |bytes: usize| costs.generation_ns_per_byte * bytes as f64;
    let around = Step::Work {
        ns: costs.around_lock_ns,
    };
    let claimed = |lock| {
        let make = Step::Work {
            ns: costs.key_ns + generation_ns(bytes),
        };
        let claim = Step::Hold {
            lock,
            ns: costs.key_ns,
        };
        vec![around, claim, make]
    };
    let steps = match mode {
        Mode::Canonical => {
            let chunk = |start: usize| Step::Hold {
                lock: 0,
                ns: costs.key_ns + generation_ns(CHUNK_BYTES.min(bytes - start)),
            };
            let chunks = (0..bytes).step_by(CHUNK_BYTES);
            chunks.flat_map(|start| [around, chunk(start)]).collect()
        }
        Mode::Concurrent => claimed(0),
        Mode::PerNode => claimed(socket),
        Mode::PerThread => return tap(costs, bytes, socket),
    };
    Cycle {
        steps,
        bytes: bytes as f64,
    }
}

/// A tap needs no lock from one generation to the next: its cycle is a whole interval.
fn tap(costs: &Costs, bytes: usize, socket: usize) -> Cycle {
    let read_ns = match bytes {
        ..=64 => costs.tap_read_ns * bytes as f64 / 32.0,
        _ => costs.key_ns + costs.generation_ns_per_byte * bytes as f64,
    };
    let fetch = Step::Hold {
        lock: socket,
        ns: costs.key_ns + TAP_KEYS * 32.0 * costs.generation_ns_per_byte,
    };
    let around = Step::Work {
        ns: costs.around_lock_ns,
    };
    let read = Step::Work {
        ns: RESEED_INTERVAL_NS,
    };
    Cycle {
        steps: vec![fetch, around, read],
        bytes: RESEED_INTERVAL_NS / read_ns * bytes as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::super::costs::COSTS;
    use super::*;

    fn speedup(mode: Mode, bytes: usize, sockets: usize, threads_per_socket: usize) -> f64 {
        let at = |sockets, threads_per_socket| {
            let shape = Shape {
                sockets,
                threads_per_socket,
            };
            predict(&COSTS, shape, mode, bytes).bytes_per_second
        };
        at(sockets, threads_per_socket) / at(1, 1)
    }

    #[test]
    fn a_tap_scales_to_eight_sockets_and_a_global_lock_does_not() {
        assert!(speedup(Mode::PerThread, 32, 8, 16) > 127.0);
        assert!(speedup(Mode::Canonical, 32, 8, 16) < 2.0);
        assert!(speedup(Mode::Concurrent, 32, 8, 16) < 2.0);
    }

    #[test]
    fn four_nodes_on_four_sockets_scale_like_four_machines() {
        let one = speedup(Mode::PerNode, 32, 1, 16);
        let four = speedup(Mode::PerNode, 32, 4, 16);
        assert!((four / one - 4.0).abs() < 0.1, "{}", four / one);
    }

    #[test]
    fn generation_outside_the_lock_pays_for_long_reads() {
        let canonical = speedup(Mode::Canonical, 65_536, 1, 8);
        let concurrent = speedup(Mode::Concurrent, 65_536, 1, 8);
        assert!(canonical < 1.5, "{canonical}");
        assert!(concurrent > 6.0, "{concurrent}");
    }
}
