//! Distributions with parameters by their names, and points of sequences.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use wellspring_pseudo::distributions::{
    Beta, Binomial, Cauchy, Choice, Dirichlet, Distribution, Gamma, Geometric, LogNormal,
    Multinomial, MultivariateNormal, Poisson, Sphere, StudentT, Subsets, TruncatedNormal, Weibull,
};
use wellspring_pseudo::{ElementError, Elements, Halton, Sobol};

use crate::block::{Block, Start, fill_in_pieces};
use crate::buffer::Elements as Out;

/// Where numbers go.
pub(crate) struct Place<'py, 'a> {
    pub(crate) py: Python<'py>,
    pub(crate) elements: &'a Elements,
    pub(crate) out: Out<'a>,
    pub(crate) start: Start,
    pub(crate) threads: usize,
}

fn refused(error: ElementError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn parameters<const N: usize>(floats: &[f64]) -> PyResult<[f64; N]> {
    let wrong = || PyValueError::new_err("wrong number of parameters");
    floats.try_into().map_err(|_| wrong())
}

/// Fills a place with elements of the distribution of this name.
pub(crate) fn draw(
    name: &str,
    integers: &[i64],
    floats: &[f64],
    place: Place<'_, '_>,
) -> PyResult<()> {
    let n = integers.first().copied().unwrap_or(0);
    match name {
        "lognormal" => {
            let [mean, sigma] = parameters(floats)?;
            place.floats(LogNormal::new(mean, sigma), 1)
        }
        "weibull" => place.floats(Weibull::new(parameters::<1>(floats)?[0]), 1),
        "cauchy" => place.floats(Ok(Cauchy), 1),
        "gamma" => {
            let [shape, scale] = parameters(floats)?;
            place.floats(Gamma::new(shape, scale), 1)
        }
        "chisquare" => place.floats(Gamma::chi_square(parameters::<1>(floats)?[0]), 1),
        "beta" => {
            let [a, b] = parameters(floats)?;
            place.floats(Beta::new(a, b), 1)
        }
        "t" => place.floats(StudentT::new(parameters::<1>(floats)?[0]), 1),
        "truncated" => {
            let [mean, sigma, low, high] = parameters(floats)?;
            place.floats(TruncatedNormal::new(mean, sigma, low, high), 1)
        }
        "geometric" => place.counts(Geometric::new(parameters::<1>(floats)?[0]), 1),
        "binomial" => place.counts(Binomial::new(n, parameters::<1>(floats)?[0]), 1),
        "poisson" => place.counts(Poisson::new(parameters::<1>(floats)?[0]), 1),
        "choice" => place.counts(Choice::new(floats), 1),
        "subsets" => {
            let k = integers.get(1).copied().unwrap_or(0);
            let (n, k) = (
                u64::try_from(n).unwrap_or(0),
                usize::try_from(k).unwrap_or(0),
            );
            place.counts(Subsets::new(n, k), k)
        }
        "dirichlet" => place.floats(Dirichlet::new(floats), floats.len()),
        "multinomial" => place.counts(Multinomial::new(n, floats), floats.len()),
        "multivariate_normal" => {
            let k = usize::try_from(n).unwrap_or(0).min(floats.len());
            let (mean, covariance) = floats.split_at(k);
            place.floats(MultivariateNormal::new(mean, covariance), k)
        }
        "sphere" => {
            let dimensions = usize::try_from(n).unwrap_or(0);
            place.floats(Sphere::new(dimensions), dimensions)
        }
        other => Err(PyValueError::new_err(format!(
            "unknown distribution '{other}'"
        ))),
    }
}

/// Fills a place with points.
pub(crate) fn points(
    sequence: &str,
    dimensions: usize,
    scramble: bool,
    place: Place<'_, '_>,
) -> PyResult<()> {
    let elements = place.elements;
    match (sequence, scramble) {
        ("sobol", true) => {
            let sobol = elements.sobol(dimensions).map_err(refused)?;
            place.points(dimensions, |first, out| sobol.fill(first, out))
        }
        ("sobol", false) => {
            let sobol = Sobol::plain(dimensions).map_err(refused)?;
            place.points(dimensions, |first, out| sobol.fill(first, out))
        }
        ("halton", true) => {
            let halton = elements.halton(dimensions).map_err(refused)?;
            place.points(dimensions, |first, out| halton.fill(first, out))
        }
        ("halton", false) => {
            let halton = Halton::plain(dimensions).map_err(refused)?;
            place.points(dimensions, |first, out| halton.fill(first, out))
        }
        (other, _) => Err(PyValueError::new_err(format!("unknown sequence '{other}'"))),
    }
}

impl Place<'_, '_> {
    fn floats<D>(self, distribution: Result<D, ElementError>, width: usize) -> PyResult<()>
    where
        D: Distribution<Number = f64> + Sync,
    {
        let distribution = distribution.map_err(refused)?;
        let Out::F64(out) = self.out else {
            return Err(PyTypeError::new_err("out must have elements of float64"));
        };
        let fill = |first, out: &mut [f64]| self.elements.draw(&distribution, first, out);
        fill_rows(self.py, out, width, self.start, self.threads, fill)
    }

    fn counts<D>(self, distribution: Result<D, ElementError>, width: usize) -> PyResult<()>
    where
        D: Distribution<Number = i64> + Sync,
    {
        let distribution = distribution.map_err(refused)?;
        let Out::I64(out) = self.out else {
            return Err(PyTypeError::new_err("out must have elements of int64"));
        };
        let fill = |first, out: &mut [i64]| self.elements.draw(&distribution, first, out);
        fill_rows(self.py, out, width, self.start, self.threads, fill)
    }

    fn points(
        self,
        dimensions: usize,
        fill: impl Fn(u64, &mut [f64]) -> Result<(), ElementError> + Sync,
    ) -> PyResult<()> {
        let Out::F64(out) = self.out else {
            return Err(PyTypeError::new_err("out must have elements of float64"));
        };
        fill_rows(self.py, out, dimensions, self.start, self.threads, fill)
    }
}

/// Fills `out` with rows of so many numbers; rows of one number may lie in a block.
fn fill_rows<T: Send + Copy>(
    py: Python<'_>,
    out: &mut [T],
    width: usize,
    start: Start,
    threads: usize,
    fill: impl Fn(u64, &mut [T]) -> Result<(), ElementError> + Sync,
) -> PyResult<()> {
    let expect_made = |result: Result<(), ElementError>| {
        result.expect("the indices of a block and the rows were checked");
    };
    if width == 1 {
        let block = Block::new(start, out.len())?;
        py.detach(|| block.fill(out, threads, |first, piece| expect_made(fill(first, piece))));
        return Ok(());
    }
    let (first, outer) = start;
    if !outer.is_empty() {
        return Err(PyValueError::new_err("rows have no blocks"));
    }
    if width == 0 || !out.len().is_multiple_of(width) {
        return Err(PyValueError::new_err("out does not hold whole rows"));
    }
    // As many rows have indices of their own.
    let end = u128::from(first) * width as u128 + out.len() as u128;
    if end > 1 << 64 {
        return Err(PyValueError::new_err(format!(
            "first: {}",
            ElementError::PastTheEnd
        )));
    }
    if out.is_empty() {
        return Ok(());
    }
    py.detach(|| {
        fill_in_pieces(out, width, threads, &|start, piece| {
            expect_made(fill(first + (start / width) as u64, piece));
        });
    });
    Ok(())
}
