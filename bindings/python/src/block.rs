//! Which elements of an array a call makes, cut into pieces for threads.

use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use wellspring_pseudo::ElementError;
use wellspring_pseudo::distributions::table::RANGE_IS_INFINITE;

/// The bytes of a piece: to make them takes about as long as to start a thread. They fit into the second cache.
const PIECE_BYTES: usize = 256 << 10;

/// The first index and the outer dimensions of a block: see [`Block`].
pub(crate) type Start = (u64, Vec<(usize, u64)>);

/// The elements of a block of an array, in the order in which they lie in memory: runs of consecutive indices.
pub(crate) struct Block {
    first: u64,
    /// The length of a run.
    run: usize,
    /// The outer dimensions: how many, and how far the index goes on from one to the next.
    outer: Vec<(usize, u64)>,
}

impl Block {
    /// A block of `length` elements. All but the innermost dimensions are in `outer`.
    ///
    /// # Errors
    ///
    /// `ValueError` if the last index is 2^64 or above, or the dimensions do not fit `length`.
    pub(crate) fn new((first, outer): (u64, Vec<(usize, u64)>), length: usize) -> PyResult<Self> {
        let runs = outer
            .iter()
            .try_fold(1usize, |product, (count, _)| product.checked_mul(*count));
        let run = match runs {
            Some(0) | None => 0,
            Some(runs) => length / runs,
        };
        if runs.and_then(|runs| runs.checked_mul(run)) != Some(length) {
            return Err(PyValueError::new_err("out does not have the block's shape"));
        }
        let last_of_each = outer
            .iter()
            .map(|(count, step)| (count.saturating_sub(1)) as u128 * u128::from(*step));
        let last = last_of_each.fold(u128::from(first), u128::saturating_add);
        let last = last.saturating_add(run.saturating_sub(1) as u128);
        if length > 0 && last > u128::from(u64::MAX) {
            return Err(past_the_end());
        }
        Ok(Self { first, run, outer })
    }

    /// The index of the first element of run `run`.
    fn start_of(&self, run: usize) -> u64 {
        let mut rest = run;
        let mut index = self.first;
        for (count, step) in self.outer.iter().rev() {
            index += (rest % count) as u64 * step;
            rest /= count;
        }
        index
    }

    /// Fills `out`, which has the length of this block, on `threads` threads. `fill` gets the place in `out` and the index of
    /// the first element of each piece.
    pub(crate) fn fill<T: Send>(
        &self,
        out: &mut [T],
        threads: usize,
        fill: impl Fn(usize, u64, &mut [T]) + Sync,
    ) {
        fill_in_pieces(out, 1, threads, &|start, piece: &mut [T]| {
            let mut rest = piece;
            let mut position = start;
            while !rest.is_empty() {
                let (run, skipped) = (position / self.run, position % self.run);
                let count = rest.len().min(self.run - skipped);
                let (now, after) = rest.split_at_mut(count);
                fill(position, self.start_of(run) + skipped as u64, now);
                position += count;
                rest = after;
            }
        });
    }
}

/// As many threads as the process has processors.
pub(crate) const ALL: usize = 0;

/// Whether the process is prepared for a sandbox, which may forbid to start a thread.
static IS_ALONE: AtomicBool = AtomicBool::new(false);

/// From now on no thread is started.
pub(crate) fn stay_on_one_thread() {
    IS_ALONE.store(true, Relaxed);
}

/// Cuts `out` into pieces of whole rows, which `threads` threads fill. `fill` gets the number of a piece's first
/// element.
///
/// A machine that has no thread left fills them on fewer.
pub(crate) fn fill_in_pieces<T: Send>(
    out: &mut [T],
    row: usize,
    threads: usize,
    fill: &(impl Fn(usize, &mut [T]) + Sync),
) {
    let length = (PIECE_BYTES / size_of::<T>()).next_multiple_of(row);
    if threads == 1 || out.len() < 2 * length || IS_ALONE.load(Relaxed) {
        return fill(0, out);
    }
    let threads = if threads == ALL {
        // To ask takes some 10 microseconds: it reads files of the control group.
        thread::available_parallelism().map_or(1, usize::from)
    } else {
        threads
    };
    let helpers = (out.len() / length).min(threads) - 1;
    let pieces = Mutex::new(out.chunks_mut(length).enumerate());
    let next = || pieces.lock().ok()?.next();
    let work = || {
        while let Some((number, piece)) = next() {
            fill(number * length, piece);
        }
    };
    thread::scope(|scope| {
        let start = |_| {
            let thread = thread::Builder::new().name("wellspring-array".into());
            thread.spawn_scoped(scope, work).ok()
        };
        let started: Vec<_> = (0..helpers).map_while(start).collect();
        work();
        // The scope waits for the work alone. A thread that is still ending is a thread to fork and unshare.
        for thread in started {
            if let Err(panic) = thread.join() {
                resume_unwind(panic);
            }
        }
    });
}

/// The one fault of indices.
fn past_the_end() -> PyErr {
    PyValueError::new_err(format!("first: {}", ElementError::PastTheEnd))
}

/// What Python raises where a distribution refuses its parameters.
pub(crate) fn refused(error: ElementError) -> PyErr {
    match error {
        ElementError::Parameter(RANGE_IS_INFINITE) => PyOverflowError::new_err(RANGE_IS_INFINITE),
        _ => PyValueError::new_err(error.to_string()),
    }
}
