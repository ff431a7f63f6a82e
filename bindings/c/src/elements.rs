//! Arrays of distributions, whose element i depends on a name and on i alone. `lib.rs` keeps rustfmt away: with one line for
//! the parameters of a function, the file reads as a table.
//!
//! All functions have one contract. `name` is null or points to a structure; there `algorithm` is null or a string that
//! ends with a zero byte, and `path` is null or points to `depth` numbers. `out` is null or points to `count` numbers that the
//! caller may write, and nothing else uses them during the call.

#![allow(clippy::missing_safety_doc, reason = "the head of this file has the contract of all functions")]

use crate::edge::{WS_NO_ALGORITHM, WS_NULL, WS_PARAMETER, WS_TOO_LONG, numbers, of, vector};
use crate::stream::named;
use core::ffi::{c_char, c_int, c_void};
use core::mem::MaybeUninit;
use wellspring_pseudo::distributions::{
    Beta, Binomial, Cauchy, Choice, Dirichlet, Distribution, Gamma, Geometric, LogNormal, Multinomial, MultivariateNormal,
    Poisson, Scaled, Sphere, StudentT, Subsets, TruncatedNormal, Weibull,
};
use wellspring_pseudo::{ElementError, Elements};

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
    unsafe { drawn(name, first, out, count, Scaled::uniform(low, high)) }
}

/// Writes normal numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_normal(
    name: *const ws_elements, first: u64, out: *mut f64, count: usize, mean: f64, sigma: f64,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { drawn(name, first, out, count, Scaled::normal(mean, sigma)) }
}

/// Writes exponential numbers, whose mean is `scale`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_exponential(
    name: *const ws_elements, first: u64, out: *mut f64, count: usize, scale: f64,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { drawn(name, first, out, count, Scaled::exponential(scale)) }
}

/// Writes uniform floats from `low` up to `high`, which only rounding can give.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_uniform_f32(
    name: *const ws_elements, first: u64, out: *mut f32, count: usize, low: f64, high: f64,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { drawn(name, first, out, count, Scaled::uniform(low, high)) }
}

/// Writes normal floats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_normal_f32(
    name: *const ws_elements, first: u64, out: *mut f32, count: usize, mean: f64, sigma: f64,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { drawn(name, first, out, count, Scaled::normal(mean, sigma)) }
}

/// Writes exponential floats, whose mean is `scale`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_exponential_f32(
    name: *const ws_elements, first: u64, out: *mut f32, count: usize, scale: f64,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { drawn(name, first, out, count, Scaled::exponential(scale)) }
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

/// Writes the trials up to the first success, including it.
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

// Elements that are rows of numbers, or that vectors describe; points of sequences; shuffles. `out` has room for `count` rows.
// A vector is null or points to as many numbers as the parameter behind it says, and nothing writes them during the call.

/// Writes numbers from 0 to `n` - 1, each in proportion to its weight.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_choice(
    name: *const ws_elements, first: u64, out: *mut i64, count: usize, weights: *const f64, n: usize,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { drawn_rows(name, first, out, count, 1, vector(weights, n).map(Choice::new)) }
}

/// Writes rows of `k` of the numbers 0 to `n` - 1, in random order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_subsets(
    name: *const ws_elements, first: u64, out: *mut i64, count: usize, n: u64, k: usize,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { drawn_rows(name, first, out, count, k, Ok(Subsets::new(n, k))) }
}

/// Writes rows of `k` numbers from 0 to 1 whose sum is 1: number j is on average `alpha[j]` of the sum.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_dirichlet(
    name: *const ws_elements, first: u64, out: *mut f64, count: usize, alpha: *const f64, k: usize,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { drawn_rows(name, first, out, count, k, vector(alpha, k).map(Dirichlet::new)) }
}

/// Writes rows of `k` counts: how often each result comes in `n` trials, result j having the probability `p[j]`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_multinomial(
    name: *const ws_elements, first: u64, out: *mut i64, count: usize, n: i64, p: *const f64, k: usize,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { drawn_rows(name, first, out, count, k, vector(p, k).map(|p| Multinomial::new(n, p))) }
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
    unsafe { drawn_rows(name, first, out, count, k, distribution()) }
}

/// Writes points on the sphere with the radius 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_elements_sphere(
    name: *const ws_elements, first: u64, out: *mut f64, count: usize, dimensions: usize,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { drawn_rows(name, first, out, count, dimensions, Ok(Sphere::new(dimensions))) }
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

/// Gives the arrays of a name and the caller's numbers to `make`.
unsafe fn fill<T>(
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

/// Writes rows of a distribution. The outer error is about a vector of the caller.
unsafe fn drawn_rows<D: Distribution>(
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

/// The number of an error.
fn number(error: ElementError) -> c_int {
    match error {
        ElementError::NotCounterBased => WS_NO_ALGORITHM,
        ElementError::PastTheEnd => WS_TOO_LONG,
        ElementError::EmptyRange | ElementError::Parameter(_) => WS_PARAMETER,
    }
}
