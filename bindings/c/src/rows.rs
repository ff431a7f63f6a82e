//! Elements that are rows of numbers, elements whose parameters are vectors, points of sequences, and shuffles.
//!
//! All functions have the contract of `elements.rs`, but `out` has room for `count` rows. A vector is null or points to as
//! many numbers as the parameter behind it says, and nothing writes them during the call.

#![allow(clippy::missing_safety_doc, reason = "the head of this file has the contract of all functions")]

use crate::elements::{fill, ws_elements};
use crate::error::WS_TOO_LONG;
use crate::memory::vector;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use wellspring_pseudo::distributions::{
    Choice, Dirichlet, Distribution, Multinomial, MultivariateNormal, Sphere, Subsets,
};
use wellspring_pseudo::{ElementError, Elements};

/// Writes numbers from 0 to `n` - 1, each in proportion to its weight.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_choice(
    name: *const ws_elements, first: u64, out: *mut i64, count: usize, weights: *const f64, n: usize,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { drawn(name, first, out, count, 1, vector(weights, n).map(Choice::new)) }
}

/// Writes rows of `k` of the numbers 0 to `n` - 1, in random order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_subsets(
    name: *const ws_elements, first: u64, out: *mut i64, count: usize, n: u64, k: usize,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { drawn(name, first, out, count, k, Ok(Subsets::new(n, k))) }
}

/// Writes rows of `k` numbers from 0 to 1 whose sum is 1: number j is on average `alpha[j]` of the sum.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_dirichlet(
    name: *const ws_elements, first: u64, out: *mut f64, count: usize, alpha: *const f64, k: usize,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { drawn(name, first, out, count, k, vector(alpha, k).map(Dirichlet::new)) }
}

/// Writes rows of `k` counts: how often each result comes in `n` trials, result j having the probability `p[j]`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_multinomial(
    name: *const ws_elements, first: u64, out: *mut i64, count: usize, n: i64, p: *const f64, k: usize,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { drawn(name, first, out, count, k, vector(p, k).map(|p| Multinomial::new(n, p))) }
}

/// Writes rows of `k` normal numbers with this mean and with this covariance, which has `k` rows of `k` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_multivariate_normal(
    name: *const ws_elements, first: u64, out: *mut f64, count: usize, mean: *const f64, covariance: *const f64, k: usize,
) -> c_int {
    let distribution = || {
        let square = k.checked_mul(k).ok_or(WS_TOO_LONG)?;
        // SAFETY: the same contract.
        let (mean, covariance) = unsafe { (vector(mean, k)?, vector(covariance, square)?) };
        Ok(MultivariateNormal::new(mean, covariance))
    };
    // SAFETY: the same contract.
    unsafe { drawn(name, first, out, count, k, distribution()) }
}

/// Writes points on the sphere with the radius 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_sphere(
    name: *const ws_elements, first: u64, out: *mut f64, count: usize, dimensions: usize,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { drawn(name, first, out, count, dimensions, Ok(Sphere::new(dimensions))) }
}

/// Writes points of Sobol's sequence, scrambled by the name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_sobol(
    name: *const ws_elements, first: u64, out: *mut f64, count: usize, dimensions: usize,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { rows(name, out, count, dimensions, |elements, out| elements.sobol(dimensions)?.fill(first, out)) }
}

/// Writes points of Halton's sequence, scrambled by the name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_halton(
    name: *const ws_elements, first: u64, out: *mut f64, count: usize, dimensions: usize,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { rows(name, out, count, dimensions, |elements, out| elements.halton(dimensions)?.fill(first, out)) }
}

/// Brings `count` items of `size` bytes each into a random order. The caller may write `items`, as `out` elsewhere.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_shuffle(
    name: *const ws_elements, items: *mut c_void, count: usize, size: usize,
) -> c_int {
    let shuffle = |elements: &Elements, bytes: &mut [MaybeUninit<u8>]| {
        if size == 0 {
            return Err(ElementError::Parameter("an item has no bytes"));
        }
        elements.shuffle_with(count, |i, j| {
            if j < i {
                let (before, item) = bytes.split_at_mut(i * size);
                before[j * size..][..size].swap_with_slice(&mut item[..size]);
            }
        });
        Ok(())
    };
    // An item may have bytes between its fields that were never written.
    // SAFETY: the same contract.
    unsafe { rows(name, items.cast::<MaybeUninit<u8>>(), count, size, shuffle) }
}

/// Writes rows of a distribution. The outer error is that of a vector.
unsafe fn drawn<D: Distribution>(
    name: *const ws_elements, first: u64, out: *mut D::Number, count: usize, width: usize,
    distribution: Result<Result<D, ElementError>, c_int>,
) -> c_int {
    match distribution {
        // SAFETY: the same contract.
        Ok(made) => unsafe { rows(name, out, count, width, |elements, out| elements.draw(&made?, first, out)) },
        Err(error) => error,
    }
}

/// Gives the arrays of a name and the caller's `count` rows of `width` numbers to `make`.
unsafe fn rows<T>(
    name: *const ws_elements, out: *mut T, count: usize, width: usize,
    make: impl FnOnce(&Elements, &mut [T]) -> Result<(), ElementError>,
) -> c_int {
    match count.checked_mul(width) {
        // SAFETY: the same contract.
        Some(length) => unsafe { fill(name, out, length, make) },
        None => WS_TOO_LONG,
    }
}
