//! Numbers that are a function of one or two normal or exponential numbers.

use wellspring_cipher::SimdTask;

use super::private::Sealed;
use super::{ElementError, Elements, checked};
use crate::elements::arrays::{Kind, check_range};
use crate::elements::functions::{exp, ln};

/// Numbers whose logarithm is normal.
#[derive(Clone, Copy, Debug)]
pub struct LogNormal {
    mean: f64,
    sigma: f64,
}

impl LogNormal {
    /// The logarithm has this mean and this standard deviation.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `sigma` is below 0 or a parameter is not finite.
    pub fn new(mean: f64, sigma: f64) -> Result<Self, ElementError> {
        Ok(Self {
            mean: checked(mean, mean.is_finite(), "mean is not finite")?,
            sigma: checked(sigma, (0.0..f64::INFINITY).contains(&sigma), "sigma < 0")?,
        })
    }
}

/// Applies a function to each number, at the width of registers that it is compiled for.
struct Map<'a, F> {
    numbers: &'a mut [f64],
    map: F,
}

impl<F: Fn(f64) -> f64> SimdTask for Map<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for number in self.numbers {
            *number = (self.map)(*number);
        }
    }
}

/// Numbers that are made and then mapped: they stay in the first cache.
const MAPPED_AT_A_TIME: usize = 1024;

fn map(
    elements: &Elements,
    first: u64,
    out: &mut [f64],
    make: impl Fn(u64, &mut [f64]) -> Result<(), ElementError>,
    map: impl Fn(f64) -> f64 + Copy,
) -> Result<(), ElementError> {
    // Nothing is written if the last index does not exist.
    check_range(first, out.len())?;
    for (number, chunk) in out.chunks_mut(MAPPED_AT_A_TIME).enumerate() {
        make(first + (number * MAPPED_AT_A_TIME) as u64, chunk)?;
        elements.width.run(Map {
            numbers: chunk,
            map,
        });
    }
    Ok(())
}

impl Sealed for LogNormal {
    type Number = f64;

    fn fill(&self, elements: &Elements, first: u64, out: &mut [f64]) -> Result<(), ElementError> {
        let Self { mean, sigma } = *self;
        let make = |first, out: &mut [f64]| elements.normals(Kind::LogNormal, first, out);
        map(elements, first, out, make, |x| exp(mean + sigma * x))
    }
}

/// The Weibull distribution with scale 1: a power of an exponential number.
#[derive(Clone, Copy, Debug)]
pub struct Weibull {
    shape: f64,
}

impl Weibull {
    /// Numbers x for which x^`shape` is exponential; for the shape 0 all are 0, as in NumPy.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `shape` is below 0 or not finite.
    pub fn new(shape: f64) -> Result<Self, ElementError> {
        let shape = checked(shape, (0.0..f64::INFINITY).contains(&shape), "a < 0")?;
        Ok(Self { shape })
    }
}

impl Sealed for Weibull {
    type Number = f64;

    fn fill(&self, elements: &Elements, first: u64, out: &mut [f64]) -> Result<(), ElementError> {
        let shape = self.shape;
        let make = |first, out: &mut [f64]| elements.exponentials(Kind::Weibull, first, out);
        map(elements, first, out, make, |x| {
            let power = exp(ln(x) / shape);
            if x == 0.0 || shape == 0.0 { 0.0 } else { power }
        })
    }
}

/// The Cauchy distribution around 0 with scale 1: the quotient of two normal numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cauchy;

impl Sealed for Cauchy {
    type Number = f64;

    fn fill(&self, elements: &Elements, first: u64, out: &mut [f64]) -> Result<(), ElementError> {
        elements.fill_each::<16, _>(Kind::Cauchy, first, out, |words| {
            let numerator = words.next_normal();
            numerator / words.next_normal()
        })
    }
}
