//! The one table of distributions: the name of each, its parameters with their bounds, and what an element is.
//!
//! The constructors check their parameters against it. The Python package draws and describes its methods from it. Tests in
//! `bindings/python` and `bindings/c` compare signatures, bounds and types with it.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Bound::{Excluded, Included, Unbounded};
use core::ops::{Bound, RangeBounds};

use wellspring_cipher::{SimdTask, Width};

use super::continuous::Standard;
use super::private::{Each, Sealed};
use super::{
    Beta, Binomial, Cauchy, Choice, Dirichlet, Distribution, ElementError, Elements, F, Gamma,
    Geometric, Gumbel, Hypergeometric, Laplace, LogNormal, LogSeries, Logistic, Multinomial,
    MultivariateHypergeometric, MultivariateNormal, NegativeBinomial, NoncentralChiSquare,
    NoncentralF, Pareto, Poisson, Power, Rayleigh, Scaled, Sphere, StudentT, Subsets, Triangular,
    TruncatedNormal, VonMises, Wald, Weibull, Zipf,
};
use crate::elements::quasi::MAX_DIMENSIONS;

/// A distribution of arrays.
#[derive(Debug)]
pub struct Entry {
    /// The method of Python: NumPy's name, if NumPy has the distribution.
    pub python: &'static str,
    /// The function of C behind `ws_elements_`. Each further type of numbers has a function with that type at the end of its
    /// name.
    pub c: Option<&'static str>,
    /// The parameters in the order of C. In Python those without a default come first.
    pub parameters: &'static [Parameter],
    /// The types of numbers, the default first.
    pub numbers: &'static [Number],
    /// If an element is a row of numbers: the parameter that gives its length, as a number or as a vector of this length.
    pub row: Option<usize>,
    make: Option<Make>,
    /// Elements whose parameters differ, where an element is one number.
    fill_each: Option<FillEach>,
    /// Whether `fill_each` refuses what is out of bounds, while it makes the numbers.
    fill_checks: bool,
    /// The rule that connects the values of several parameters.
    rule: Option<Rule>,
}

/// A parameter of a distribution.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The name in Python, which is NumPy's.
    pub python: &'static str,
    /// The name in C.
    pub c: &'static str,
    /// The kind of its values.
    pub kind: Kind,
    /// The values that are allowed, also of each number in a vector.
    pub bounds: Bounds,
    /// The value in Python if none is given.
    pub default: Option<f64>,
    refusal: &'static str,
}

/// The kind of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Float,
    /// An integer that is an `i64` in C.
    I64,
    /// An integer that is a `u64` in C.
    U64,
    /// An integer that is a size in C.
    Size,
    /// Numbers. In C their number follows the last vector.
    Vector,
    /// The rows of a square matrix, one after the other.
    Matrix,
}

/// The lowest and the highest value.
pub type Bounds = (Bound<f64>, Bound<f64>);

/// A type of an array's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Number {
    F64,
    F32,
    I64,
    I32,
    I16,
    I8,
    U64,
    U32,
    U16,
    U8,
}

impl Number {
    /// The name of the type in NumPy.
    #[must_use]
    pub fn dtype(self) -> &'static str {
        match self {
            Self::F64 => "float64",
            Self::F32 => "float32",
            Self::I64 => "int64",
            Self::I32 => "int32",
            Self::I16 => "int16",
            Self::I8 => "int8",
            Self::U64 => "uint64",
            Self::U32 => "uint32",
            Self::U16 => "uint16",
            Self::U8 => "uint8",
        }
    }
}

/// The value of a parameter.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Value {
    Float(f64),
    Integer(i64),
    Vector(Vec<f64>),
}

/// A distribution with its parameters, for callers that learn while they run which one they draw.
#[allow(
    missing_debug_implementations,
    reason = "a distribution has no common state"
)]
pub enum Made {
    /// Numbers of `f64`.
    F64(Box<dyn Distribution<Number = f64> + Sync>),
    /// Numbers of `f32`.
    F32(Box<dyn Distribution<Number = f32> + Sync>),
    /// Numbers of `i64`.
    I64(Box<dyn Distribution<Number = i64> + Sync>),
}

impl Made {
    /// How many numbers an element has.
    #[must_use]
    pub fn width(&self) -> usize {
        match self {
            Self::F64(distribution) => distribution.width(),
            Self::F32(distribution) => distribution.width(),
            Self::I64(distribution) => distribution.width(),
        }
    }
}

type Make = fn(Given<'_>, Number) -> Result<Made, ElementError>;

type FillEach = fn(Columns<'_>, &Elements, u64, Numbers<'_>) -> Result<(), ElementError>;

/// Takes columns of one length.
type Rule = fn(Width, &[&[f64]]) -> Result<(), &'static str>;

/// An array of one of the types of numbers that distributions have.
#[derive(Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Numbers<'a> {
    F64(&'a mut [f64]),
    F32(&'a mut [f32]),
    I64(&'a mut [i64]),
}

impl Numbers<'_> {
    fn len(&self) -> usize {
        match self {
            Self::F64(numbers) => numbers.len(),
            Self::F32(numbers) => numbers.len(),
            Self::I64(numbers) => numbers.len(),
        }
    }
}

const FINITE: Bounds = (Excluded(f64::NEG_INFINITY), Excluded(f64::INFINITY));
const ANY: Bounds = (Included(f64::NEG_INFINITY), Included(f64::INFINITY));
const FROM_0: Bounds = (Included(0.0), Excluded(f64::INFINITY));
const ABOVE_0: Bounds = (Excluded(0.0), Excluded(f64::INFINITY));
const SHARE: Bounds = (Included(0.0), Included(1.0));
// The largest number of 63 bits, as a float.
const COUNT: Bounds = (Included(0.0), Included(TWO_TO_63));
const COUNT_FROM_1: Bounds = (Included(1.0), Included(TWO_TO_63));
const ABOVE_0_TO_1: Bounds = (Excluded(0.0), Included(1.0));
const UP_TO_MEAN: Bounds = (Included(0.0), Included(Poisson::MAX_MEAN));
const BALLS: Bounds = (Included(0.0), Included(Hypergeometric::MAX_BALLS as f64));
const DIMENSIONS: Bounds = (Included(1.0), Included(MAX_DIMENSIONS as f64));
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

const FLOATS: &[Number] = &[Number::F64, Number::F32];
const F64: &[Number] = &[Number::F64];
const I64: &[Number] = &[Number::I64];

/// The refusal of uniform numbers whose range is wider than the largest float.
pub const RANGE_IS_INFINITE: &str = "high - low is not finite";

/// A distribution of single numbers: its names, the function that makes it of its values, its parameters and types.
macro_rules! of_values {
    ($python:literal, $c:expr, $of:expr, [$($parameter:expr),* $(,)?], $numbers:expr) => {
        Entry {
            make: Some(|given, _| made(Ok($of(given.values()?)))),
            fill_each: Some(|columns, elements, first, out| each(columns, elements, first, out, $of)),
            ..entry($python, $c, &[$($parameter),*], $numbers)
        }
    };
}

/// The rule for the values at one place, for all places of the columns.
macro_rules! rule {
    ($rule:expr) => {
        Some(|width, columns| at_each_place(width, columns, $rule))
    };
}

fn at_each_place<const N: usize>(
    width: Width,
    columns: &[&[f64]],
    rule: impl Fn([f64; N]) -> Result<(), &'static str> + Copy,
) -> Result<(), &'static str> {
    let Ok(columns) = <[&[f64]; N]>::try_from(columns) else {
        return Err("a parameter is missing");
    };
    let length = columns.map(<[f64]>::len).into_iter().min().unwrap_or(0);
    let columns = columns.map(|column| &column[..length]);
    if width.run(AllFit {
        columns,
        length,
        rule,
    }) {
        return Ok(());
    }
    (0..length).try_for_each(|place| rule(columns.map(|column| column[place])))
}

/// Whether the values at all places follow a rule: without a way out in the middle, several are looked at together.
struct AllFit<'a, const N: usize, R> {
    columns: [&'a [f64]; N],
    length: usize,
    rule: R,
}

impl<const N: usize, R: Fn([f64; N]) -> Result<(), &'static str>> SimdTask for AllFit<'_, N, R> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let values = |place: usize| self.columns.map(|column| column[place]);
        (0..self.length).fold(true, |all, place| all & (self.rule)(values(place)).is_ok())
    }
}

#[rustfmt::skip]
mod entries {
    use super::*;
    use super::Kind::{I64 as INTEGER, Matrix, Size, U64, Vector};

    pub(crate) static RANDOM: Entry = Entry {
        make: Some(|_, number| floats(number, Ok(Standard(Elements::uniform)), Ok(Standard(Elements::uniform)))),
        ..entry("random", None, &[], FLOATS)
    };
    pub(crate) static UNIFORM: Entry = Entry {
        make: Some(|p, number| {
            let [low, high] = p.values()?;
            floats(number, Scaled::uniform(low, high), Scaled::uniform(low, high))
        }),
        fill_each: Some(|columns, elements, first, out| match out {
            Numbers::F32(out) => Scaled::fill_uniform(elements, first, out, columns.all()?),
            out => Scaled::fill_uniform(elements, first, f64::of(out)?, columns.all()?),
        }),
        fill_checks: true,
        rule: Some(|width, columns| {
            let [low, high] = columns.try_into().map_err(|_| "a parameter is missing")?;
            if width.run(AreRanges { low, high }) {
                Ok(())
            } else if low.iter().zip(high).any(|(low, high)| high < low) {
                Err("high - low < 0")
            } else {
                Err(RANGE_IS_INFINITE)
            }
        }),
        ..entry("uniform", Some("uniform"), &[
            float("low", FINITE, "low is not finite").or(0.0), float("high", FINITE, "high is not finite").or(1.0),
        ], FLOATS)
    };
    pub(crate) static STANDARD_NORMAL: Entry = Entry {
        make: Some(|_, number| {
            floats(number, Ok(Standard(Elements::standard_normal)), Ok(Standard(Elements::standard_normal)))
        }),
        ..entry("standard_normal", None, &[], FLOATS)
    };
    pub(crate) static NORMAL: Entry = Entry {
        make: Some(|p, number| {
            let [mean, sigma] = p.values()?;
            floats(number, Scaled::normal(mean, sigma), Scaled::normal(mean, sigma))
        }),
        fill_each: Some(|columns, elements, first, out| match out {
            Numbers::F32(out) => Scaled::fill_normal(elements, first, out, columns.all()?),
            out => Scaled::fill_normal(elements, first, f64::of(out)?, columns.all()?),
        }),
        fill_checks: true,
        ..entry("normal", Some("normal"), &[
            float("mean", FINITE, "loc is not finite").in_python("loc").or(0.0),
            float("sigma", FROM_0, "scale < 0").in_python("scale").or(1.0),
        ], FLOATS)
    };
    pub(crate) static STANDARD_EXPONENTIAL: Entry = Entry {
        make: Some(|_, number| {
            floats(number, Ok(Standard(Elements::standard_exponential)), Ok(Standard(Elements::standard_exponential)))
        }),
        ..entry("standard_exponential", None, &[], FLOATS)
    };
    pub(crate) static EXPONENTIAL: Entry = Entry {
        make: Some(|p, number| {
            let [scale] = p.values()?;
            floats(number, Scaled::exponential(scale), Scaled::exponential(scale))
        }),
        fill_each: Some(|columns, elements, first, out| match out {
            Numbers::F32(out) => Scaled::fill_exponential(elements, first, out, columns.all()?),
            out => Scaled::fill_exponential(elements, first, f64::of(out)?, columns.all()?),
        }),
        fill_checks: true,
        ..entry("exponential", Some("exponential"), &[float("scale", FROM_0, "scale < 0").or(1.0)], FLOATS)
    };
    pub(crate) static TRUNCATED_NORMAL: Entry = Entry {
        rule: rule!(TruncatedNormal::rule),
        ..of_values!("truncated_normal", Some("truncated_normal"), TruncatedNormal::of, [
            float("mean", FINITE, "mean is not finite").in_python("loc").or(0.0),
            float("sigma", ABOVE_0, "sigma <= 0").in_python("scale").or(1.0),
            float("low", ANY, "low is NaN"), float("high", ANY, "high is NaN"),
        ], F64)
    };
    pub(crate) static LOGNORMAL: Entry = of_values!("lognormal", Some("lognormal"), LogNormal::of, [
        float("mean", FINITE, "mean is not finite").or(0.0), float("sigma", FROM_0, "sigma < 0").or(1.0),
    ], F64);
    pub(crate) static WEIBULL: Entry = of_values!("weibull", Some("weibull"), Weibull::of, [
        float("shape", FROM_0, "a < 0").in_python("a"),
    ], F64);
    pub(crate) static CAUCHY: Entry = Entry {
        make: Some(|_, _| made(Ok(Cauchy))),
        ..entry("standard_cauchy", Some("cauchy"), &[], F64)
    };
    pub(crate) static STANDARD_GAMMA: Entry = of_values!("standard_gamma", None, |[shape]: [f64; 1]| Gamma::of([shape, 1.0]), [
        float("shape", FROM_0, "shape < 0"),
    ], F64);
    pub(crate) static GAMMA: Entry = of_values!("gamma", Some("gamma"), Gamma::of, [
        float("shape", FROM_0, "shape < 0"), float("scale", FROM_0, "scale < 0").or(1.0),
    ], F64);
    pub(crate) static CHI_SQUARE: Entry = of_values!("chisquare", Some("chisquare"), |[df]: [f64; 1]| {
        Gamma::of([df / 2.0, 2.0])
    }, [
        float("df", ABOVE_0, "df <= 0"),
    ], F64);
    pub(crate) static NONCENTRAL_CHI_SQUARE: Entry = of_values!("noncentral_chisquare", None, NoncentralChiSquare::of, [
        float("df", ABOVE_0, "df <= 0"), float("nonc", UP_TO_MEAN, "nonc < 0, or nonc too large"),
    ], F64);
    pub(crate) static BETA: Entry = of_values!("beta", Some("beta"), Beta::of, [
        float("a", ABOVE_0, "a <= 0"), float("b", ABOVE_0, "b <= 0"),
    ], F64);
    pub(crate) static F_RATIO: Entry = of_values!("f", None, F::of, [
        float("dfnum", ABOVE_0, "dfnum <= 0"), float("dfden", ABOVE_0, "dfden <= 0"),
    ], F64);
    pub(crate) static NONCENTRAL_F: Entry = of_values!("noncentral_f", None, NoncentralF::of, [
        float("dfnum", ABOVE_0, "dfnum <= 0"), float("dfden", ABOVE_0, "dfden <= 0"),
        float("nonc", UP_TO_MEAN, "nonc < 0, or nonc too large"),
    ], F64);
    pub(crate) static STUDENT_T: Entry = of_values!("standard_t", Some("student_t"), StudentT::of, [
        float("df", ABOVE_0, "df <= 0"),
    ], F64);
    pub(crate) static LAPLACE: Entry = of_values!("laplace", None, Laplace::of, [LOCATION, SCALE], F64);
    pub(crate) static GUMBEL: Entry = of_values!("gumbel", None, Gumbel::of, [LOCATION, SCALE], F64);
    pub(crate) static LOGISTIC: Entry = of_values!("logistic", None, Logistic::of, [LOCATION, SCALE], F64);
    pub(crate) static RAYLEIGH: Entry = of_values!("rayleigh", None, Rayleigh::of, [SCALE], F64);
    pub(crate) static PARETO: Entry = of_values!("pareto", None, Pareto::of, [float("a", ABOVE_0, "a <= 0")], F64);
    pub(crate) static POWER: Entry = of_values!("power", None, Power::of, [float("a", ABOVE_0, "a <= 0")], F64);
    pub(crate) static TRIANGULAR: Entry = Entry {
        make: Some(|p, _| made(Ok(Triangular::of(p.values()?)))),
        fill_each: Some(|columns, elements, first, out| {
            Triangular::fill_columns(elements, first, f64::of(out)?, columns.all()?)
        }),
        rule: rule!(Triangular::rule),
        ..entry("triangular", None, &[
            float("left", FINITE, "left is not finite"), float("mode", FINITE, "mode is not finite"),
            float("right", FINITE, "right is not finite"),
        ], F64)
    };
    pub(crate) static VON_MISES: Entry = of_values!("vonmises", None, VonMises::of, [
        float("mu", FINITE, "mu is not finite"), float("kappa", FROM_0, "kappa < 0"),
    ], F64);
    pub(crate) static WALD: Entry = of_values!("wald", None, Wald::of, [
        float("mean", ABOVE_0, "mean <= 0"), float("scale", ABOVE_0, "scale <= 0"),
    ], F64);
    pub(crate) static GEOMETRIC: Entry = Entry {
        fill_each: Some(|columns, elements, first, out| {
            Geometric::fill_columns(elements, first, i64::of(out)?, columns.all()?)
        }),
        ..of_values!("geometric", Some("geometric"), Geometric::of, [
            float("p", ABOVE_0_TO_1, "p <= 0, p > 1 or p contains NaNs"),
        ], I64)
    };
    pub(crate) static BINOMIAL: Entry = of_values!("binomial", Some("binomial"), Binomial::of_values, [
        parameter("n", INTEGER, COUNT, "n < 0"), float("p", SHARE, "p < 0, p > 1 or p is NaN"),
    ], I64);
    pub(crate) static NEGATIVE_BINOMIAL: Entry = Entry {
        rule: rule!(NegativeBinomial::rule),
        ..of_values!("negative_binomial", None, NegativeBinomial::of, [
            float("n", ABOVE_0, "n <= 0"), float("p", ABOVE_0_TO_1, "p <= 0, p > 1 or p is NaN"),
        ], I64)
    };
    pub(crate) static HYPERGEOMETRIC: Entry = Entry {
        make: Some(|p, _| made(Ok(Hypergeometric::of(p.values()?)))),
        fill_each: Some(|columns, elements, first, out| {
            Hypergeometric::fill_columns(elements, first, i64::of(out)?, columns.all()?)
        }),
        rule: rule!(Hypergeometric::rule),
        ..entry("hypergeometric", None, &[
            parameter("ngood", INTEGER, BALLS, "ngood < 0 or ngood > 10^9"),
            parameter("nbad", INTEGER, BALLS, "nbad < 0 or nbad > 10^9"),
            parameter("nsample", INTEGER, COUNT, "nsample < 0"),
        ], I64)
    };
    pub(crate) static LOG_SERIES: Entry = of_values!("logseries", None, LogSeries::of, [
        float("p", (Included(0.0), Excluded(1.0)), "p < 0, p >= 1 or p is NaN"),
    ], I64);
    pub(crate) static ZIPF: Entry = of_values!("zipf", None, Zipf::of, [
        float("a", (Excluded(1.0), Excluded(f64::INFINITY)), "a <= 1 or a is NaN"),
    ], I64);
    pub(crate) static POISSON: Entry = of_values!("poisson", Some("poisson"), Poisson::of, [
        float("mean", UP_TO_MEAN, "lam < 0, lam is NaN or lam value too large").in_python("lam").or(1.0),
    ], I64);
    pub(crate) static INTEGERS: Entry = entry("integers", Some("integers"), &[
        parameter("low", INTEGER, ANY, "low is out of bounds"), parameter("high", INTEGER, ANY, "high is out of bounds"),
    ], &[
        Number::I64, Number::I32, Number::I16, Number::I8, Number::U64, Number::U32, Number::U16, Number::U8,
    ]);
    pub(crate) static CHOICE: Entry = Entry {
        make: Some(|p, _| made(Choice::new(p.vector(0)?))),
        ..entry("choice", Some("choice"), &[
            parameter("weights", Vector, FROM_0, "probabilities are not non-negative").in_python("p"),
        ], I64)
    };
    pub(crate) static SUBSETS: Entry = Entry {
        make: Some(|p, _| made(Subsets::new(p.integer(0)?.cast_unsigned(), p.size(1)?))),
        row: Some(1),
        ..entry("subsets", Some("subsets"), &[
            parameter("n", U64, COUNT_FROM_1, "n is not from 1 to 2^63 - 1"),
            parameter("k", Size, COUNT_FROM_1, "k is not from 1 to n"),
        ], I64)
    };
    pub(crate) static DIRICHLET: Entry = Entry {
        make: Some(|p, _| made(Dirichlet::new(p.vector(0)?))),
        row: Some(0),
        ..entry("dirichlet", Some("dirichlet"), &[parameter("alpha", Vector, ABOVE_0, "alpha <= 0")], F64)
    };
    pub(crate) static MULTINOMIAL: Entry = Entry {
        make: Some(|p, _| made(Multinomial::new(p.integer(0)?, p.vector(1)?))),
        row: Some(1),
        ..entry("multinomial", Some("multinomial"), &[
            parameter("n", INTEGER, COUNT, "n < 0"),
            parameter("p", Vector, SHARE, "pvals < 0, pvals > 1 or pvals contains NaNs").in_python("pvals"),
        ], I64)
    };
    pub(crate) static MULTIVARIATE_HYPERGEOMETRIC: Entry = Entry {
        make: Some(|p, _| made(MultivariateHypergeometric::new(p.vector(0)?, p.integer(1)?))),
        row: Some(0),
        ..entry("multivariate_hypergeometric", None, &[
            parameter("colors", Vector, BALLS, "colors < 0 or colors > 10^9"),
            parameter("nsample", INTEGER, COUNT, "nsample < 0"),
        ], I64)
    };
    pub(crate) static MULTIVARIATE_NORMAL: Entry = Entry {
        make: Some(|p, _| made(MultivariateNormal::new(p.vector(0)?, p.vector(1)?))),
        row: Some(0),
        ..entry("multivariate_normal", Some("multivariate_normal"), &[
            parameter("mean", Vector, FINITE, "mean is not finite"),
            parameter("covariance", Matrix, FINITE, "cov is not finite").in_python("cov"),
        ], F64)
    };
    pub(crate) static SPHERE: Entry = Entry {
        make: Some(|p, _| made(Sphere::new(p.size(0)?))),
        row: Some(0),
        ..entry("sphere", Some("sphere"), &[parameter("dimensions", Size, COUNT_FROM_1, "dimensions < 1")], F64)
    };
    pub(crate) static SOBOL: Entry = Entry { row: Some(0), ..points("sobol") };
    pub(crate) static HALTON: Entry = Entry { row: Some(0), ..points("halton") };

    const LOCATION: Parameter = float("loc", FINITE, "loc is not finite").or(0.0);
    const SCALE: Parameter = float("scale", FROM_0, "scale < 0").or(1.0);

    const fn points(name: &'static str) -> Entry {
        const PARAMETERS: &[Parameter] =
            &[parameter("dimensions", Size, DIMENSIONS, "dimensions is not from 1 to 256")];
        entry(name, Some(name), PARAMETERS, F64)
    }
}

pub(crate) use entries::*;

/// All distributions of arrays.
pub static TABLE: [&Entry; 44] = [
    &RANDOM,
    &UNIFORM,
    &STANDARD_NORMAL,
    &NORMAL,
    &STANDARD_EXPONENTIAL,
    &EXPONENTIAL,
    &TRUNCATED_NORMAL,
    &LOGNORMAL,
    &WEIBULL,
    &CAUCHY,
    &STANDARD_GAMMA,
    &GAMMA,
    &CHI_SQUARE,
    &NONCENTRAL_CHI_SQUARE,
    &BETA,
    &F_RATIO,
    &NONCENTRAL_F,
    &STUDENT_T,
    &LAPLACE,
    &GUMBEL,
    &LOGISTIC,
    &RAYLEIGH,
    &PARETO,
    &POWER,
    &TRIANGULAR,
    &VON_MISES,
    &WALD,
    &GEOMETRIC,
    &BINOMIAL,
    &NEGATIVE_BINOMIAL,
    &HYPERGEOMETRIC,
    &LOG_SERIES,
    &ZIPF,
    &POISSON,
    &INTEGERS,
    &CHOICE,
    &SUBSETS,
    &DIRICHLET,
    &MULTINOMIAL,
    &MULTIVARIATE_HYPERGEOMETRIC,
    &MULTIVARIATE_NORMAL,
    &SPHERE,
    &SOBOL,
    &HALTON,
];

impl Entry {
    /// The distribution with these parameters, for numbers of this type; `None` for integers and points, which
    /// [`Elements::integers`], [`Elements::sobol`] and [`Elements::halton`] make.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if a value is not of its parameter's kind or bounds, or the distribution refuses it.
    pub fn make(&self, values: &[Value], number: Number) -> Option<Result<Made, ElementError>> {
        let checked = || match Given(values).all() {
            Some(values) => self.check(&values),
            None => Ok(()),
        };
        self.make.map(|make| {
            checked()?;
            make(Given(values), number)
        })
    }

    /// Whether [`fill_each`](Self::fill_each) takes parameters that differ from element to element.
    #[must_use]
    pub fn takes_columns(&self) -> bool {
        self.fill_each.is_some()
    }

    /// Fills `out`, from index `first` on, with elements whose parameters differ: element i has the values at place i of
    /// `columns`, which has one column for each parameter, in their order. A number is the same as of
    /// [`Elements::draw`] with these values.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] as of [`check_columns`](Self::check_columns), or if the distribution takes no columns, or
    /// not of this length or type; [`ElementError::PastTheEnd`] if the last index is 2^64 or above.
    pub fn fill_each(
        &self,
        elements: &Elements,
        columns: &[&[f64]],
        first: u64,
        out: Numbers<'_>,
    ) -> Result<(), ElementError> {
        let fill_each = self.fill_each.ok_or(NO_COLUMNS)?;
        if columns.iter().any(|column| column.len() != out.len()) {
            return Err(NO_COLUMNS);
        }
        if !self.fill_checks {
            self.check_columns(elements, columns)?;
        }
        let made = fill_each(Columns(columns), elements, first, out);
        if self.fill_checks && made.is_err() {
            // The refusal of a parameter, if there is one, says more.
            self.check_columns(elements, columns)?;
        }
        made
    }

    /// Whether [`fill_each`](Self::fill_each) uses the value that it checked, and does not look at it again.
    #[must_use]
    pub fn looks_once(&self) -> bool {
        self.fill_checks
    }

    /// Checks columns of values, one for each parameter.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if their number is another one, their lengths differ, or the distribution does not have one
    /// of the values.
    pub fn check_columns(
        &self,
        elements: &Elements,
        columns: &[&[f64]],
    ) -> Result<(), ElementError> {
        if columns.len() != self.parameters.len() {
            return Err(NO_COLUMNS);
        }
        for (parameter, column) in self.parameters.iter().zip(columns) {
            parameter.check_column(elements.width, column)?;
        }
        let length = columns.first().map_or(0, |column| column.len());
        if columns.iter().any(|column| column.len() != length) {
            return Err(NO_COLUMNS);
        }
        match self.rule {
            Some(rule) => rule(elements.width, columns).map_err(ElementError::Parameter),
            None => Ok(()),
        }
    }

    /// Checks the parameters that are single numbers, in their order.
    pub(crate) fn check(&self, values: &[f64]) -> Result<(), ElementError> {
        for (parameter, value) in self.parameters.iter().zip(values) {
            parameter.check(*value)?;
        }
        let Some(rule) = self.rule else {
            return Ok(());
        };
        let columns: Vec<&[f64]> = values.chunks(1).collect();
        rule(Width::Portable, &columns).map_err(ElementError::Parameter)
    }

    /// Checks each number of a vector.
    pub(super) fn check_vector(&self, place: usize, values: &[f64]) -> Result<(), ElementError> {
        values
            .iter()
            .try_for_each(|value| self.parameters[place].check(*value))
    }
}

impl Parameter {
    pub(crate) fn check(&self, value: f64) -> Result<(), ElementError> {
        if self.bounds.contains(&value) {
            Ok(())
        } else {
            Err(ElementError::Parameter(self.refusal))
        }
    }

    /// Checks each number of a column, several at a time.
    fn check_column(&self, width: Width, column: &[f64]) -> Result<(), ElementError> {
        // No number is below the next one above an excluded end.
        let low = match self.bounds.0 {
            Included(low) => low,
            Excluded(low) => low.next_up(),
            Unbounded => f64::NEG_INFINITY,
        };
        let high = match self.bounds.1 {
            Included(high) => high,
            Excluded(high) => high.next_down(),
            Unbounded => f64::INFINITY,
        };
        let are_inside = width.run(AreInside { column, low, high });
        if are_inside {
            Ok(())
        } else {
            Err(ElementError::Parameter(self.refusal))
        }
    }

    const fn in_python(self, python: &'static str) -> Self {
        Self { python, ..self }
    }

    const fn or(self, default: f64) -> Self {
        Self {
            default: Some(default),
            ..self
        }
    }
}

/// Whether all numbers are in bounds.
struct AreInside<'a> {
    column: &'a [f64],
    low: f64,
    high: f64,
}

impl SimdTask for AreInside<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let are_inside = |all, x: &f64| all & (self.low..=self.high).contains(x);
        self.column.iter().fold(true, are_inside)
    }
}

/// Whether the lengths of all ranges are finite and not below 0.
struct AreRanges<'a> {
    low: &'a [f64],
    high: &'a [f64],
}

impl SimdTask for AreRanges<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let lengths = self.low.iter().zip(self.high).map(|(low, high)| high - low);
        lengths.fold(true, |all, length| {
            all & (0.0..f64::INFINITY).contains(&length)
        })
    }
}

const fn entry(
    python: &'static str,
    c: Option<&'static str>,
    parameters: &'static [Parameter],
    numbers: &'static [Number],
) -> Entry {
    Entry {
        python,
        c,
        parameters,
        numbers,
        row: None,
        make: None,
        fill_each: None,
        fill_checks: false,
        rule: None,
    }
}

const fn parameter(
    name: &'static str,
    kind: Kind,
    bounds: Bounds,
    refusal: &'static str,
) -> Parameter {
    Parameter {
        python: name,
        c: name,
        kind,
        bounds,
        default: None,
        refusal,
    }
}

const fn float(name: &'static str, bounds: Bounds, refusal: &'static str) -> Parameter {
    parameter(name, Kind::Float, bounds, refusal)
}

/// The values of a distribution's parameters.
#[derive(Clone, Copy)]
struct Given<'a>(&'a [Value]);

impl<'a> Given<'a> {
    /// All values, if each is a single number.
    fn all(self) -> Option<Vec<f64>> {
        let number = |value: &Value| match value {
            Value::Float(value) => Some(*value),
            Value::Integer(value) => Some(*value as f64),
            Value::Vector(_) => None,
        };
        self.0.iter().map(number).collect()
    }

    fn values<const N: usize>(self) -> Result<[f64; N], ElementError> {
        let values = self.all().ok_or(WRONG_KIND)?;
        values.try_into().map_err(|_| WRONG_KIND)
    }

    fn integer(self, place: usize) -> Result<i64, ElementError> {
        match self.0.get(place) {
            Some(Value::Integer(value)) => Ok(*value),
            _ => Err(WRONG_KIND),
        }
    }

    fn size(self, place: usize) -> Result<usize, ElementError> {
        usize::try_from(self.integer(place)?).map_err(|_| WRONG_KIND)
    }

    fn vector(self, place: usize) -> Result<&'a [f64], ElementError> {
        match self.0.get(place) {
            Some(Value::Vector(values)) => Ok(values),
            _ => Err(WRONG_KIND),
        }
    }
}

const WRONG_KIND: ElementError =
    ElementError::Parameter("a parameter is missing, or it is of another kind");

const NO_COLUMNS: ElementError =
    ElementError::Parameter("the distribution takes no such columns of parameters");

/// A column of values for each parameter.
#[derive(Clone, Copy)]
struct Columns<'a>(&'a [&'a [f64]]);

impl<'a> Columns<'a> {
    fn all<const N: usize>(self) -> Result<[&'a [f64]; N], ElementError> {
        self.0.try_into().map_err(|_| NO_COLUMNS)
    }
}

/// Fills `out` with elements of the distributions that `of` makes of the values at each place of the columns.
fn each<const N: usize, D: Each<Number: Boxed>>(
    columns: Columns<'_>,
    elements: &Elements,
    first: u64,
    out: Numbers<'_>,
    of: impl Fn([f64; N]) -> D,
) -> Result<(), ElementError> {
    let columns = columns.all::<N>()?;
    let mut place = 0;
    D::fill_each(elements, first, D::Number::of(out)?, || {
        let values = columns.map(|column| column[place]);
        place += 1;
        of(values)
    })
}

/// The type of numbers says how a distribution is boxed.
trait Boxed: Copy + 'static {
    fn boxed(distribution: impl Sealed<Number = Self> + Sync + 'static) -> Made;

    /// The array, if it has this type.
    fn of(numbers: Numbers<'_>) -> Result<&mut [Self], ElementError>;
}

impl Boxed for f64 {
    fn boxed(distribution: impl Sealed<Number = Self> + Sync + 'static) -> Made {
        Made::F64(Box::new(distribution))
    }

    fn of(numbers: Numbers<'_>) -> Result<&mut [Self], ElementError> {
        match numbers {
            Numbers::F64(numbers) => Ok(numbers),
            _ => Err(NO_COLUMNS),
        }
    }
}

impl Boxed for f32 {
    fn boxed(distribution: impl Sealed<Number = Self> + Sync + 'static) -> Made {
        Made::F32(Box::new(distribution))
    }

    fn of(numbers: Numbers<'_>) -> Result<&mut [Self], ElementError> {
        match numbers {
            Numbers::F32(numbers) => Ok(numbers),
            _ => Err(NO_COLUMNS),
        }
    }
}

impl Boxed for i64 {
    fn boxed(distribution: impl Sealed<Number = Self> + Sync + 'static) -> Made {
        Made::I64(Box::new(distribution))
    }

    fn of(numbers: Numbers<'_>) -> Result<&mut [Self], ElementError> {
        match numbers {
            Numbers::I64(numbers) => Ok(numbers),
            _ => Err(NO_COLUMNS),
        }
    }
}

fn made<D: Sealed<Number: Boxed> + Sync + 'static>(
    distribution: Result<D, ElementError>,
) -> Result<Made, ElementError> {
    Ok(D::Number::boxed(distribution?))
}

/// One of two distributions, by the type of its numbers.
fn floats(
    number: Number,
    double: Result<impl Sealed<Number = f64> + Sync + 'static, ElementError>,
    single: Result<impl Sealed<Number = f32> + Sync + 'static, ElementError>,
) -> Result<Made, ElementError> {
    match number {
        Number::F32 => made(single),
        _ => made(double),
    }
}
