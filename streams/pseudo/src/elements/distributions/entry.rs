//! The entries of the one table: the name of each distribution, its parameters with their bounds and rules, and its types.
//!
//! The constructors check their parameters against them.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Bound::{Excluded, Included, Unbounded};
use core::ops::{Bound, RangeBounds};

use wellspring_cipher::{SimdTask, Width};

use super::{Distribution, ElementError, Elements};
use crate::elements::functions::sqrt;

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
    pub(super) make: Option<Make>,
    /// Elements whose parameters differ, where an element is one number.
    pub(super) fill_each: Option<FillEach>,
    /// Whether `fill_each` refuses what is out of bounds, while it makes the numbers.
    pub(super) fill_checks: bool,
    /// The rule that connects the values of several parameters.
    pub(super) rule: Option<Rule>,
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

/// The largest mean of Poisson's distribution: ten standard deviations above it is 2^63, as in NumPy.
pub(super) const MAX_POISSON_MEAN: f64 = 9.223_372_006_484_771e18;

/// The largest number of balls of one colour, as in NumPy.
pub(super) const MAX_BALLS: i64 = 1_000_000_000;

/// The most dimensions of a sequence of points.
pub(in crate::elements) const MAX_DIMENSIONS: usize = 256;

const FINITE: Bounds = (Excluded(f64::NEG_INFINITY), Excluded(f64::INFINITY));
const ANY: Bounds = (Included(f64::NEG_INFINITY), Included(f64::INFINITY));
const FROM_0: Bounds = (Included(0.0), Excluded(f64::INFINITY));
const ABOVE_0: Bounds = (Excluded(0.0), Excluded(f64::INFINITY));
const SHARE: Bounds = (Included(0.0), Included(1.0));
// The largest number of 63 bits, as a float.
const COUNT: Bounds = (Included(0.0), Included(TWO_TO_63));
const COUNT_FROM_1: Bounds = (Included(1.0), Included(TWO_TO_63));
const ABOVE_0_TO_1: Bounds = (Excluded(0.0), Included(1.0));
const UP_TO_MEAN: Bounds = (Included(0.0), Included(MAX_POISSON_MEAN));
const BALLS: Bounds = (Included(0.0), Included(MAX_BALLS as f64));
const DIMENSIONS: Bounds = (Included(1.0), Included(MAX_DIMENSIONS as f64));
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

const FLOATS: &[Number] = &[Number::F64, Number::F32];
const F64: &[Number] = &[Number::F64];
const I64: &[Number] = &[Number::I64];

/// The refusal of uniform numbers whose range is wider than the largest float.
pub const RANGE_IS_INFINITE: &str = "high - low is not finite";

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

/// The rule that connects the parameters of a truncated normal distribution.
fn truncated_normal([mean, sigma, low, high]: [f64; 4]) -> Result<(), &'static str> {
    if low >= high {
        return Err("low >= high");
    }
    let (from, to) = ((low - mean) / sigma, (high - mean) / sigma);
    // Squares of the bounds have to be floats.
    let is_near = from < 1e100 && to > -1e100 && from < to;
    if !is_near {
        return Err("low and high are too far from the mean, or too near each other");
    }
    Ok(())
}

/// The rule that connects the parameters of a triangular distribution.
fn triangular([left, mode, right]: [f64; 3]) -> Result<(), &'static str> {
    let length = right - left;
    if left > mode {
        Err("left > mode")
    } else if mode > right {
        Err("mode > right")
    } else if length == 0.0 {
        Err("left == right")
    } else if !(length * length).is_finite() {
        Err("right - left is too large")
    } else {
        Ok(())
    }
}

/// The rule that connects the parameters of a hypergeometric distribution.
fn hypergeometric([good, bad, sample]: [f64; 3]) -> Result<(), &'static str> {
    if good + bad < sample {
        return Err("ngood + nbad < nsample");
    }
    Ok(())
}

/// The rule that connects the parameters of a negative binomial distribution, as in NumPy.
fn negative_binomial([n, p]: [f64; 2]) -> Result<(), &'static str> {
    if (1.0 - p) / p * (n + 10.0 * sqrt(n)) > MAX_POISSON_MEAN {
        return Err("n too large or p too small");
    }
    Ok(())
}

#[rustfmt::skip]
mod entries {
    use super::*;
    use super::Kind::{I64 as INTEGER, Matrix, Size, U64, Vector};

    pub(in crate::elements) static RANDOM: Entry = entry("random", None, &[], FLOATS);
    pub(in crate::elements) static UNIFORM: Entry = Entry {
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
    pub(in crate::elements) static STANDARD_NORMAL: Entry = entry("standard_normal", None, &[], FLOATS);
    pub(in crate::elements) static NORMAL: Entry = entry("normal", Some("normal"), &[
        float("mean", FINITE, "loc is not finite").in_python("loc").or(0.0),
        float("sigma", FROM_0, "scale < 0").in_python("scale").or(1.0),
    ], FLOATS);
    pub(in crate::elements) static STANDARD_EXPONENTIAL: Entry = entry("standard_exponential", None, &[], FLOATS);
    pub(in crate::elements) static EXPONENTIAL: Entry = entry("exponential", Some("exponential"), &[
        float("scale", FROM_0, "scale < 0").or(1.0),
    ], FLOATS);
    pub(in crate::elements) static TRUNCATED_NORMAL: Entry = Entry {
        rule: rule!(truncated_normal),
        ..entry("truncated_normal", Some("truncated_normal"), &[
            float("mean", FINITE, "mean is not finite").in_python("loc").or(0.0),
            float("sigma", ABOVE_0, "sigma <= 0").in_python("scale").or(1.0),
            float("low", ANY, "low is NaN"), float("high", ANY, "high is NaN"),
        ], F64)
    };
    pub(in crate::elements) static LOGNORMAL: Entry = entry("lognormal", Some("lognormal"), &[
    float("mean", FINITE, "mean is not finite").or(0.0), float("sigma", FROM_0, "sigma < 0").or(1.0),
], F64);
pub(in crate::elements) static WEIBULL: Entry = entry("weibull", Some("weibull"), &[
    float("shape", FROM_0, "a < 0").in_python("a"),
], F64);
pub(in crate::elements) static CAUCHY: Entry = entry("standard_cauchy", Some("cauchy"), &[], F64);
pub(in crate::elements) static STANDARD_GAMMA: Entry = entry("standard_gamma", None, &[
    float("shape", FROM_0, "shape < 0"),
], F64);
pub(in crate::elements) static GAMMA: Entry = entry("gamma", Some("gamma"), &[
    float("shape", FROM_0, "shape < 0"), float("scale", FROM_0, "scale < 0").or(1.0),
], F64);
pub(in crate::elements) static CHI_SQUARE: Entry = entry("chisquare", Some("chisquare"), &[
    float("df", ABOVE_0, "df <= 0"),
], F64);
pub(in crate::elements) static NONCENTRAL_CHI_SQUARE: Entry = entry("noncentral_chisquare", None, &[
    float("df", ABOVE_0, "df <= 0"), float("nonc", UP_TO_MEAN, "nonc < 0, or nonc too large"),
], F64);
pub(in crate::elements) static BETA: Entry = entry("beta", Some("beta"), &[
    float("a", ABOVE_0, "a <= 0"), float("b", ABOVE_0, "b <= 0"),
], F64);
pub(in crate::elements) static F_RATIO: Entry = entry("f", None, &[
    float("dfnum", ABOVE_0, "dfnum <= 0"), float("dfden", ABOVE_0, "dfden <= 0"),
], F64);
pub(in crate::elements) static NONCENTRAL_F: Entry = entry("noncentral_f", None, &[
    float("dfnum", ABOVE_0, "dfnum <= 0"), float("dfden", ABOVE_0, "dfden <= 0"),
    float("nonc", UP_TO_MEAN, "nonc < 0, or nonc too large"),
], F64);
pub(in crate::elements) static STUDENT_T: Entry = entry("standard_t", Some("student_t"), &[
    float("df", ABOVE_0, "df <= 0"),
], F64);
pub(in crate::elements) static LAPLACE: Entry = entry("laplace", None, &[LOCATION, SCALE], F64);
pub(in crate::elements) static GUMBEL: Entry = entry("gumbel", None, &[LOCATION, SCALE], F64);
pub(in crate::elements) static LOGISTIC: Entry = entry("logistic", None, &[LOCATION, SCALE], F64);
pub(in crate::elements) static RAYLEIGH: Entry = entry("rayleigh", None, &[SCALE], F64);
pub(in crate::elements) static PARETO: Entry = entry("pareto", None, &[float("a", ABOVE_0, "a <= 0")], F64);
pub(in crate::elements) static POWER: Entry = entry("power", None, &[float("a", ABOVE_0, "a <= 0")], F64);
pub(in crate::elements) static TRIANGULAR: Entry = Entry {
    rule: rule!(triangular),
    ..entry("triangular", None, &[
        float("left", FINITE, "left is not finite"), float("mode", FINITE, "mode is not finite"),
        float("right", FINITE, "right is not finite"),
    ], F64)
};
pub(in crate::elements) static VON_MISES: Entry = entry("vonmises", None, &[
    float("mu", FINITE, "mu is not finite"), float("kappa", FROM_0, "kappa < 0"),
], F64);
pub(in crate::elements) static WALD: Entry = entry("wald", None, &[
    float("mean", ABOVE_0, "mean <= 0"), float("scale", ABOVE_0, "scale <= 0"),
], F64);
pub(in crate::elements) static GEOMETRIC: Entry = entry("geometric", Some("geometric"), &[
        float("p", ABOVE_0_TO_1, "p <= 0, p > 1 or p contains NaNs"),
    ], I64);
    pub(in crate::elements) static BINOMIAL: Entry = entry("binomial", Some("binomial"), &[
    parameter("n", INTEGER, COUNT, "n < 0"), float("p", SHARE, "p < 0, p > 1 or p is NaN"),
], I64);
pub(in crate::elements) static NEGATIVE_BINOMIAL: Entry = Entry {
    rule: rule!(negative_binomial),
    ..entry("negative_binomial", None, &[
        float("n", ABOVE_0, "n <= 0"), float("p", ABOVE_0_TO_1, "p <= 0, p > 1 or p is NaN"),
    ], I64)
};
pub(in crate::elements) static HYPERGEOMETRIC: Entry = Entry {
    rule: rule!(hypergeometric),
    ..entry("hypergeometric", None, &[
        parameter("ngood", INTEGER, BALLS, "ngood < 0 or ngood > 10^9"),
        parameter("nbad", INTEGER, BALLS, "nbad < 0 or nbad > 10^9"),
        parameter("nsample", INTEGER, COUNT, "nsample < 0"),
    ], I64)
};
pub(in crate::elements) static LOG_SERIES: Entry = entry("logseries", None, &[
    float("p", (Included(0.0), Excluded(1.0)), "p < 0, p >= 1 or p is NaN"),
], I64);
pub(in crate::elements) static ZIPF: Entry = entry("zipf", None, &[
    float("a", (Excluded(1.0), Excluded(f64::INFINITY)), "a <= 1 or a is NaN"),
], I64);
pub(in crate::elements) static POISSON: Entry = entry("poisson", Some("poisson"), &[
    float("mean", UP_TO_MEAN, "lam < 0, lam is NaN or lam value too large").in_python("lam").or(1.0),
], I64);
pub(in crate::elements) static INTEGERS: Entry = entry("integers", Some("integers"), &[
    parameter("low", INTEGER, ANY, "low is out of bounds"), parameter("high", INTEGER, ANY, "high is out of bounds"),
], &[
    Number::I64, Number::I32, Number::I16, Number::I8, Number::U64, Number::U32, Number::U16, Number::U8,
]);
pub(in crate::elements) static CHOICE: Entry = entry("choice", Some("choice"), &[
        parameter("weights", Vector, FROM_0, "probabilities are not non-negative").in_python("p"),
    ], I64);
    pub(in crate::elements) static SUBSETS: Entry = Entry {
        row: Some(1),
        ..entry("subsets", Some("subsets"), &[
            parameter("n", U64, COUNT_FROM_1, "n is not from 1 to 2^63 - 1"),
            parameter("k", Size, COUNT_FROM_1, "k is not from 1 to n"),
        ], I64)
    };
    pub(in crate::elements) static DIRICHLET: Entry = Entry {
        row: Some(0),
        ..entry("dirichlet", Some("dirichlet"), &[parameter("alpha", Vector, ABOVE_0, "alpha <= 0")], F64)
    };
    pub(in crate::elements) static MULTINOMIAL: Entry = Entry {
        row: Some(1),
        ..entry("multinomial", Some("multinomial"), &[
            parameter("n", INTEGER, COUNT, "n < 0"),
            parameter("p", Vector, SHARE, "pvals < 0, pvals > 1 or pvals contains NaNs").in_python("pvals"),
        ], I64)
    };
    pub(in crate::elements) static MULTIVARIATE_HYPERGEOMETRIC: Entry = Entry {
        row: Some(0),
        ..entry("multivariate_hypergeometric", None, &[
            parameter("colors", Vector, BALLS, "colors < 0 or colors > 10^9"),
            parameter("nsample", INTEGER, COUNT, "nsample < 0"),
        ], I64)
    };
    pub(in crate::elements) static MULTIVARIATE_NORMAL: Entry = Entry {
        row: Some(0),
        ..entry("multivariate_normal", Some("multivariate_normal"), &[
            parameter("mean", Vector, FINITE, "mean is not finite"),
            parameter("covariance", Matrix, FINITE, "cov is not finite").in_python("cov"),
        ], F64)
    };
    pub(in crate::elements) static SPHERE: Entry = Entry {
        row: Some(0),
        ..entry("sphere", Some("sphere"), &[parameter("dimensions", Size, COUNT_FROM_1, "dimensions < 1")], F64)
    };
    pub(in crate::elements) static SOBOL: Entry = Entry { row: Some(0), ..points("sobol") };
    pub(in crate::elements) static HALTON: Entry = Entry { row: Some(0), ..points("halton") };

    const LOCATION: Parameter = float("loc", FINITE, "loc is not finite").or(0.0);
    const SCALE: Parameter = float("scale", FROM_0, "scale < 0").or(1.0);

    const fn points(name: &'static str) -> Entry {
        const PARAMETERS: &[Parameter] =
            &[parameter("dimensions", Size, DIMENSIONS, "dimensions is not from 1 to 256")];
        entry(name, Some(name), PARAMETERS, F64)
    }
}

pub(in crate::elements) use entries::*;

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
pub(super) struct Given<'a>(&'a [Value]);

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

    pub(super) fn values<const N: usize>(self) -> Result<[f64; N], ElementError> {
        let values = self.all().ok_or(WRONG_KIND)?;
        values.try_into().map_err(|_| WRONG_KIND)
    }

    pub(super) fn integer(self, place: usize) -> Result<i64, ElementError> {
        match self.0.get(place) {
            Some(Value::Integer(value)) => Ok(*value),
            _ => Err(WRONG_KIND),
        }
    }

    pub(super) fn size(self, place: usize) -> Result<usize, ElementError> {
        usize::try_from(self.integer(place)?).map_err(|_| WRONG_KIND)
    }

    pub(super) fn vector(self, place: usize) -> Result<&'a [f64], ElementError> {
        match self.0.get(place) {
            Some(Value::Vector(values)) => Ok(values),
            _ => Err(WRONG_KIND),
        }
    }
}

const WRONG_KIND: ElementError =
    ElementError::Parameter("a parameter is missing, or it is of another kind");

pub(super) const NO_COLUMNS: ElementError =
    ElementError::Parameter("the distribution takes no such columns of parameters");

/// A column of values for each parameter.
#[derive(Clone, Copy)]
pub(super) struct Columns<'a>(&'a [&'a [f64]]);

impl<'a> Columns<'a> {
    pub(super) fn all<const N: usize>(self) -> Result<[&'a [f64]; N], ElementError> {
        self.0.try_into().map_err(|_| NO_COLUMNS)
    }
}
