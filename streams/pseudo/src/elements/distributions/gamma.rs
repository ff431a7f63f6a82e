//! Gamma numbers, and what is made of them.

use super::private::Sealed;
use super::{ElementError, Elements, checked};
use crate::elements::arrays::Kind;
use crate::elements::functions::{exp, ln, sqrt};
use crate::elements::words::Words;

/// The gamma distribution (G. Marsaglia, W. W. Tsang, "A simple method for generating gamma variables", 2000).
#[derive(Clone, Copy, Debug)]
pub struct Gamma {
    standard: StandardGamma,
    scale: f64,
}

impl Gamma {
    /// The mean is `shape` times `scale`. For the shape 0 all numbers are 0, as in NumPy.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if a parameter is below 0 or not finite.
    pub fn new(shape: f64, scale: f64) -> Result<Self, ElementError> {
        let shape = checked(shape, (0.0..f64::INFINITY).contains(&shape), "shape < 0")?;
        let scale = checked(scale, (0.0..f64::INFINITY).contains(&scale), "scale < 0")?;
        Ok(Self {
            standard: StandardGamma::new(shape),
            scale,
        })
    }

    /// The chi-square distribution, which is the gamma distribution with the shape `df` / 2 and the scale 2.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `df` is not above 0 or not finite.
    pub fn chi_square(df: f64) -> Result<Self, ElementError> {
        Self::new(positive(df, "df <= 0")? / 2.0, 2.0)
    }
}

fn positive(value: f64, reason: &'static str) -> Result<f64, ElementError> {
    checked(value, value > 0.0 && value < f64::INFINITY, reason)
}

impl Sealed for Gamma {
    type Number = f64;

    fn fill(&self, elements: &Elements, first: u64, out: &mut [f64]) -> Result<(), ElementError> {
        let Self { standard, scale } = *self;
        elements.fill_each::<32, _>(Kind::Gamma, first, out, |words| {
            scale * standard.draw(words)
        })
    }
}

/// The gamma distribution with scale 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct StandardGamma {
    shape: f64,
    /// The shape, or the shape + 1 if that is below 1, minus 1/3.
    d: f64,
    /// 1 / sqrt(9 d).
    c: f64,
}

/// The factor of all shapes where quotients of gamma numbers are drawn. If the largest shape is that small, the
/// logarithms of all numbers would be infinite, and to 10^-268 the quotients depend only on the quotients of the shapes.
pub(super) fn common_factor(largest_shape: f64) -> f64 {
    if largest_shape < 1e-270 { 1e60 } else { 1.0 }
}

impl StandardGamma {
    /// The shape is finite and not below 0.
    pub(super) fn new(shape: f64) -> Self {
        let raised = if shape < 1.0 { shape + 1.0 } else { shape };
        let d = raised - 1.0 / 3.0;
        let c = 1.0 / sqrt(9.0 * d);
        Self { shape, d, c }
    }

    #[inline(always)]
    pub(super) fn draw(self, words: &mut Words<'_>) -> f64 {
        if self.shape >= 1.0 {
            return self.draw_raised(words);
        }
        if self.shape == 0.0 {
            return 0.0;
        }
        let (x, root) = self.draw_parts(words);
        x * exp(root)
    }

    /// A number in two parts, x e^r, which may be too small for a float. The shape is above 0.
    #[inline(always)]
    pub(super) fn draw_parts(self, words: &mut Words<'_>) -> (f64, f64) {
        let root = if self.shape >= 1.0 {
            0.0
        } else {
            ln(words.next_positive()) / self.shape
        };
        (self.draw_raised(words), root)
    }

    /// A number of a shape that is at least 1.
    #[inline(always)]
    fn draw_raised(self, words: &mut Words<'_>) -> f64 {
        loop {
            let x = words.next_normal();
            let root = 1.0 + self.c * x;
            if root <= 0.0 {
                continue;
            }
            let v = root * root * root;
            let u = words.next_positive();
            let square = x * x;
            if u < 1.0 - 0.0331 * square * square
                || ln(u) < 0.5 * square + self.d * (1.0 - v + ln(v))
            {
                return self.d * v;
            }
        }
    }
}

/// The beta distribution: x / (x + y) of two gamma numbers.
#[derive(Clone, Copy, Debug)]
pub struct Beta {
    a: StandardGamma,
    b: StandardGamma,
}

impl Beta {
    /// The mean is `a` / (`a` + `b`).
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if a parameter is not above 0 or not finite.
    pub fn new(a: f64, b: f64) -> Result<Self, ElementError> {
        let (a, b) = (positive(a, "a <= 0")?, positive(b, "b <= 0")?);
        let factor = common_factor(a.max(b));
        Ok(Self {
            a: StandardGamma::new(factor * a),
            b: StandardGamma::new(factor * b),
        })
    }
}

impl Sealed for Beta {
    type Number = f64;

    fn fill(&self, elements: &Elements, first: u64, out: &mut [f64]) -> Result<(), ElementError> {
        let Self { a, b } = *self;
        if a.shape >= 1.0 && b.shape >= 1.0 {
            return elements.fill_each::<64, _>(Kind::Beta, first, out, |words| {
                let x = a.draw(words);
                x / (x + b.draw(words))
            });
        }
        // Both may be too small for a float, and still have a quotient.
        elements.fill_each::<64, _>(Kind::Beta, first, out, |words| {
            let (x, x_root) = a.draw_parts(words);
            let (y, y_root) = b.draw_parts(words);
            1.0 / (1.0 + y / x * exp(y_root - x_root))
        })
    }
}

/// Student's t distribution.
#[derive(Clone, Copy, Debug)]
pub struct StudentT {
    df: f64,
    half: StandardGamma,
}

impl StudentT {
    /// The distribution with `df` degrees of freedom.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `df` is not above 0 or not finite.
    pub fn new(df: f64) -> Result<Self, ElementError> {
        // With fewer degrees of freedom all numbers are infinite, too; half of the least float would be 0.
        let df = positive(df, "df <= 0")?.max(1e-300);
        let half = StandardGamma::new(df / 2.0);
        Ok(Self { df, half })
    }
}

impl Sealed for StudentT {
    type Number = f64;

    fn fill(&self, elements: &Elements, first: u64, out: &mut [f64]) -> Result<(), ElementError> {
        let Self { df, half } = *self;
        elements.fill_each::<32, _>(Kind::StudentT, first, out, |words| {
            let normal = words.next_normal();
            normal * sqrt(0.5 * df / half.draw(words))
        })
    }
}
