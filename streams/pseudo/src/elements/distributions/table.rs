//! The one table of distributions: the name of each, its parameters with their bounds, and what an element is.
//!
//! The constructors check their parameters against it. The Python package draws and describes its methods from it. Tests in
//! `bindings/python` and `bindings/c` compare signatures, bounds and types with it.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Bound::{Excluded, Included};
use core::ops::{Bound, RangeBounds};

use super::continuous::Standard;
use super::private::Sealed;
use super::{
    Beta, Binomial, Cauchy, Choice, Dirichlet, Distribution, ElementError, Elements, Gamma,
    Geometric, LogNormal, Multinomial, MultivariateNormal, Poisson, Scaled, Sphere, StudentT,
    Subsets, TruncatedNormal, Weibull,
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

const FINITE: Bounds = (Excluded(f64::NEG_INFINITY), Excluded(f64::INFINITY));
const ANY: Bounds = (Included(f64::NEG_INFINITY), Included(f64::INFINITY));
const FROM_0: Bounds = (Included(0.0), Excluded(f64::INFINITY));
const ABOVE_0: Bounds = (Excluded(0.0), Excluded(f64::INFINITY));
const SHARE: Bounds = (Included(0.0), Included(1.0));
// The largest number of 63 bits, as a float.
const COUNT: Bounds = (Included(0.0), Included(TWO_TO_63));
const COUNT_FROM_1: Bounds = (Included(1.0), Included(TWO_TO_63));
const DIMENSIONS: Bounds = (Included(1.0), Included(MAX_DIMENSIONS as f64));
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

const FLOATS: &[Number] = &[Number::F64, Number::F32];
const F64: &[Number] = &[Number::F64];
const I64: &[Number] = &[Number::I64];

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
            let (low, high) = (p.float(0)?, p.float(1)?);
            floats(number, Scaled::uniform(low, high), Scaled::uniform(low, high))
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
            let (mean, sigma) = (p.float(0)?, p.float(1)?);
            floats(number, Scaled::normal(mean, sigma), Scaled::normal(mean, sigma))
        }),
        ..entry("normal", Some("normal"), &[
            float("mean", FINITE, "loc is not finite").in_python("loc").or(0.0),
            float("sigma", FROM_0, "scale < 0").in_python("scale").or(1.0),
        ], FLOATS)
    };
    pub(crate) static EXPONENTIAL: Entry = Entry {
        make: Some(|p, number| floats(number, Scaled::exponential(p.float(0)?), Scaled::exponential(p.float(0)?))),
        ..entry("exponential", Some("exponential"), &[float("scale", FROM_0, "scale < 0").or(1.0)], FLOATS)
    };
    pub(crate) static TRUNCATED_NORMAL: Entry = Entry {
        make: Some(|p, _| made(TruncatedNormal::new(p.float(0)?, p.float(1)?, p.float(2)?, p.float(3)?))),
        ..entry("truncated_normal", Some("truncated_normal"), &[
            float("mean", FINITE, "mean is not finite").in_python("loc").or(0.0),
            float("sigma", ABOVE_0, "sigma <= 0").in_python("scale").or(1.0),
            float("low", ANY, "low is NaN"), float("high", ANY, "high is NaN"),
        ], F64)
    };
    pub(crate) static LOGNORMAL: Entry = Entry {
        make: Some(|p, _| made(LogNormal::new(p.float(0)?, p.float(1)?))),
        ..entry("lognormal", Some("lognormal"), &[
            float("mean", FINITE, "mean is not finite").or(0.0), float("sigma", FROM_0, "sigma < 0").or(1.0),
        ], F64)
    };
    pub(crate) static WEIBULL: Entry = Entry {
        make: Some(|p, _| made(Weibull::new(p.float(0)?))),
        ..entry("weibull", Some("weibull"), &[float("shape", FROM_0, "a < 0").in_python("a")], F64)
    };
    pub(crate) static CAUCHY: Entry = Entry {
        make: Some(|_, _| made(Ok(Cauchy))),
        ..entry("standard_cauchy", Some("cauchy"), &[], F64)
    };
    pub(crate) static GAMMA: Entry = Entry {
        make: Some(|p, _| made(Gamma::new(p.float(0)?, p.float(1)?))),
        ..entry("gamma", Some("gamma"), &[
            float("shape", FROM_0, "shape < 0"), float("scale", FROM_0, "scale < 0").or(1.0),
        ], F64)
    };
    pub(crate) static CHI_SQUARE: Entry = Entry {
        make: Some(|p, _| made(Gamma::chi_square(p.float(0)?))),
        ..entry("chisquare", Some("chisquare"), &[float("df", ABOVE_0, "df <= 0")], F64)
    };
    pub(crate) static BETA: Entry = Entry {
        make: Some(|p, _| made(Beta::new(p.float(0)?, p.float(1)?))),
        ..entry("beta", Some("beta"), &[float("a", ABOVE_0, "a <= 0"), float("b", ABOVE_0, "b <= 0")], F64)
    };
    pub(crate) static STUDENT_T: Entry = Entry {
        make: Some(|p, _| made(StudentT::new(p.float(0)?))),
        ..entry("standard_t", Some("student_t"), &[float("df", ABOVE_0, "df <= 0")], F64)
    };
    pub(crate) static GEOMETRIC: Entry = Entry {
        make: Some(|p, _| made(Geometric::new(p.float(0)?))),
        ..entry("geometric", Some("geometric"), &[
            float("p", (Excluded(0.0), Included(1.0)), "p <= 0, p > 1 or p contains NaNs"),
        ], I64)
    };
    pub(crate) static BINOMIAL: Entry = Entry {
        make: Some(|p, _| made(Binomial::new(p.integer(0)?, p.float(1)?))),
        ..entry("binomial", Some("binomial"), &[
            parameter("n", INTEGER, COUNT, "n < 0"), float("p", SHARE, "p < 0, p > 1 or p is NaN"),
        ], I64)
    };
    pub(crate) static POISSON: Entry = Entry {
        make: Some(|p, _| made(Poisson::new(p.float(0)?))),
        ..entry("poisson", Some("poisson"), &[
            float("mean", (Included(0.0), Included(Poisson::MAX_MEAN)), "lam < 0, lam is NaN or lam value too large")
                .in_python("lam").or(1.0),
        ], I64)
    };
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

    const fn points(name: &'static str) -> Entry {
        const PARAMETERS: &[Parameter] =
            &[parameter("dimensions", Size, DIMENSIONS, "dimensions is not from 1 to 256")];
        entry(name, Some(name), PARAMETERS, F64)
    }
}

pub(crate) use entries::*;

/// All distributions of arrays.
pub static TABLE: [&Entry; 25] = [
    &RANDOM,
    &UNIFORM,
    &STANDARD_NORMAL,
    &NORMAL,
    &EXPONENTIAL,
    &TRUNCATED_NORMAL,
    &LOGNORMAL,
    &WEIBULL,
    &CAUCHY,
    &GAMMA,
    &CHI_SQUARE,
    &BETA,
    &STUDENT_T,
    &GEOMETRIC,
    &BINOMIAL,
    &POISSON,
    &INTEGERS,
    &CHOICE,
    &SUBSETS,
    &DIRICHLET,
    &MULTINOMIAL,
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
        self.make.map(|make| make(Given(values), number))
    }

    /// Checks the parameters that are single numbers, in their order.
    pub(crate) fn check(&self, values: &[f64]) -> Result<(), ElementError> {
        for (parameter, value) in self.parameters.iter().zip(values) {
            parameter.check(*value)?;
        }
        Ok(())
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
    fn float(self, place: usize) -> Result<f64, ElementError> {
        match self.0.get(place) {
            Some(Value::Float(value)) => Ok(*value),
            _ => Err(WRONG_KIND),
        }
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

/// The type of numbers says how a distribution is boxed.
trait Boxed: Copy + 'static {
    fn boxed(distribution: impl Sealed<Number = Self> + Sync + 'static) -> Made;
}

impl Boxed for f64 {
    fn boxed(distribution: impl Sealed<Number = Self> + Sync + 'static) -> Made {
        Made::F64(Box::new(distribution))
    }
}

impl Boxed for f32 {
    fn boxed(distribution: impl Sealed<Number = Self> + Sync + 'static) -> Made {
        Made::F32(Box::new(distribution))
    }
}

impl Boxed for i64 {
    fn boxed(distribution: impl Sealed<Number = Self> + Sync + 'static) -> Made {
        Made::I64(Box::new(distribution))
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
