//! Logarithms, exponentials and probabilities of counts, from additions, subtractions, multiplications, divisions and
//! square roots in a fixed order, so that every machine computes the same bits.
//!
//! They serve every element of a distribution, at the width of registers that they are compiled for. The functions of `math`
//! are slower, and made the tables of the ziggurat: both stay as they are, since another last bit would give another array.

use super::math::{LN_2_HIGH, LN_2_LOW, power_of_two};

const MANTISSA: u64 = (1 << 52) - 1;
const SQRT_2_OVER_2: u64 = core::f64::consts::FRAC_1_SQRT_2.to_bits();

/// ln(2 pi) / 2.
const HALF_LN_2_PI: f64 = 0.918_938_533_204_672_8;

/// The square root, rounded to nearest.
#[cfg(feature = "std")]
#[inline(always)]
pub(super) fn sqrt(x: f64) -> f64 {
    x.sqrt()
}

/// The same of a normal number or of zero, where the standard library is missing: from the root of an integer.
#[cfg(any(not(feature = "std"), test))]
pub(super) fn sqrt_of_integer(x: f64) -> f64 {
    if x == 0.0 {
        return x;
    }
    // x = m 2^e with m of 53 bits. The root of m 2^s, of 2^108 or above, has 55 bits, 2 more than are kept, if e - s is even.
    let exponent = (x.to_bits() >> 52) as i64 - 1075;
    let shift = 56 + (exponent & 1);
    let square = u128::from(x.to_bits() & MANTISSA | 1 << 52) << shift;
    let root = square.isqrt();
    // The lowest bit tells the rounding that digits follow.
    let root = root as u64 | u64::from(root * root != square);
    root as f64 * power_of_two((exponent - shift) / 2)
}

#[cfg(not(feature = "std"))]
pub(super) use sqrt_of_integer as sqrt;

/// The natural logarithm of a normal number `x` > 0, to within 2.1 units in the last place.
#[inline(always)]
pub(super) fn ln(x: f64) -> f64 {
    // x = 2^n m with m from sqrt(1/2) to sqrt(2).
    let above = x.to_bits().wrapping_sub(SQRT_2_OVER_2);
    let exponent = ((above as i64) >> 52) as f64;
    let m = f64::from_bits((above & MANTISSA) + SQRT_2_OVER_2);
    // ln m = 2 (s + s^3 / 3 + s^5 / 5 ...) with s between -0.172 and 0.172.
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let (z2, z4) = (z * z, (z * z) * (z * z));
    let low = (1.0 / 3.0 + z * (1.0 / 5.0)) + z2 * (1.0 / 7.0 + z * (1.0 / 9.0));
    let middle = (1.0 / 11.0 + z * (1.0 / 13.0)) + z2 * (1.0 / 15.0 + z * (1.0 / 17.0));
    let high = 1.0 / 19.0 + z * (1.0 / 21.0);
    let series = z * (low + z4 * (middle + z4 * high));
    exponent * LN_2_HIGH + (exponent * LN_2_LOW + (2.0 * s + 2.0 * s * series))
}

/// ln(1 + `x`) for `x` > -1 (W. Kahan), to within 4 units in the last place.
#[inline(always)]
pub(super) fn ln_1p(x: f64) -> f64 {
    let sum = 1.0 + x;
    if sum == 1.0 {
        return x;
    }
    ln(sum) * (x / (sum - 1.0))
}

/// e^`x`, to within 2 units in the last place; infinite or 0 where that is the nearest number.
#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    let (exponent, above_1) = exp_parts(x);
    scaled(1.0 + above_1, exponent)
}

/// e^`x` - 1, to within 8 units in the last place.
#[inline(always)]
pub(super) fn exp_m1(x: f64) -> f64 {
    let (exponent, above_1) = exp_parts(x);
    if exponent == 0 {
        above_1
    } else {
        scaled(1.0 + above_1, exponent) - 1.0
    }
}

/// e^`x` as 2^n (1 + y): n, and y between -0.3 and 0.42.
#[inline(always)]
fn exp_parts(x: f64) -> (i64, f64) {
    // Floats of this size are integers: the lowest bits of `rounded` are n.
    const TO_INTEGER: f64 = 6_755_399_441_055_744.0;
    let x = x.clamp(-746.0, 710.0);
    let rounded = x * core::f64::consts::LOG2_E + TO_INTEGER;
    let n = rounded - TO_INTEGER;
    let exponent = rounded.to_bits().wrapping_sub(TO_INTEGER.to_bits()) as i64;
    let r = (x - n * LN_2_HIGH) - n * LN_2_LOW;
    // The Taylor series up to r^13 / 13!.
    let (r2, r4) = (r * r, (r * r) * (r * r));
    let low = r2 * (1.0 / 2.0 + r * (1.0 / 6.0));
    let middle = (1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5040.0));
    let high = (1.0 / 40_320.0 + r * (1.0 / 362_880.0))
        + r2 * (1.0 / 3_628_800.0 + r * (1.0 / 39_916_800.0));
    let top = 1.0 / 479_001_600.0 + r * (1.0 / 6_227_020_800.0);
    (exponent, r + (low + r4 * (middle + r4 * (high + r4 * top))))
}

/// `number` 2^`exponent`, in two factors: the exponent reaches from -1077 to 1024.
#[inline(always)]
fn scaled(number: f64, exponent: i64) -> f64 {
    let half = exponent >> 1;
    number * power_of_two(half) * power_of_two(exponent - half)
}

/// The angle from 0 to pi / 2 whose tangent is `x` >= 0, to within 2 units in the last place (the C library of FreeBSD).
#[inline(always)]
pub(super) fn atan(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 11] = [
        3.333_333_333_333_293e-1,
        -1.999_999_999_987_648_3e-1,
        1.428_571_427_250_346_6e-1,
        -1.111_111_040_546_235_6e-1,
        9.090_887_133_436_507e-2,
        -7.691_876_205_044_83e-2,
        6.661_073_137_387_531e-2,
        -5.833_570_133_790_573_5e-2,
        4.976_877_994_615_932e-2,
        -3.653_157_274_421_691_6e-2,
        1.628_582_011_536_578_2e-2,
    ];
    // The angle of a point nearby, and the tangent of the angle between the two: one division for all, without a branch.
    let (near, above, below) = if x < 0.4375 {
        (0.0, x, 1.0)
    } else if x < 0.6875 {
        (0.463_647_609_000_806_1, 2.0 * x - 1.0, 2.0 + x)
    } else if x < 1.1875 {
        (core::f64::consts::FRAC_PI_4, x - 1.0, x + 1.0)
    } else if x < 2.4375 {
        (0.982_793_723_247_329, x - 1.5, 1.0 + 1.5 * x)
    } else {
        (core::f64::consts::FRAC_PI_2, -1.0, x)
    };
    let t = above / below;
    let z = t * t;
    let series = COEFFICIENTS.iter().rev().fold(0.0, |sum, c| c + z * sum);
    near + (t - t * (z * series))
}

/// ln k! - ((k + 1/2) ln k - k + ln(2 pi) / 2) for an integer `k` >= 1: the error of Stirling's formula.
fn stirling_error(k: f64) -> f64 {
    const UP_TO_15: [f64; 16] = [
        0.0,
        0.081_061_466_795_327_26,
        0.041_340_695_955_409_3,
        0.027_677_925_684_998_34,
        0.020_790_672_103_765_093,
        0.016_644_691_189_821_193,
        0.013_876_128_823_070_748,
        0.011_896_709_945_891_77,
        0.010_411_265_261_972_096,
        0.009_255_462_182_712_733,
        0.008_330_563_433_362_87,
        0.007_573_675_487_951_841,
        0.006_942_840_107_209_53,
        0.006_408_994_188_004_207,
        0.005_951_370_112_758_847_5,
        0.005_554_733_551_962_801,
    ];
    if k <= 15.0 {
        return UP_TO_15[k as usize];
    }
    let square = k * k;
    let bracket = 1.0 / 1260.0 - 1.0 / 1680.0 / square;
    (1.0 / 12.0 - (1.0 / 360.0 - bracket / square) / square) / k
}

/// x ln(x / mean) - x + mean for `x` > 0 and `mean` > 0.
fn deviance(x: f64, mean: f64) -> f64 {
    let d = (x - mean) / mean;
    mean * ((1.0 + d) * ln_1p(d) - d)
}

/// The logarithm of the probability of `k` for the Poisson distribution with this mean (C. Loader, "Fast and accurate
/// computation of binomial probabilities", 2000).
pub(super) fn ln_poisson(k: f64, mean: f64) -> f64 {
    if k == 0.0 {
        return -mean;
    }
    -stirling_error(k) - deviance(k, mean) - HALF_LN_2_PI - 0.5 * ln(k)
}

/// The logarithm of the probability of `k` out of `n` for the binomial distribution with 0 < `p` < 1 and q = 1 - p; without
/// the terms that n alone decides.
pub(super) fn ln_binomial(k: f64, n: f64, p: f64, q: f64) -> f64 {
    // From two Poisson numbers with the means n p and n q, given their sum.
    ln_poisson(k, n * p) + ln_poisson(n - k, n * q)
}

/// The logarithm of the probability that `k` of the `sample` balls drawn from an urn have the first of two colours, with `first`
/// and `second` balls; without the terms that `k` does not change (C. Loader).
pub(super) fn ln_hypergeometric(k: f64, first: f64, second: f64, sample: f64) -> f64 {
    // Given their sum, two binomial numbers with any common probability: here the one with the mean `sample`.
    let p = sample / (first + second);
    ln_binomial(k, first, p, 1.0 - p) + ln_binomial(sample - k, second, p, 1.0 - p)
}

/// The logarithm of the probability of 0 of the same distribution, complete.
pub(super) fn ln_hypergeometric_of_0(first: f64, second: f64, sample: f64) -> f64 {
    let total = first + second;
    let p = sample / total;
    let q = 1.0 - p;
    // P(0 of first) P(sample of second) / P(sample of all), each binomial.
    first * ln_1p(-p) + (ln_binomial(sample, second, p, q) - ln_poisson(second, second))
        - (ln_binomial(sample, total, p, q) - ln_poisson(total, total))
}

#[cfg(test)]
mod tests {

    use proptest::prelude::*;

    use super::*;

    /// The standard library is off by up to 1 unit itself: each bound has one more.
    fn is_close(ours: f64, theirs: f64, units: f64) -> bool {
        (ours - theirs).abs() <= units * f64::EPSILON * theirs.abs()
    }

    #[test]
    fn the_root_of_an_integer_is_that_of_the_processor_at_the_edges() {
        let powers = (1..2047u64).map(|exponent| exponent << 52);
        for bits in powers.flat_map(|power| {
            [0, 1, 2, MANTISSA / 2, MANTISSA - 1, MANTISSA].map(|low| power | low)
        }) {
            let x = f64::from_bits(bits);
            assert_eq!(sqrt_of_integer(x).to_bits(), x.sqrt().to_bits(), "{x:e}");
        }
        assert_eq!(sqrt_of_integer(0.0).to_bits(), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5000))]

        #[test]
        fn the_root_of_an_integer_is_that_of_the_processor(x in proptest::num::f64::NORMAL) {
            prop_assert_eq!(sqrt_of_integer(x.abs()).to_bits(), x.abs().sqrt().to_bits());
        }

        #[test]
        fn logarithms_are_those_of_the_standard_library(
            exponent in -1022..1023i32, near in 0.5..2.0f64, small in -0.9..1.0f64, tiny in 1e-300..1e-3f64,
        ) {
            let x = near * power_of_two(exponent.into());
            if x.is_normal() {
                prop_assert!(is_close(ln(x), x.ln(), 3.1), "{x}");
            }
            prop_assert!(is_close(ln(near), near.ln(), 3.0), "{near}");
            prop_assert!(is_close(ln_1p(small), small.ln_1p(), 5.0), "{small}");
            prop_assert!(is_close(ln_1p(-tiny), (-tiny).ln_1p(), 5.0), "{tiny}");
        }

        #[test]
        fn exponentials_are_those_of_the_standard_library(
            x in -708.0..709.7f64, small in -1.0..1.0f64, low in -750.0..-708.0f64,
        ) {
            prop_assert!(is_close(exp(x), x.exp(), 3.0), "{x}");
            prop_assert!(is_close(exp(small), small.exp(), 3.0), "{small}");
            // Subnormal numbers: within 2 of their steps.
            prop_assert!((exp(low) - low.exp()).abs() <= 2.0 * f64::from_bits(1) + 2.0 * f64::EPSILON * low.exp());
        }

        #[test]
        fn probabilities_of_counts_are_those_of_statrs(mean in 0.5..1e5f64, deviations in -5.0..5.0f64, p in 0.001..0.999f64) {
            use statrs::distribution::{Discrete, Poisson, Binomial};
            let k = (mean + deviations * mean.sqrt()).floor().max(0.0);
            let theirs = Poisson::new(mean).unwrap().ln_pmf(k as u64);
            prop_assert!((ln_poisson(k, mean) - theirs).abs() < 1e-8, "{k} {mean}");
            let n = mean.ceil() * 2.0;
            let k = (n * p + deviations * (n * p * (1.0 - p)).sqrt()).floor().clamp(0.0, n);
            let distribution = Binomial::new(p, n as u64).unwrap();
            let mode = ((n + 1.0) * p).floor();
            let theirs = distribution.ln_pmf(k as u64) - distribution.ln_pmf(mode as u64);
            let ours = ln_binomial(k, n, p, 1.0 - p) - ln_binomial(mode, n, p, 1.0 - p);
            prop_assert!((ours - theirs).abs() < 1e-7, "{k} {n} {p}: {ours} {theirs}");
        }
    }

    proptest! {
        #[test]
        fn small_exponentials_and_angles_are_those_of_the_standard_library(
            x in -700.0..700.0f64, small in -1.0..1.0f64, exponent in -40..40i32, near in 1.0..2.0f64,
        ) {
            for x in [x, small, small * 1e-9] {
                prop_assert!(is_close(exp_m1(x), x.exp_m1(), 9.0), "{x}");
            }
            let tangent = near * power_of_two(exponent.into());
            prop_assert!(is_close(atan(tangent), tangent.atan(), 3.0), "{tangent}");
            prop_assert!(is_close(atan(near), near.atan(), 3.0), "{near}");
        }

        #[test]
        fn probabilities_of_urns_are_those_of_statrs(first in 1..400u64, second in 1..400u64, share in 0.01..0.99f64) {
            use statrs::distribution::{Discrete, Hypergeometric};
            let (first, second) = (first.min(second), first.max(second));
            let sample = ((first + second) as f64 * share / 2.0).ceil();
            let theirs = Hypergeometric::new(first + second, first, sample as u64).unwrap();
            let of_0 = ln_hypergeometric_of_0(first as f64, second as f64, sample);
            prop_assert!((of_0 - theirs.ln_pmf(0)).abs() < 1e-9 * (1.0 + of_0.abs()), "{first} {second} {sample} {of_0}");
            let own = |k: u64| ln_hypergeometric(k as f64, first as f64, second as f64, sample);
            let last = first.min(sample as u64);
            let difference = theirs.ln_pmf(last) - theirs.ln_pmf(0);
            prop_assert!((own(last) - own(0) - difference).abs() < 1e-9 * (1.0 + difference.abs()), "{first} {second} {sample}");
        }
    }

    #[test]
    fn edges_are_exact() {
        assert_eq!((exp_m1(0.0), atan(0.0)), (0.0, 0.0));
        assert_eq!(exp_m1(f64::NEG_INFINITY), -1.0);
        assert_eq!(atan(f64::INFINITY), core::f64::consts::FRAC_PI_2);
        assert_eq!((ln(1.0), ln_1p(0.0), exp(0.0)), (0.0, 0.0, 1.0));
        assert_eq!(exp(f64::INFINITY), f64::INFINITY);
        assert_eq!(exp(709.9), f64::INFINITY);
        assert_eq!(exp(f64::NEG_INFINITY), 0.0);
        assert!(exp(-745.0) > 0.0);
        assert_eq!(exp(-1e300), 0.0);
    }
}
