//! Larger machines: sockets and threads as a queue for locks, computed and not measured.
//!
//! ```text
//! costs      what reads consist of, measured on this machine
//! queue      the discrete-event simulation
//! modes      what a read is in each mode, as steps of it
//! published  two published tables beside the model, and what had to be assumed
//! report     tables, JSON and drawings
//! ```

pub(crate) mod costs;
pub(crate) mod modes;
pub(crate) mod published;
pub(crate) mod queue;
mod report;

pub(crate) use costs::Costs;

use modes::predict;
use published::{Comparison, comparisons};
use queue::Shape;
use wellspring::Mode;

/// Threads on a socket of the machines predicted.
pub(crate) const THREADS_PER_SOCKET: usize = 16;
/// The sizes predicted.
pub(crate) const SIZES: [usize; 3] = [32, 4096, 65_536];
/// The machines predicted: one socket filling up, then more of them.
pub(crate) const SHAPES: [Shape; 8] = [
    shape(1, 1),
    shape(1, 2),
    shape(1, 4),
    shape(1, 8),
    shape(1, THREADS_PER_SOCKET),
    shape(2, THREADS_PER_SOCKET),
    shape(4, THREADS_PER_SOCKET),
    shape(8, THREADS_PER_SOCKET),
];

const fn shape(sockets: usize, threads_per_socket: usize) -> Shape {
    Shape {
        sockets,
        threads_per_socket,
    }
}

/// The predicted throughput of a machine in a mode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prediction {
    /// The mode.
    pub(crate) mode: Mode,
    /// The bytes of one read.
    pub(crate) bytes: usize,
    /// The machine.
    pub(crate) shape: Shape,
    /// All threads together.
    pub(crate) bytes_per_second: f64,
    /// Over one thread alone.
    pub(crate) speedup: f64,
    /// The share of the threads' time that goes into waiting for the lock.
    pub(crate) waiting_share: f64,
}

/// The results of the model.
#[derive(Clone, Debug)]
pub(crate) struct ModelReport {
    /// The measured costs that the model starts from.
    pub(crate) costs: Costs,
    /// Published measurements beside the model's results: they show how far it can be trusted.
    pub(crate) comparisons: Vec<Comparison>,
    /// The predictions.
    pub(crate) predictions: Vec<Prediction>,
}

/// Compares the model with the publications, and predicts every mode at every shape and size.
#[must_use]
pub(crate) fn run(costs: &Costs) -> ModelReport {
    let mut predictions = Vec::new();
    for bytes in SIZES {
        for mode in Mode::ALL {
            let alone = predict(costs, SHAPES[0], mode, bytes).bytes_per_second;
            predictions.extend(SHAPES.map(|shape| {
                let outcome = predict(costs, shape, mode, bytes);
                Prediction {
                    mode,
                    bytes,
                    shape,
                    bytes_per_second: outcome.bytes_per_second,
                    speedup: outcome.bytes_per_second / alone,
                    waiting_share: outcome.waiting_share,
                }
            }));
        }
    }
    ModelReport {
        costs: costs.clone(),
        comparisons: comparisons(),
        predictions,
    }
}

#[cfg(test)]
mod tests {
    use super::costs::COSTS;
    use super::*;

    #[test]
    fn a_model_is_reported_in_every_form_and_says_that_it_is_one() {
        let report = run(&COSTS);
        assert_eq!(
            report.predictions.len(),
            SIZES.len() * Mode::ALL.len() * SHAPES.len()
        );
        let table: String = report.tables().iter().map(|table| table.text()).collect();
        for part in [
            "per-thread",
            "8 x 16",
            "Linux 2015",
            "FreeBSD 2019",
            "assumed",
        ] {
            assert!(table.contains(part), "{part}");
        }
        let section = report.section();
        assert_eq!(section.origin, wellspring_bench::page::Origin::Modelled);
        assert_eq!(section.drawings.len(), 1 + SIZES.len());
        assert_eq!(
            report.json()["predictions"].as_array().unwrap().len(),
            report.predictions.len()
        );
    }
}
