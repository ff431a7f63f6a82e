//! Arrays of distributions, whose element i depends on a name and on i alone. `lib.rs` keeps rustfmt away: with one line for
//! the parameters of a function, the file reads as a table.
//!
//! All functions have one contract. `name` is null or points to a structure; there `algorithm` is null or a string that
//! ends with a zero byte, and `path` is null or points to `depth` numbers. `out` is null or points to `count` numbers that the
//! caller may write, and nothing else uses them during the call.

#![allow(clippy::missing_safety_doc, reason = "the head of this file has the contract of all functions")]

use crate::error::{WS_NO_ALGORITHM, WS_NULL, WS_PARAMETER, WS_TOO_LONG, of};
use crate::memory::numbers;
use crate::stream::named;
use core::ffi::{c_char, c_int};
use core::ops::{Add, Mul};
use wellspring_pseudo::distributions::{
    Beta, Binomial, Cauchy, Distribution, Gamma, Geometric, LogNormal, Poisson, StudentT, TruncatedNormal, Weibull,
};
use wellspring_pseudo::{ElementError, Elements, Float};

/// Numbers that are made before they are scaled: they stay in the first cache.
const SCALED_AT_A_TIME: usize = 1024;

/// The name of arrays: an algorithm, a seed and a path, as of ws_stream_new.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_camel_case_types, reason = "its name in C")]
pub struct ws_elements {
    /// An algorithm that goes to any place at once.
    pub algorithm: *const c_char,
    /// The lower 64 bits of the seed.
    pub seed_low: u64,
    /// The upper 64 bits of the seed.
    pub seed_high: u64,
    /// The numbers of the path. Null with depth 0 is the root.
    pub path: *const u32,
    /// How many numbers the path has.
    pub depth: usize,
}

/// Writes uniform numbers from `low` up to `high`, which only rounding can give.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_uniform(
    name: *const ws_elements, first: u64, out: *mut f64, count: usize, low: f64, high: f64,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { scaled(name, first, out, count, Elements::uniform, (low, high - low), |x| x) }
}

/// Writes normal numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_normal(
    name: *const ws_elements, first: u64, out: *mut f64, count: usize, mean: f64, sigma: f64,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { scaled(name, first, out, count, Elements::standard_normal, (mean, sigma), |x| x) }
}

/// Writes exponential numbers, whose mean is `scale`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_exponential(
    name: *const ws_elements, first: u64, out: *mut f64, count: usize, scale: f64,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { scaled(name, first, out, count, Elements::standard_exponential, (0.0, scale), |x| x) }
}

/// Writes uniform floats from `low` up to `high`, which only rounding can give.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_uniform_f32(
    name: *const ws_elements, first: u64, out: *mut f32, count: usize, low: f64, high: f64,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { scaled(name, first, out, count, Elements::uniform, (low, high - low), |x| x as f32) }
}

/// Writes normal floats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_normal_f32(
    name: *const ws_elements, first: u64, out: *mut f32, count: usize, mean: f64, sigma: f64,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { scaled(name, first, out, count, Elements::standard_normal, (mean, sigma), |x| x as f32) }
}

/// Writes exponential floats, whose mean is `scale`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_exponential_f32(
    name: *const ws_elements, first: u64, out: *mut f32, count: usize, scale: f64,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { scaled(name, first, out, count, Elements::standard_exponential, (0.0, scale), |x| x as f32) }
}

/// Writes normal numbers between two bounds.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "two parameters and two bounds")]
pub unsafe extern "C" fn ws_elements_truncated_normal(
    name: *const ws_elements, first: u64, out: *mut f64, count: usize, mean: f64, sigma: f64, low: f64, high: f64,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { drawn(name, first, out, count, TruncatedNormal::new(mean, sigma, low, high)) }
}

/// Writes numbers whose logarithm is normal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_lognormal(
    name: *const ws_elements, first: u64, out: *mut f64, count: usize, mean: f64, sigma: f64,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { drawn(name, first, out, count, LogNormal::new(mean, sigma)) }
}

/// Writes gamma numbers, whose mean is `shape` times `scale`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_gamma(
    name: *const ws_elements, first: u64, out: *mut f64, count: usize, shape: f64, scale: f64,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { drawn(name, first, out, count, Gamma::new(shape, scale)) }
}

/// Writes chi-square numbers with `df` degrees of freedom.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_chisquare(
    name: *const ws_elements, first: u64, out: *mut f64, count: usize, df: f64,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { drawn(name, first, out, count, Gamma::chi_square(df)) }
}

/// Writes beta numbers, whose mean is `a` / (`a` + `b`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_beta(
    name: *const ws_elements, first: u64, out: *mut f64, count: usize, a: f64, b: f64,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { drawn(name, first, out, count, Beta::new(a, b)) }
}

/// Writes Student's t numbers with `df` degrees of freedom.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_student_t(
    name: *const ws_elements, first: u64, out: *mut f64, count: usize, df: f64,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { drawn(name, first, out, count, StudentT::new(df)) }
}

/// Writes Weibull numbers with the scale 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_weibull(
    name: *const ws_elements, first: u64, out: *mut f64, count: usize, shape: f64,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { drawn(name, first, out, count, Weibull::new(shape)) }
}

/// Writes Cauchy numbers around 0 with the scale 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_cauchy(
    name: *const ws_elements, first: u64, out: *mut f64, count: usize,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { drawn(name, first, out, count, Ok(Cauchy)) }
}

/// Writes how many of `n` trials succeed, each with the probability `p`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_binomial(
    name: *const ws_elements, first: u64, out: *mut i64, count: usize, n: i64, p: f64,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { drawn(name, first, out, count, Binomial::new(n, p)) }
}

/// Writes Poisson numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_poisson(
    name: *const ws_elements, first: u64, out: *mut i64, count: usize, mean: f64,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { drawn(name, first, out, count, Poisson::new(mean)) }
}

/// Writes the trials up to the first success, that one included.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_geometric(
    name: *const ws_elements, first: u64, out: *mut i64, count: usize, p: f64,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { drawn(name, first, out, count, Geometric::new(p)) }
}

/// Writes integers from `low` to `high`, both included, each equally likely.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_integers(
    name: *const ws_elements, first: u64, out: *mut i64, count: usize, low: i64, high: i64,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { fill(name, out, count, |elements, out| elements.integers(low..=high, first, out)) }
}

/// Writes the places `first` to `first` + `count` - 1 of a permutation of the numbers 0 to `length` - 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_permutation(
    name: *const ws_elements, first: u64, out: *mut u64, count: usize, length: u64,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { fill(name, out, count, |elements, out| elements.permutation(length).fill(first, out)) }
}

/// Gives the arrays of a name and the caller's numbers to `make`.
pub(crate) unsafe fn fill<T>(
    name: *const ws_elements, out: *mut T, count: usize,
    make: impl FnOnce(&Elements, &mut [T]) -> Result<(), ElementError>,
) -> c_int {
    let filled = || {
        // SAFETY: the same contract.
        let name = unsafe { name.as_ref() }.ok_or(WS_NULL)?;
        // SAFETY: the same contract.
        let (algorithm, seed, path) =
            unsafe { named(name.algorithm, name.seed_low, name.seed_high, name.path, name.depth) }?;
        // SAFETY: the same contract.
        let out = unsafe { numbers(out, count) }?;
        let elements = Elements::new(algorithm, seed, path).map_err(number)?;
        make(&elements, out).map_err(number)
    };
    of(filled())
}

/// Writes elements of a distribution.
unsafe fn drawn<D: Distribution>(
    name: *const ws_elements, first: u64, out: *mut D::Number, count: usize, distribution: Result<D, ElementError>,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { fill(name, out, count, |elements, out| elements.draw(&distribution?, first, out)) }
}

/// Writes `start` + `step` x, x being the numbers that `make` gives; `step` must not be negative. `round` gives the nearest
/// number of the type, which also computes the sum.
unsafe fn scaled<T: Float + Into<f64> + Add<Output = T> + Mul<Output = T>>(
    name: *const ws_elements, first: u64, out: *mut T, count: usize,
    make: impl Fn(&Elements, u64, &mut [T]) -> Result<(), ElementError>, (start, step): (f64, f64), round: fn(f64) -> T,
) -> c_int {
    let make = |elements: &Elements, out: &mut [T]| {
        let is_positive = step >= 0.0;
        let (start, step) = (round(start), round(step));
        if !(is_positive && start.into().is_finite() && step.into().is_finite()) {
            return Err(ElementError::Parameter("a parameter is not finite, or it is negative"));
        }
        // Nothing is written if the last index does not exist.
        let last = (out.len() as u64).saturating_sub(1);
        first.checked_add(last).ok_or(ElementError::PastTheEnd)?;
        for (place, chunk) in out.chunks_mut(SCALED_AT_A_TIME).enumerate() {
            make(elements, first + (place * SCALED_AT_A_TIME) as u64, chunk)?;
            for number in chunk {
                *number = start + step * *number;
            }
        }
        Ok(())
    };
    // SAFETY: the same contract.
    unsafe { fill(name, out, count, make) }
}

/// The number of an error.
fn number(error: ElementError) -> c_int {
    match error {
        ElementError::NotCounterBased => WS_NO_ALGORITHM,
        ElementError::PastTheEnd => WS_TOO_LONG,
        ElementError::EmptyRange | ElementError::Parameter(_) => WS_PARAMETER,
    }
}
