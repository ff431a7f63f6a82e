//! Normal numbers between two bounds.

use super::private::Sealed;
use super::{ElementError, Elements, checked};
use crate::elements::arrays::Kind;
use crate::elements::functions::{exp, sqrt};
use crate::elements::words::Words;

/// The normal distribution between two bounds (C. P. Robert, "Simulation of truncated normal variables", 1995): exact in
/// the tails too, where a half and more of all proposals is accepted.
#[derive(Clone, Copy, Debug)]
pub struct TruncatedNormal {
    mean: f64,
    sigma: f64,
    low: f64,
    high: f64,
    /// The bounds in standard deviations, both with the other sign if `is_mirrored`; `from` is below `to`, and `to` above 0.
    from: f64,
    to: f64,
    is_mirrored: bool,
    proposal: Proposal,
}

/// From which distribution numbers are proposed.
#[derive(Clone, Copy, Debug)]
enum Proposal {
    /// The normal one; numbers outside of the bounds are rejected.
    Normal,
    /// The normal one without its sign.
    HalfNormal,
    /// The uniform one between the bounds. The density is largest at this number.
    Uniform(f64),
    /// The lower bound and an exponential number of this rate.
    Exponential(f64),
}

impl TruncatedNormal {
    /// Numbers of the normal distribution with this mean and standard deviation that lie between `low` and `high`. Either
    /// bound may be infinite.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `low` is not below `high`, `sigma` is not above 0, or another parameter is not finite.
    pub fn new(mean: f64, sigma: f64, low: f64, high: f64) -> Result<Self, ElementError> {
        checked(mean, mean.is_finite(), "mean is not finite")?;
        let is_positive = sigma > 0.0 && sigma.is_finite();
        checked(sigma, is_positive, "sigma <= 0")?;
        checked(low, low < high, "low >= high")?;
        let (mut from, mut to) = ((low - mean) / sigma, (high - mean) / sigma);
        // Squares of the bounds have to be floats.
        let is_near = from < 1e100 && to > -1e100 && from < to;
        checked(
            low,
            is_near,
            "low and high are too far from the mean, or too near each other",
        )?;
        let is_mirrored = to <= 0.0;
        if is_mirrored {
            (from, to) = (-to, -from);
        }
        Ok(Self {
            mean,
            sigma,
            low,
            high,
            from,
            to,
            is_mirrored,
            proposal: Proposal::for_bounds(from, to),
        })
    }

    #[inline(always)]
    fn draw(&self, words: &mut Words<'_>) -> f64 {
        let x = loop {
            let (x, is_accepted) = match self.proposal {
                Proposal::Normal => (words.next_normal(), true),
                Proposal::HalfNormal => (words.next_normal().abs(), true),
                Proposal::Uniform(top) => {
                    let x = self.from + (self.to - self.from) * words.next_uniform();
                    // An exponential number is above t with the probability exp(-t).
                    (x, words.next_exponential() >= 0.5 * (x - top) * (x + top))
                }
                Proposal::Exponential(rate) => {
                    let x = self.from + words.next_exponential() / rate;
                    (x, words.next_exponential() >= 0.5 * (x - rate) * (x - rate))
                }
            };
            if is_accepted && x >= self.from && x <= self.to {
                break x;
            }
        };
        let x = if self.is_mirrored { -x } else { x };
        // Rounding may have left the bounds.
        (self.mean + self.sigma * x).clamp(self.low, self.high)
    }
}

impl Proposal {
    fn for_bounds(from: f64, to: f64) -> Self {
        let length = to - from;
        if from <= 0.0 {
            // The root of 2 pi, where as many uniform proposals as normal ones are accepted.
            let is_wide = length > 2.5;
            return if is_wide {
                Self::Normal
            } else {
                Self::Uniform(0.0)
            };
        }
        let root = sqrt(from * from + 4.0);
        if from < 0.257 && length > 1.25 {
            return Self::HalfNormal;
        }
        let rate = 0.5 * (from + root);
        // Robert's bound, above which more of the exponential proposals are accepted.
        let wide = 2.0 / (from + root) * exp(0.5 + 0.25 * from * (from - root));
        if length > wide {
            Self::Exponential(rate)
        } else {
            Self::Uniform(from)
        }
    }
}

impl Sealed for TruncatedNormal {
    type Number = f64;

    fn fill(&self, elements: &Elements, first: u64, out: &mut [f64]) -> Result<(), ElementError> {
        elements.fill_each::<32, _>(Kind::TruncatedNormal, first, out, |words| self.draw(words))
    }
}
