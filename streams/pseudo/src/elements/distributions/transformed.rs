//! Functions of one or a few numbers: Laplace, Gumbel, logistic, Rayleigh, Pareto, power, triangular, von Mises and Wald; F,
//! and the noncentral chi-square and F distributions.

use wellspring_cipher::SimdTask;

use super::continuous::{StandardGamma, map};
use super::counts::Poisson;
use super::drawn;
use super::entry::{
    F_RATIO, GUMBEL, LAPLACE, LOGISTIC, NONCENTRAL_CHI_SQUARE, NONCENTRAL_F, PARETO, POWER,
    RAYLEIGH, TRIANGULAR, VON_MISES, WALD,
};
use super::private::{Each, Sealed};
use super::{ElementError, Elements};
use crate::elements::arrays::{Kind, Words};
use crate::elements::functions::{atan, exp, exp_m1, ln, sqrt};

/// A distribution whose numbers are a function `at` of a standard number each: the type, its kind, and the function of
/// [`Elements`] that makes standard numbers. If these must be above 0: what draws them so from the words of an element.
macro_rules! mapped {
    ($type:ident, $kind:ident, $make:ident $(, $above_0:ident)?) => {
        impl Sealed for $type {
            type Number = f64;

            fn fill(&self, elements: &Elements, first: u64, out: &mut [f64]) -> Result<(), ElementError> {
                let own = *self;
                let make = |first, out: &mut [f64]| {
                    elements.$make(Kind::$kind, first, out)?;
                    $(draw_zeros_again(elements, Kind::$kind, first, out, |words| words.$above_0())?;)?
                    Ok(())
                };
                map(elements, first, out, make, |x| own.at(x))
            }
        }

        drawn!(each $type, f64, $kind, 8);
    };
}

/// Makes new numbers in the place of zeros, which come once in 2^53 numbers at most.
pub(super) fn draw_zeros_again(
    elements: &Elements,
    kind: Kind,
    first: u64,
    out: &mut [f64],
    draw: impl Fn(&mut Words<'_>) -> f64,
) -> Result<(), ElementError> {
    for (offset, place) in out.iter_mut().enumerate() {
        if *place == 0.0 {
            let index = first + offset as u64;
            let place = core::slice::from_mut(place);
            elements.fill_each::<8, _>(kind, index, place, |words| draw(words))?;
        }
    }
    Ok(())
}

impl Words<'_> {
    /// A uniform number above 0.
    #[inline(always)]
    fn next_uniform_above_0(&mut self) -> f64 {
        loop {
            let number = self.next_uniform();
            if number > 0.0 {
                return number;
            }
        }
    }

    /// An exponential number above 0.
    #[inline(always)]
    fn next_exponential_above_0(&mut self) -> f64 {
        loop {
            let number = self.next_exponential();
            if number > 0.0 {
                return number;
            }
        }
    }
}

/// The Laplace distribution: the difference of two exponential numbers.
#[derive(Clone, Copy, Debug)]
pub struct Laplace {
    location: f64,
    scale: f64,
}

impl Laplace {
    /// The mean is `location`, and the mean distance from it `scale`.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `scale` is below 0 or a parameter is not finite.
    pub fn new(location: f64, scale: f64) -> Result<Self, ElementError> {
        LAPLACE.check(&[location, scale])?;
        Ok(Self::of([location, scale]))
    }

    pub(super) fn of([location, scale]: [f64; 2]) -> Self {
        Self { location, scale }
    }

    #[inline(always)]
    fn draw(self, words: &mut Words<'_>) -> f64 {
        let above = words.next_exponential();
        self.location + self.scale * (above - words.next_exponential())
    }
}

drawn!(Laplace, f64, Laplace, 16);

/// The Gumbel distribution: the logarithm of an exponential number, with the other sign.
#[derive(Clone, Copy, Debug)]
pub struct Gumbel {
    location: f64,
    scale: f64,
}

impl Gumbel {
    /// The most likely number is `location`.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `scale` is below 0 or a parameter is not finite.
    pub fn new(location: f64, scale: f64) -> Result<Self, ElementError> {
        GUMBEL.check(&[location, scale])?;
        Ok(Self::of([location, scale]))
    }

    pub(super) fn of([location, scale]: [f64; 2]) -> Self {
        Self { location, scale }
    }

    #[inline(always)]
    fn draw(self, words: &mut Words<'_>) -> f64 {
        self.at(words.next_exponential_above_0())
    }

    #[inline(always)]
    fn at(self, x: f64) -> f64 {
        self.location - self.scale * ln(x)
    }
}

mapped!(Gumbel, Gumbel, exponentials, next_exponential_above_0);

/// The logistic distribution: the logarithm of the odds u / (1 - u) of a uniform number.
#[derive(Clone, Copy, Debug)]
pub struct Logistic {
    location: f64,
    scale: f64,
}

impl Logistic {
    /// The mean is `location`.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `scale` is below 0 or a parameter is not finite.
    pub fn new(location: f64, scale: f64) -> Result<Self, ElementError> {
        LOGISTIC.check(&[location, scale])?;
        Ok(Self::of([location, scale]))
    }

    pub(super) fn of([location, scale]: [f64; 2]) -> Self {
        Self { location, scale }
    }

    #[inline(always)]
    fn draw(self, words: &mut Words<'_>) -> f64 {
        self.at(words.next_uniform_above_0())
    }

    #[inline(always)]
    fn at(self, u: f64) -> f64 {
        self.location + self.scale * ln(u / (1.0 - u))
    }
}

mapped!(Logistic, Logistic, uniforms, next_uniform_above_0);

/// The Rayleigh distribution: the length of two normal numbers, which is the root of twice an exponential number.
#[derive(Clone, Copy, Debug)]
pub struct Rayleigh {
    scale: f64,
}

impl Rayleigh {
    /// The most likely number is `scale`.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `scale` is below 0 or not finite.
    pub fn new(scale: f64) -> Result<Self, ElementError> {
        RAYLEIGH.check(&[scale])?;
        Ok(Self::of([scale]))
    }

    pub(super) fn of([scale]: [f64; 1]) -> Self {
        Self { scale }
    }

    #[inline(always)]
    fn draw(self, words: &mut Words<'_>) -> f64 {
        self.at(words.next_exponential())
    }

    #[inline(always)]
    fn at(self, x: f64) -> f64 {
        self.scale * sqrt(2.0 * x)
    }
}

mapped!(Rayleigh, Rayleigh, exponentials);

/// The Lomax distribution, which is a Pareto distribution that begins at 0 and not at 1.
#[derive(Clone, Copy, Debug)]
pub struct Pareto {
    shape: f64,
}

impl Pareto {
    /// A number is above x with the probability (1 + x)^-`shape`.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `shape` is not above 0 or not finite.
    pub fn new(shape: f64) -> Result<Self, ElementError> {
        PARETO.check(&[shape])?;
        Ok(Self::of([shape]))
    }

    pub(super) fn of([shape]: [f64; 1]) -> Self {
        Self { shape }
    }

    #[inline(always)]
    fn draw(self, words: &mut Words<'_>) -> f64 {
        self.at(words.next_exponential())
    }

    #[inline(always)]
    fn at(self, x: f64) -> f64 {
        exp_m1(x / self.shape)
    }
}

mapped!(Pareto, Pareto, exponentials);

/// Powers of uniform numbers.
#[derive(Clone, Copy, Debug)]
pub struct Power {
    shape: f64,
}

impl Power {
    /// A number from 0 to 1 is below x with the probability x^`shape`.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `shape` is not above 0 or not finite.
    pub fn new(shape: f64) -> Result<Self, ElementError> {
        POWER.check(&[shape])?;
        Ok(Self::of([shape]))
    }

    pub(super) fn of([shape]: [f64; 1]) -> Self {
        Self { shape }
    }

    #[inline(always)]
    fn draw(self, words: &mut Words<'_>) -> f64 {
        self.at(words.next_uniform())
    }

    #[inline(always)]
    fn at(self, u: f64) -> f64 {
        exp(ln(1.0 - u) / self.shape)
    }
}

mapped!(Power, Power, uniforms);

/// The triangular distribution, by inversion.
#[derive(Clone, Copy, Debug)]
pub struct Triangular {
    left: f64,
    right: f64,
    /// The probability of a number below the mode.
    share: f64,
    /// The length of the whole times the length of the part on either side of the mode.
    below: f64,
    above: f64,
}

impl Triangular {
    /// Numbers from `left` to `right`; the density is largest at `mode`.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if a parameter is not finite, `left` is above `mode`, `mode` is above `right`, or `left` is
    /// `right`.
    pub fn new(left: f64, mode: f64, right: f64) -> Result<Self, ElementError> {
        TRIANGULAR.check(&[left, mode, right])?;
        Ok(Self::of([left, mode, right]))
    }

    #[inline(always)]
    pub(super) fn of([left, mode, right]: [f64; 3]) -> Self {
        let length = right - left;
        Self {
            left,
            right,
            share: (mode - left) / length,
            below: length * (mode - left),
            above: length * (right - mode),
        }
    }

    #[inline(always)]
    fn at(self, u: f64) -> f64 {
        // One root for both sides: columns are computed without a branch.
        let is_below = u <= self.share;
        let square = if is_below {
            u * self.below
        } else {
            (1.0 - u) * self.above
        };
        let root = sqrt(square);
        if is_below {
            self.left + root
        } else {
            self.right - root
        }
    }

    /// Numbers with other parameters, several at a time.
    pub(super) fn fill_columns(
        elements: &Elements,
        first: u64,
        out: &mut [f64],
        columns: [&[f64]; 3],
    ) -> Result<(), ElementError> {
        elements.uniforms(Kind::Triangular, first, out)?;
        elements.width.run(InvertEach { out, columns });
        Ok(())
    }
}

/// Makes triangular numbers of uniform ones, each with its own parameters.
struct InvertEach<'a> {
    out: &'a mut [f64],
    columns: [&'a [f64]; 3],
}

impl SimdTask for InvertEach<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let [left, mode, right] = self.columns;
        let values = left.iter().zip(mode).zip(right);
        for (number, ((left, mode), right)) in self.out.iter_mut().zip(values) {
            *number = Triangular::of([*left, *mode, *right]).at(*number);
        }
    }
}

impl Sealed for Triangular {
    type Number = f64;

    fn fill(&self, elements: &Elements, first: u64, out: &mut [f64]) -> Result<(), ElementError> {
        let own = *self;
        elements.fill_each::<8, _>(Kind::Triangular, first, out, |words| {
            own.at(words.next_uniform())
        })
    }
}

/// The von Mises distribution of angles (D. J. Best, N. I. Fisher, "Efficient simulation of the von Mises distribution", 1979).
#[derive(Clone, Copy, Debug)]
pub struct VonMises {
    mu: f64,
    kappa: f64,
    /// Best and Fisher's r, less 1.
    excess: f64,
}

/// Below it, angles are uniform: their density differs by less from the uniform one.
const UNIFORM_BELOW: f64 = 1e-8;

impl VonMises {
    /// Angles from -pi to pi, in radians, around `mu`; `kappa` says how close.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `kappa` is below 0 or a parameter is not finite.
    pub fn new(mu: f64, kappa: f64) -> Result<Self, ElementError> {
        VON_MISES.check(&[mu, kappa])?;
        Ok(Self::of([mu, kappa]))
    }

    pub(super) fn of([mu, kappa]: [f64; 2]) -> Self {
        // From twice this on there is no float.
        let kappa = kappa.min(8e307);
        // With a = 1 + sqrt(1 + 4 kappa^2), r is sqrt(a / (a - 2)). `less` is a - 2.
        let less = if kappa < 1e8 {
            let square = 4.0 * kappa * kappa;
            square / (sqrt(1.0 + square) + 1.0)
        } else {
            2.0 * kappa - 1.0
        };
        let above = 2.0 / less;
        Self {
            mu: wrapped(mu % TAU),
            kappa,
            excess: above / (sqrt(1.0 + above) + 1.0),
        }
    }

    #[inline(always)]
    fn draw(self, words: &mut Words<'_>) -> f64 {
        loop {
            let angle = self.judge(self.propose(words));
            if !angle.is_nan() {
                return angle;
            }
        }
    }

    /// A point in a circle: twice its angle is uniform, and has a cosine without a function of angles. Then a uniform number.
    #[inline(always)]
    fn propose(self, words: &mut Words<'_>) -> [f64; 3] {
        loop {
            let x = 2.0 * words.next_uniform() - 1.0;
            let y = 2.0 * words.next_uniform() - 1.0;
            if x * x + y * y > 1.0 || x == 0.0 {
                continue;
            }
            let is_uniform = self.kappa < UNIFORM_BELOW;
            let u = if is_uniform {
                1.0
            } else {
                words.next_positive()
            };
            return [x, y, u];
        }
    }

    /// The angle of a proposal, or NaN if it is rejected.
    #[inline(always)]
    fn judge(self, [x, y, u]: [f64; 3]) -> f64 {
        let square = x * x + y * y;
        let (above, below) = (2.0 * x * x / square, 2.0 * y * y / square);
        // 1 less the cosine of the angle.
        let near = self.excess * below / (self.excess + above);
        let c = self.kappa * (self.excess + near);
        // Both sides are computed: several proposals are judged at a time.
        let is_rejected = (c * (2.0 - c) - u <= 0.0) & (ln(c / u) + 1.0 - c < 0.0);
        let is_uniform = self.kappa < UNIFORM_BELOW;
        let fall = if is_uniform { below } else { near };
        let angle = 2.0 * atan(sqrt(fall / (2.0 - fall)));
        let angle = wrapped(self.mu + if x < 0.0 { -angle } else { angle });
        if is_rejected & !is_uniform {
            f64::NAN
        } else {
            angle
        }
    }
}

impl Sealed for VonMises {
    type Number = f64;

    fn fill(&self, elements: &Elements, first: u64, out: &mut [f64]) -> Result<(), ElementError> {
        let own = *self;
        elements.fill_judged::<32, 3, _>(
            Kind::VonMises,
            first,
            out,
            |words| own.propose(words),
            #[inline(always)]
            |proposal| own.judge(proposal),
            |angle| angle,
        )
    }
}

use core::f64::consts::{PI, TAU};

/// The angle between -pi and pi of an angle between -2 pi and 2 pi.
#[inline(always)]
fn wrapped(angle: f64) -> f64 {
    if angle > PI {
        (angle - TAU).max(-PI)
    } else if angle < -PI {
        (angle + TAU).min(PI)
    } else {
        angle
    }
}

drawn!(each VonMises, f64, VonMises, 32);

/// The Wald or inverse Gaussian distribution (J. R. Michael, W. R. Schucany, R. W. Haas, "Generating random variates using
/// transformations with multiple roots", 1976).
#[derive(Clone, Copy, Debug)]
pub struct Wald {
    mean: f64,
    /// Half of the mean divided by the scale.
    half: f64,
}

impl Wald {
    /// Numbers with this mean, and the variance `mean`^3 / `scale`.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if a parameter is not above 0 or not finite.
    pub fn new(mean: f64, scale: f64) -> Result<Self, ElementError> {
        WALD.check(&[mean, scale])?;
        Ok(Self::of([mean, scale]))
    }

    pub(super) fn of([mean, scale]: [f64; 2]) -> Self {
        let half = (0.5 * (mean / scale)).min(1e100);
        Self { mean, half }
    }

    #[inline(always)]
    fn draw(self, words: &mut Words<'_>) -> f64 {
        let normal = words.next_normal();
        // The roots are the mean times and divided by this number. No digits are lost in either.
        let d = self.half * (normal * normal);
        let root = 1.0 + d + sqrt(d * (d + 2.0));
        if words.next_uniform() * (1.0 + 1.0 / root) <= 1.0 {
            self.mean / root
        } else {
            self.mean * root
        }
    }
}

drawn!(Wald, f64, Wald, 16);

/// The F distribution: the quotient of two chi-square numbers, each divided by its degrees of freedom.
#[derive(Clone, Copy, Debug)]
pub struct F {
    numerator: StandardGamma,
    denominator: StandardGamma,
    ratio: f64,
}

impl F {
    /// The quotient of numbers with these degrees of freedom.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if a parameter is not above 0 or not finite.
    pub fn new(numerator_df: f64, denominator_df: f64) -> Result<Self, ElementError> {
        F_RATIO.check(&[numerator_df, denominator_df])?;
        Ok(Self::of([numerator_df, denominator_df]))
    }

    pub(super) fn of(df: [f64; 2]) -> Self {
        // Beyond these, numbers are 0, infinite, or 1 to the last bit.
        let [numerator, denominator] = df.map(|df| df.clamp(1e-150, 1e150));
        Self {
            numerator: StandardGamma::new(numerator / 2.0),
            denominator: StandardGamma::new(denominator / 2.0),
            ratio: denominator / numerator,
        }
    }

    #[inline(always)]
    fn draw(self, words: &mut Words<'_>) -> f64 {
        // Either may be too small for a float.
        let (x, x_root) = self.numerator.draw_parts(words);
        let (y, y_root) = self.denominator.draw_parts(words);
        x / y * self.ratio * exp(x_root - y_root)
    }
}

drawn!(F, f64, F, 64);

/// The noncentral chi-square distribution: the squares of normal numbers whose means are not all 0.
#[derive(Clone, Copy, Debug)]
pub struct NoncentralChiSquare {
    df: f64,
    noncentrality: f64,
    /// For more than one degree of freedom: the root of `noncentrality`, and half of the square without one normal number.
    root: f64,
    others: StandardGamma,
}

impl NoncentralChiSquare {
    /// The sum of the squares of `df` normal numbers, where the squares of the means have the sum `noncentrality`.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `df` is not above 0 or not finite, or `noncentrality` is not from 0 to
    /// [`Poisson::MAX_MEAN`].
    pub fn new(df: f64, noncentrality: f64) -> Result<Self, ElementError> {
        NONCENTRAL_CHI_SQUARE.check(&[df, noncentrality])?;
        Ok(Self::of([df, noncentrality]))
    }

    pub(super) fn of([df, noncentrality]: [f64; 2]) -> Self {
        Self {
            df,
            noncentrality,
            root: sqrt(noncentrality),
            others: StandardGamma::new((df - 1.0).max(0.0) / 2.0),
        }
    }

    #[inline(always)]
    fn draw(self, words: &mut Words<'_>) -> f64 {
        let Self {
            df, noncentrality, ..
        } = self;
        if df > 1.0 {
            let normal = words.next_normal();
            return self.of_parts(normal, self.others.draw(words));
        }
        let more = Poisson::of([noncentrality / 2.0]).draw(words) as f64;
        2.0 * StandardGamma::new(df / 2.0 + more).draw(words)
    }

    /// For more than one degree of freedom.
    #[inline(always)]
    fn of_parts(self, normal: f64, others: f64) -> f64 {
        let normal = normal + self.root;
        2.0 * others + normal * normal
    }
}

impl Sealed for NoncentralChiSquare {
    type Number = f64;

    fn fill(&self, elements: &Elements, first: u64, out: &mut [f64]) -> Result<(), ElementError> {
        let (own, kind) = (*self, Kind::NoncentralChiSquare);
        if own.df < 3.0 {
            return elements.fill_each::<32, _>(kind, first, out, |words| own.draw(words));
        }
        StandardGamma::fill_raised::<1>(
            elements,
            kind,
            first,
            out,
            &[own.others],
            #[inline(always)]
            |normal, others| own.of_parts(normal, others),
        )
    }
}

drawn!(each NoncentralChiSquare, f64, NoncentralChiSquare, 32);

/// The noncentral F distribution: the quotient of a noncentral and of a usual chi-square number, as of [`F`].
#[derive(Clone, Copy, Debug)]
pub struct NoncentralF {
    numerator: NoncentralChiSquare,
    denominator: StandardGamma,
    ratio: f64,
}

impl NoncentralF {
    /// The quotient of numbers with these degrees of freedom, where the numerator is noncentral.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if degrees of freedom are not above 0 or not finite, or `noncentrality` is not from 0 to
    /// [`Poisson::MAX_MEAN`].
    pub fn new(
        numerator_df: f64,
        denominator_df: f64,
        noncentrality: f64,
    ) -> Result<Self, ElementError> {
        NONCENTRAL_F.check(&[numerator_df, denominator_df, noncentrality])?;
        Ok(Self::of([numerator_df, denominator_df, noncentrality]))
    }

    pub(super) fn of([numerator, denominator, noncentrality]: [f64; 3]) -> Self {
        let denominator = denominator.clamp(1e-150, 1e150);
        Self {
            numerator: NoncentralChiSquare::of([numerator, noncentrality]),
            denominator: StandardGamma::new(denominator / 2.0),
            ratio: denominator / numerator.clamp(1e-150, 1e150),
        }
    }

    #[inline(always)]
    fn draw(self, words: &mut Words<'_>) -> f64 {
        let x = self.numerator.draw(words);
        let y = 2.0 * self.denominator.draw(words);
        x / y.max(f64::MIN_POSITIVE) * self.ratio
    }
}

drawn!(NoncentralF, f64, NoncentralF, 64);
