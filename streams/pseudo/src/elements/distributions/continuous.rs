//! Numbers with a density: uniform, normal and exponential numbers with a scale, and the distributions made from them.

use alloc::vec::Vec;

use wellspring_cipher::SimdTask;

use super::drawn;
use super::entry::{
    BETA, CHI_SQUARE, EXPONENTIAL, GAMMA, LOGNORMAL, NORMAL, STUDENT_T, TRUNCATED_NORMAL, UNIFORM,
    WEIBULL,
};
use super::private::{Each, Sealed};
use super::{ElementError, Elements};
use crate::elements::arrays::{Kind, Words, check_range, positive_of};
use crate::elements::functions::{exp, ln, sqrt};
use crate::elements::uniform::Float;
use crate::elements::ziggurat::normal_of;

/// The function of [`Elements`] for numbers of a standard form.
type Fill<T> = fn(&Elements, u64, &mut [T]) -> Result<(), ElementError>;

/// Numbers in their standard form.
#[derive(Clone, Copy)]
pub(super) struct Standard<T>(pub(super) Fill<T>);

impl<T: Float> Sealed for Standard<T> {
    type Number = T;

    fn fill(&self, elements: &Elements, first: u64, out: &mut [T]) -> Result<(), ElementError> {
        (self.0)(elements, first, out)
    }
}

/// Uniform, normal or exponential numbers x as `start + step * x`, computed in the type of the numbers: `f64` or `f32`.
#[derive(Clone, Copy, Debug)]
pub struct Scaled<T> {
    form: Form,
    start: T,
    step: T,
}

/// The standard form of numbers.
#[derive(Clone, Copy, Debug)]
enum Form {
    Uniform,
    Normal,
    Exponential,
}

/// Numbers that are made and then scaled: they stay in the first cache.
const SCALED_AT_A_TIME: usize = 2048;

impl<T: Float> Scaled<T> {
    /// Uniform numbers from `low` up to `high`, which only rounding can give.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `high` is below `low`, or one of them or their difference is not finite in this type.
    pub fn uniform(low: f64, high: f64) -> Result<Self, ElementError> {
        UNIFORM.check(&[low, high])?;
        Ok(Self {
            form: Form::Uniform,
            start: in_type(low, "low is out of bounds for the type")?,
            step: in_type(high - low, "high - low is out of bounds for the type")?,
        })
    }

    /// Normal numbers with this mean and this standard deviation.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `sigma` is below 0, or a parameter is not finite in this type.
    pub fn normal(mean: f64, sigma: f64) -> Result<Self, ElementError> {
        NORMAL.check(&[mean, sigma])?;
        Ok(Self {
            form: Form::Normal,
            start: in_type(mean, "loc is out of bounds for the type")?,
            step: in_type(sigma, "scale is out of bounds for the type")?,
        })
    }

    /// Exponential numbers, whose mean is `scale`.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `scale` is below 0, or not finite in this type.
    pub fn exponential(scale: f64) -> Result<Self, ElementError> {
        EXPONENTIAL.check(&[scale])?;
        Ok(Self {
            form: Form::Exponential,
            start: T::from_f64(0.0),
            step: in_type(scale, "scale is out of bounds for the type")?,
        })
    }
}

impl<T: Float> Scaled<T> {
    /// Uniform numbers from each lower end up to the upper one.
    pub(super) fn fill_uniform(
        elements: &Elements,
        first: u64,
        out: &mut [T],
        [low, high]: [&[f64]; 2],
    ) -> Result<(), ElementError> {
        let standard = |out: &mut [T]| elements.uniform(first, out);
        let scale = |low: f64, high: f64| (low, high - low);
        Self::fill_scaled(elements, out, (low, high), scale, standard)
    }

    /// Normal numbers, each with its mean and its standard deviation.
    pub(super) fn fill_normal(
        elements: &Elements,
        first: u64,
        out: &mut [T],
        [mean, sigma]: [&[f64]; 2],
    ) -> Result<(), ElementError> {
        let standard = |out: &mut [T]| elements.standard_normal(first, out);
        let scale = |mean, sigma| (mean, sigma);
        Self::fill_scaled(elements, out, (mean, sigma), scale, standard)
    }

    /// Exponential numbers, each with its mean.
    pub(super) fn fill_exponential(
        elements: &Elements,
        first: u64,
        out: &mut [T],
        [mean]: [&[f64]; 1],
    ) -> Result<(), ElementError> {
        let standard = |out: &mut [T]| elements.standard_exponential(first, out);
        Self::fill_scaled(elements, out, (mean, mean), |mean, _| (0.0, mean), standard)
    }

    /// Makes numbers in their standard form x, and from each `start + step * x`, where `scale` makes start and step of the
    /// values of two parameters. All these are finite and no step is below 0, if and only if the parameters are in bounds.
    fn fill_scaled(
        elements: &Elements,
        out: &mut [T],
        values: (&[f64], &[f64]),
        scale: impl Fn(f64, f64) -> (f64, f64) + Copy,
        make: impl FnOnce(&mut [T]) -> Result<(), ElementError>,
    ) -> Result<(), ElementError> {
        make(out)?;
        let are_right = elements.width.run(ScaleEach { out, values, scale });
        if are_right {
            Ok(())
        } else {
            let reason = "a parameter is out of bounds for the type";
            Err(ElementError::Parameter(reason))
        }
    }
}

/// Scales each number by its own start and step. Returns whether all these are finite in the type of the numbers, and no step is
/// below 0.
struct ScaleEach<'a, T, S> {
    out: &'a mut [T],
    values: (&'a [f64], &'a [f64]),
    scale: S,
}

impl<T: Float, S: Fn(f64, f64) -> (f64, f64)> SimdTask for ScaleEach<'_, T, S> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let values = self.values.0.iter().zip(self.values.1);
        let mut are_right = true;
        for (number, (first, second)) in self.out.iter_mut().zip(values) {
            let (start, step) = (self.scale)(*first, *second);
            are_right &= step >= 0.0;
            let (start, step) = (T::from_f64(start), T::from_f64(step));
            are_right &= start.is_finite() & step.is_finite();
            *number = start + step * *number;
        }
        are_right
    }
}

/// The nearest number of the type, if that is finite.
fn in_type<T: Float>(number: f64, refusal: &'static str) -> Result<T, ElementError> {
    let rounded = T::from_f64(number);
    if rounded.is_finite() {
        Ok(rounded)
    } else {
        Err(ElementError::Parameter(refusal))
    }
}

impl<T: Float> Sealed for Scaled<T> {
    type Number = T;

    fn fill(&self, elements: &Elements, first: u64, out: &mut [T]) -> Result<(), ElementError> {
        match self.form {
            Form::Uniform => self.scaled(first, out, |i, out| elements.uniform(i, out)),
            Form::Normal => self.scaled(first, out, |i, out| elements.standard_normal(i, out)),
            // No number is -0, which a sum with 0 would change.
            Form::Exponential if self.step == T::from_f64(1.0) => {
                elements.standard_exponential(first, out)
            }
            Form::Exponential => {
                self.scaled(first, out, |i, out| elements.standard_exponential(i, out))
            }
        }
    }
}

impl<T: Float> Scaled<T> {
    fn scaled(
        &self,
        first: u64,
        out: &mut [T],
        make: impl Fn(u64, &mut [T]) -> Result<(), ElementError>,
    ) -> Result<(), ElementError> {
        // Nothing is written if the last index does not exist.
        check_range(first, out.len())?;
        let Self { start, step, .. } = *self;
        for (number, chunk) in out.chunks_mut(SCALED_AT_A_TIME).enumerate() {
            make(first + (number * SCALED_AT_A_TIME) as u64, chunk)?;
            for number in chunk {
                *number = start + step * *number;
            }
        }
        Ok(())
    }
}

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
        LOGNORMAL.check(&[mean, sigma])?;
        Ok(Self::of([mean, sigma]))
    }

    pub(super) fn of([mean, sigma]: [f64; 2]) -> Self {
        Self { mean, sigma }
    }
}

/// Applies a function to each number, at the width of registers that it is compiled for.
pub(super) struct Map<'a, F> {
    pub(super) numbers: &'a mut [f64],
    pub(super) map: F,
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

/// Makes numbers by `make`, and of each another one.
pub(super) fn map(
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

impl Each for LogNormal {
    fn fill_each(
        elements: &Elements,
        first: u64,
        out: &mut [f64],
        mut next: impl FnMut() -> Self,
    ) -> Result<(), ElementError> {
        elements.normals(Kind::LogNormal, first, out)?;
        for x in out {
            let Self { mean, sigma } = next();
            *x = exp(mean + sigma * *x);
        }
        Ok(())
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
        WEIBULL.check(&[shape])?;
        Ok(Self::of([shape]))
    }

    pub(super) fn of([shape]: [f64; 1]) -> Self {
        Self { shape }
    }

    #[inline(always)]
    fn of_exponential(self, x: f64) -> f64 {
        let power = exp(ln(x) / self.shape);
        if x == 0.0 || self.shape == 0.0 {
            0.0
        } else {
            power
        }
    }
}

impl Sealed for Weibull {
    type Number = f64;

    fn fill(&self, elements: &Elements, first: u64, out: &mut [f64]) -> Result<(), ElementError> {
        let own = *self;
        let make = |first, out: &mut [f64]| elements.exponentials(Kind::Weibull, first, out);
        map(elements, first, out, make, |x| own.of_exponential(x))
    }
}

impl Each for Weibull {
    fn fill_each(
        elements: &Elements,
        first: u64,
        out: &mut [f64],
        mut next: impl FnMut() -> Self,
    ) -> Result<(), ElementError> {
        elements.exponentials(Kind::Weibull, first, out)?;
        for x in out {
            *x = next().of_exponential(*x);
        }
        Ok(())
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
        GAMMA.check(&[shape, scale])?;
        Ok(Self::of([shape, scale]))
    }

    pub(super) fn of([shape, scale]: [f64; 2]) -> Self {
        Self {
            standard: StandardGamma::new(shape),
            scale,
        }
    }

    /// The chi-square distribution, which is the gamma distribution with the shape `df` / 2 and the scale 2.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `df` is not above 0 or not finite.
    pub fn chi_square(df: f64) -> Result<Self, ElementError> {
        CHI_SQUARE.check(&[df])?;
        Ok(Self::of([df / 2.0, 2.0]))
    }

    #[inline(always)]
    fn draw(self, words: &mut Words<'_>) -> f64 {
        self.scale * self.standard.draw(words)
    }
}

impl Sealed for Gamma {
    type Number = f64;

    fn fill(&self, elements: &Elements, first: u64, out: &mut [f64]) -> Result<(), ElementError> {
        let Self { standard, scale } = *self;
        if standard.shape == 0.0 {
            return elements.fill_each::<32, _>(Kind::Gamma, first, out, |words| self.draw(words));
        }
        if standard.shape >= 1.0 {
            let finish = |_, number| scale * number;
            return StandardGamma::fill_raised::<0>(
                elements,
                Kind::Gamma,
                first,
                out,
                &[standard],
                finish,
            );
        }
        check_range(first, out.len())?;
        let mut us = [0.0; FINISHED_AT_A_TIME];
        for (number, out) in out.chunks_mut(FINISHED_AT_A_TIME).enumerate() {
            let start = first + (number * FINISHED_AT_A_TIME) as u64;
            let mut i = 0;
            elements.fill_each::<32, _>(Kind::Gamma, start, out, |words| {
                let (x, u) = standard.draw_unfinished(words);
                us[i] = u;
                i += 1;
                x
            })?;
            elements.width.run(FinishEach(
                out,
                [&us],
                #[inline(always)]
                |x, [u]: [f64; 1]| scale * (x * exp(standard.root(u))),
            ));
        }
        Ok(())
    }
}

drawn!(each Gamma, f64, Gamma, 32);

/// Gamma numbers in parts that are finished at a time: they stay in the first cache.
const FINISHED_AT_A_TIME: usize = 256;

/// Makes numbers of parts that lie in several arrays, at the width of registers that it is compiled for.
/// Functions that are not inlined have no registers of this width.
struct FinishEach<'a, const N: usize, F>(&'a mut [f64], [&'a [f64; FINISHED_AT_A_TIME]; N], F);

impl<const N: usize, F: Fn(f64, [f64; N]) -> f64> SimdTask for FinishEach<'_, N, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(numbers, others, finish) = self;
        let length = numbers.len().min(FINISHED_AT_A_TIME);
        for (i, number) in numbers[..length].iter_mut().enumerate() {
            *number = finish(*number, others.map(|part| part[i]));
        }
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

/// The factor of all shapes for quotients of gamma numbers. If the largest shape is below 10^-270, the logarithms
/// of all numbers would be infinite; and to 10^-268 the quotients depend only on the quotients of the shapes.
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
        let (x, u) = self.draw_unfinished(words);
        let root = if self.shape >= 1.0 { 0.0 } else { self.root(u) };
        (x, root)
    }

    /// The same number as x and u: r is [`root`](Self::root) of u. For a shape from 1 on, u is 1 and r is 0.
    #[inline(always)]
    fn draw_unfinished(self, words: &mut Words<'_>) -> (f64, f64) {
        let u = if self.shape >= 1.0 {
            1.0
        } else {
            words.next_positive()
        };
        (self.draw_raised(words), u)
    }

    #[inline(always)]
    fn root(self, u: f64) -> f64 {
        ln(u) / self.shape
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

    /// The normal number and the uniform one of two words.
    #[inline(always)]
    fn proposal(words: &[[u8; 8]], place: usize) -> [f64; 2] {
        [normal_of(words[place]), positive_of(words[place + 1])]
    }

    /// The same of a normal number and a uniform one, or NaN if these are rejected.
    #[inline(always)]
    fn judge_raised(x: f64, u: f64, [c, d]: [f64; 2]) -> f64 {
        let root = 1.0 + c * x;
        let v = root * root * root;
        let square = x * x;
        // Both sides are computed: several numbers are judged at a time.
        let is_squeezed = u < 1.0 - 0.0331 * square * square;
        let is_accepted = is_squeezed | (ln(u) < 0.5 * square + d * (1.0 - v + ln(v)));
        if is_accepted & (root > 0.0) {
            d * v
        } else {
            f64::NAN
        }
    }

    #[inline(always)]
    fn judged(self, x: f64, u: f64) -> f64 {
        Self::judge_raised(x, u, [self.c, self.d])
    }

    /// Fills `out` with gamma numbers of shapes from 1 on, which come in turn.
    pub(super) fn fill_raised<const N: usize>(
        elements: &Elements,
        kind: Kind,
        first: u64,
        out: &mut [f64],
        gammas: &[Self],
        finish: impl Fn(f64, f64) -> f64 + Copy,
    ) -> Result<(), ElementError> {
        let cs: Vec<f64> = gammas.iter().map(|gamma| gamma.c).collect();
        let ds: Vec<f64> = gammas.iter().map(|gamma| gamma.d).collect();
        elements.fill_quickly::<32, _, _>(
            (kind, first),
            out,
            [&cs, &ds],
            #[inline(always)]
            |words| {
                let normal = if N > 0 { normal_of(words[0]) } else { 0.0 };
                let [x, u] = Self::proposal(words, N);
                [normal, x, u]
            },
            #[inline(always)]
            |[normal, x, u], parameters| finish(normal, Self::judge_raised(x, u, parameters)),
            #[inline(always)]
            |words, [c, d]| {
                let normal = if N > 0 { words.next_normal() } else { 0.0 };
                let gamma = Self { shape: 1.0, c, d };
                finish(normal, gamma.draw_raised(words))
            },
        )
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
        BETA.check(&[a, b])?;
        Ok(Self::of([a, b]))
    }

    pub(super) fn of([a, b]: [f64; 2]) -> Self {
        let factor = common_factor(a.max(b));
        Self {
            a: StandardGamma::new(factor * a),
            b: StandardGamma::new(factor * b),
        }
    }

    #[inline(always)]
    fn draw(self, words: &mut Words<'_>) -> f64 {
        let Self { a, b } = self;
        if self.has_large_shapes() {
            let x = a.draw(words);
            return x / (x + b.draw(words));
        }
        Self::quotient(a.draw_parts(words), b.draw_parts(words))
    }

    fn has_large_shapes(self) -> bool {
        self.a.shape >= 1.0 && self.b.shape >= 1.0
    }

    /// Both numbers may be too small for a float, and still have a quotient.
    #[inline(always)]
    fn quotient((x, x_root): (f64, f64), (y, y_root): (f64, f64)) -> f64 {
        1.0 / (1.0 + y / x * exp(y_root - x_root))
    }
}

impl Sealed for Beta {
    type Number = f64;

    fn fill(&self, elements: &Elements, first: u64, out: &mut [f64]) -> Result<(), ElementError> {
        let (Self { a, b }, kind, nothing) = (*self, Kind::Beta, [&[0.0][..]]);
        let draw = |words: &mut Words<'_>, _| self.draw(words);
        if self.has_large_shapes() {
            return elements.fill_quickly::<64, _, _>(
                (kind, first),
                out,
                nothing,
                #[inline(always)]
                |words| {
                    let ([x, u], [y, v]) = (
                        StandardGamma::proposal(words, 0),
                        StandardGamma::proposal(words, 2),
                    );
                    [x, u, y, v]
                },
                #[inline(always)]
                |[x, u, y, v], _| {
                    let x = a.judged(x, u);
                    x / (x + b.judged(y, v))
                },
                draw,
            );
        }
        // A shape below 1 has a word more, before the two of each gamma number.
        let is_raised = [a, b].map(|gamma| gamma.shape < 1.0);
        elements.fill_quickly::<64, _, _>(
            (kind, first),
            out,
            nothing,
            #[inline(always)]
            |words| {
                let root = |place: usize, is_raised: bool| {
                    let u = positive_of(words[place]);
                    if is_raised { u } else { 1.0 }
                };
                let place = usize::from(is_raised[0]);
                let after = place + 2 + usize::from(is_raised[1]);
                let [x, u] = StandardGamma::proposal(words, place);
                let [y, v] = StandardGamma::proposal(words, after);
                let other = root(place + 2, is_raised[1]);
                [root(0, is_raised[0]), x, u, other, y, v]
            },
            #[inline(always)]
            |[root, x, u, other, y, v], _| {
                let x = (a.judged(x, u), a.root(root));
                Self::quotient(x, (b.judged(y, v), b.root(other)))
            },
            draw,
        )
    }
}

drawn!(each Beta, f64, Beta, 64);

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
        STUDENT_T.check(&[df])?;
        Ok(Self::of([df]))
    }

    pub(super) fn of([df]: [f64; 1]) -> Self {
        // With fewer degrees of freedom all numbers are infinite, too; half of the least float would be 0.
        let df = df.max(1e-300);
        let half = StandardGamma::new(df / 2.0);
        Self { df, half }
    }

    #[inline(always)]
    fn draw(self, words: &mut Words<'_>) -> f64 {
        let normal = words.next_normal();
        normal * sqrt(0.5 * self.df / self.half.draw(words))
    }
}

drawn!(StudentT, f64, StudentT, 32);

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

/// The distribution that proposes numbers.
#[derive(Clone, Copy, Debug)]
enum Proposal {
    /// The normal distribution; numbers outside the bounds are rejected.
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
        TRUNCATED_NORMAL.check(&[mean, sigma, low, high])?;
        Ok(Self::of([mean, sigma, low, high]))
    }

    pub(super) fn of([mean, sigma, low, high]: [f64; 4]) -> Self {
        let (mut from, mut to) = ((low - mean) / sigma, (high - mean) / sigma);
        let is_mirrored = to <= 0.0;
        if is_mirrored {
            (from, to) = (-to, -from);
        }
        Self {
            mean,
            sigma,
            low,
            high,
            from,
            to,
            is_mirrored,
            proposal: Proposal::for_bounds(from, to),
        }
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

drawn!(TruncatedNormal, f64, TruncatedNormal, 32);
