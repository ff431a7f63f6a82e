//! The one table of distributions: the entry of each, with the functions that make its numbers of the values of parameters.
//!
//! The Python package draws and describes its methods from it. Tests in `bindings/python` and `bindings/c` compare signatures,
//! bounds and types with it.

use alloc::boxed::Box;

use super::continuous::Standard;
use super::entry::*;
use super::private::{Each, Sealed};
use super::{
    Beta, Binomial, Cauchy, Choice, Dirichlet, ElementError, Elements, F, Gamma, Geometric, Gumbel,
    Hypergeometric, Laplace, LogNormal, LogSeries, Logistic, Multinomial,
    MultivariateHypergeometric, MultivariateNormal, NegativeBinomial, NoncentralChiSquare,
    NoncentralF, Pareto, Poisson, Power, Rayleigh, Scaled, Sphere, StudentT, Subsets, Triangular,
    TruncatedNormal, VonMises, Wald, Weibull, Zipf,
};

pub use super::entry::{
    Bounds, Entry, Kind, Made, Number, Numbers, Parameter, RANGE_IS_INFINITE, Value,
};

/// The entry of a distribution of single numbers, with the function that makes it of its values.
macro_rules! of_values {
    ($entry:expr, $of:expr) => {
        Entry {
            make: Some(|given, _| made(Ok($of(given.values()?)))),
            fill_each: Some(|columns, elements, first, out| {
                each(columns, elements, first, out, $of)
            }),
            ..$entry
        }
    };
}

/// All distributions of arrays.
#[rustfmt::skip]
pub static TABLE: [&Entry; 44] = [
    &Entry {
        make: Some(|_, number| floats(number, Ok(Standard(Elements::uniform)), Ok(Standard(Elements::uniform)))),
        ..RANDOM
    },
    &Entry {
        make: Some(|p, number| {
            let [low, high] = p.values()?;
            floats(number, Scaled::uniform(low, high), Scaled::uniform(low, high))
        }),
        fill_each: Some(|columns, elements, first, out| match out {
            Numbers::F32(out) => Scaled::fill_uniform(elements, first, out, columns.all()?),
            out => Scaled::fill_uniform(elements, first, f64::of(out)?, columns.all()?),
        }),
        fill_checks: true,
        ..UNIFORM
    },
    &Entry {
        make: Some(|_, number| {
            floats(number, Ok(Standard(Elements::standard_normal)), Ok(Standard(Elements::standard_normal)))
        }),
        ..STANDARD_NORMAL
    },
    &Entry {
        make: Some(|p, number| {
            let [mean, sigma] = p.values()?;
            floats(number, Scaled::normal(mean, sigma), Scaled::normal(mean, sigma))
        }),
        fill_each: Some(|columns, elements, first, out| match out {
            Numbers::F32(out) => Scaled::fill_normal(elements, first, out, columns.all()?),
            out => Scaled::fill_normal(elements, first, f64::of(out)?, columns.all()?),
        }),
        fill_checks: true,
        ..NORMAL
    },
    &Entry {
        make: Some(|_, number| {
            floats(number, Ok(Standard(Elements::standard_exponential)), Ok(Standard(Elements::standard_exponential)))
        }),
        ..STANDARD_EXPONENTIAL
    },
    &Entry {
        make: Some(|p, number| {
            let [scale] = p.values()?;
            floats(number, Scaled::exponential(scale), Scaled::exponential(scale))
        }),
        fill_each: Some(|columns, elements, first, out| match out {
            Numbers::F32(out) => Scaled::fill_exponential(elements, first, out, columns.all()?),
            out => Scaled::fill_exponential(elements, first, f64::of(out)?, columns.all()?),
        }),
        fill_checks: true,
        ..EXPONENTIAL
    },
    &of_values!(TRUNCATED_NORMAL, TruncatedNormal::of),
    &of_values!(LOGNORMAL, LogNormal::of),
    &of_values!(WEIBULL, Weibull::of),
    &Entry { make: Some(|_, _| made(Ok(Cauchy))), ..CAUCHY },
    &of_values!(STANDARD_GAMMA, |[shape]: [f64; 1]| Gamma::of([shape, 1.0])),
    &of_values!(GAMMA, Gamma::of),
    &of_values!(CHI_SQUARE, |[df]: [f64; 1]| Gamma::of([df / 2.0, 2.0])),
    &of_values!(NONCENTRAL_CHI_SQUARE, NoncentralChiSquare::of),
    &of_values!(BETA, Beta::of),
    &of_values!(F_RATIO, F::of),
    &of_values!(NONCENTRAL_F, NoncentralF::of),
    &of_values!(STUDENT_T, StudentT::of),
    &of_values!(LAPLACE, Laplace::of),
    &of_values!(GUMBEL, Gumbel::of),
    &of_values!(LOGISTIC, Logistic::of),
    &of_values!(RAYLEIGH, Rayleigh::of),
    &of_values!(PARETO, Pareto::of),
    &of_values!(POWER, Power::of),
    &Entry {
        make: Some(|p, _| made(Ok(Triangular::of(p.values()?)))),
        fill_each: Some(|columns, elements, first, out| {
            Triangular::fill_columns(elements, first, f64::of(out)?, columns.all()?)
        }),
        ..TRIANGULAR
    },
    &of_values!(VON_MISES, VonMises::of),
    &of_values!(WALD, Wald::of),
    &Entry {
        fill_each: Some(|columns, elements, first, out| {
            Geometric::fill_columns(elements, first, i64::of(out)?, columns.all()?)
        }),
        ..of_values!(GEOMETRIC, Geometric::of)
    },
    &of_values!(BINOMIAL, Binomial::of_values),
    &of_values!(NEGATIVE_BINOMIAL, NegativeBinomial::of),
    &Entry {
        make: Some(|p, _| made(Ok(Hypergeometric::of(p.values()?)))),
        fill_each: Some(|columns, elements, first, out| {
            Hypergeometric::fill_columns(elements, first, i64::of(out)?, columns.all()?)
        }),
        ..HYPERGEOMETRIC
    },
    &of_values!(LOG_SERIES, LogSeries::of),
    &of_values!(ZIPF, Zipf::of),
    &of_values!(POISSON, Poisson::of),
    &INTEGERS,
    &Entry { make: Some(|p, _| made(Choice::new(p.vector(0)?))), ..CHOICE },
    &Entry { make: Some(|p, _| made(Subsets::new(p.integer(0)?.cast_unsigned(), p.size(1)?))), ..SUBSETS },
    &Entry { make: Some(|p, _| made(Dirichlet::new(p.vector(0)?))), ..DIRICHLET },
    &Entry { make: Some(|p, _| made(Multinomial::new(p.integer(0)?, p.vector(1)?))), ..MULTINOMIAL },
    &Entry {
        make: Some(|p, _| made(MultivariateHypergeometric::new(p.vector(0)?, p.integer(1)?))),
        ..MULTIVARIATE_HYPERGEOMETRIC
    },
    &Entry { make: Some(|p, _| made(MultivariateNormal::new(p.vector(0)?, p.vector(1)?))), ..MULTIVARIATE_NORMAL },
    &Entry { make: Some(|p, _| made(Sphere::new(p.size(0)?))), ..SPHERE },
    &SOBOL,
    &HALTON,
];

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
