//! Counts, which are the trials to the first success, the successes in n trials, or events at a rate; and indices with
//! weights.
//!
//! Small means are inverted: one uniform number is compared with the probabilities of 0, 1, 2 .. in turn. Larger ones are
//! rejection by a transformed uniform number (W. Hormann, "The transformed rejection method for generating Poisson random
//! variables", 1993, and "The generation of binomial random variates", 1993).

use super::continuous::Map;
use super::entry::{BINOMIAL, CHOICE, GEOMETRIC, MAX_POISSON_MEAN, POISSON};
use super::private::{Each, Sealed};
use super::{ElementError, Elements};
use super::{drawn, in_groups};
use crate::elements::arrays::{Kind, Words};
use crate::elements::functions::{exp, ln, ln_1p, ln_binomial, ln_poisson, sqrt};
use alloc::vec;
use alloc::vec::Vec;

/// The mean from which on numbers are found by rejection.
pub(super) const INVERTED_BELOW: f64 = 10.0;

/// Beyond it lies less than 10^-70 of a distribution with a mean below 10.
const LAST_INVERTED: f64 = 110.0;

/// The trials up to and including the first success: at least 1.
#[derive(Clone, Copy, Debug)]
pub struct Geometric {
    /// -ln(1 - p).
    rate: f64,
}

impl Geometric {
    /// Each trial succeeds with the probability `p`. Numbers above 2^63 - 1 become 2^63 - 1.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `p` is not above 0, or above 1.
    pub fn new(p: f64) -> Result<Self, ElementError> {
        GEOMETRIC.check(&[p])?;
        Ok(Self::of([p]))
    }

    pub(super) fn of([p]: [f64; 1]) -> Self {
        Self {
            rate: Self::rate_of(p),
        }
    }

    #[inline(always)]
    fn rate_of(p: f64) -> f64 {
        let rate = -ln_1p(-p);
        if p == 1.0 { f64::INFINITY } else { rate }
    }

    /// Numbers with other probabilities, whose logarithms are made several at a time.
    pub(super) fn fill_columns(
        elements: &Elements,
        first: u64,
        out: &mut [i64],
        [p]: [&[f64]; 1],
    ) -> Result<(), ElementError> {
        let mut rates = p.to_vec();
        elements.width.run(Map {
            numbers: &mut rates,
            map: Self::rate_of,
        });
        let mut rates = rates.into_iter();
        Self::fill_each(elements, first, out, || Self {
            rate: rates.next().unwrap_or(f64::INFINITY),
        })
    }

    #[inline(always)]
    fn draw(self, words: &mut Words<'_>) -> i64 {
        ((words.next_exponential() / self.rate) as i64).saturating_add(1)
    }
}

drawn!(Geometric, i64, Geometric, 8);

/// Compares a uniform number with the probabilities of 0, 1, 2 .. in turn. `known` has the first ones of them, at least one.
/// `ratio` gives the probability of a number, its argument, divided by the probability of the number below.
#[inline(always)]
pub(super) fn inverted(words: &mut Words<'_>, known: &[f64], ratio: impl Fn(f64) -> f64) -> f64 {
    loop {
        let (mut rest, mut probability, mut k) = (words.next_uniform(), 0.0, 0.0);
        for one in known {
            probability = *one;
            if rest < probability {
                return k;
            }
            rest -= probability;
            k += 1.0;
        }
        probability *= ratio(k);
        while rest >= probability && k < LAST_INVERTED {
            rest -= probability;
            k += 1.0;
            probability *= ratio(k);
        }
        // Roundings let less than 10^-14 of all numbers come this far.
        if k < LAST_INVERTED {
            return k;
        }
    }
}

/// Logarithms of the probabilities of counts that came before: the counts of an array lie close together, and each comes again.
pub(super) struct Remembered {
    places: Vec<(f64, f64)>,
}

impl Remembered {
    /// 16 KiB, which stay in the first cache.
    const MOST_PLACES: usize = 1024;

    /// Places for an array of so many numbers.
    pub(super) fn new(numbers: usize) -> Self {
        let length = numbers.clamp(1, Self::MOST_PLACES).next_power_of_two();
        Self {
            places: vec![(-1.0, 0.0); length],
        }
    }

    #[inline(always)]
    pub(super) fn get(&mut self, k: f64, make: impl FnOnce(f64) -> f64) -> f64 {
        let place = k as i64 as usize & (self.places.len() - 1);
        let (known, value) = &mut self.places[place];
        if *known != k {
            (*known, *value) = (k, make(k));
        }
        *value
    }
}

/// The hat of transformed rejection: a number u between -1/2 and 1/2 becomes (2 a / (1/2 - |u|) + b) u + c.
#[derive(Clone, Copy, Debug)]
struct Hat {
    a: f64,
    b: f64,
    c: f64,
    /// Below it a second number accepts the first at once.
    squeeze: f64,
}

impl Hat {
    /// An integer from 0 to `last`. Most are accepted without `ln_probability`, the logarithm of an integer's probability, and
    /// `ln_height`, the logarithm of the hat's height beside it.
    #[inline(always)]
    fn draw(
        &self,
        words: &mut Words<'_>,
        last: f64,
        ln_height: impl Fn() -> f64,
        mut ln_probability: impl FnMut(f64) -> f64,
    ) -> f64 {
        loop {
            let u = words.next_uniform() - 0.5;
            let v = words.next_positive();
            let edge = 0.5 - u.abs();
            let x = (2.0 * self.a / edge + self.b) * u + self.c;
            // At the edge itself x is infinite.
            if !(0.0..last + 1.0).contains(&x) {
                continue;
            }
            // Floats from 2^63 on are integers, and are not asked for.
            let k = x as i64 as f64;
            if edge >= 0.07 && v <= self.squeeze {
                return k;
            }
            let hat = self.a / (edge * edge) + self.b;
            if ln(v / hat) + ln_height() <= ln_probability(k) {
                return k;
            }
        }
    }
}

/// The probability of success in one trial.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chance {
    /// At most 1/2: the probability of success, or of failure if `is_mirrored`.
    p: f64,
    q: f64,
    ln_q: f64,
    odds: f64,
    is_mirrored: bool,
}

impl Chance {
    /// `p` is from 0 to 1.
    pub(super) fn new(p: f64) -> Self {
        Self::with(p, Self::ln_q)
    }

    fn ln_q(p: f64) -> f64 {
        ln_1p(-p)
    }

    #[inline(always)]
    fn with(p: f64, ln_q: impl Fn(f64) -> f64) -> Self {
        let is_mirrored = p > 0.5;
        let p = if is_mirrored { 1.0 - p } else { p };
        let q = 1.0 - p;
        Self {
            p,
            q,
            ln_q: ln_q(p),
            odds: p / q,
            is_mirrored,
        }
    }
}

/// How many of n trials succeed.
#[derive(Clone, Copy, Debug)]
pub struct Binomial {
    n: f64,
    chance: Chance,
    /// The probability of 0, where numbers are inverted.
    first: f64,
    hat: Option<Hat>,
}

impl Binomial {
    /// The successes in `n` trials, where each succeeds with the probability `p`. From n = 2^53 on, counts are rounded to
    /// floats.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `n` is below 0, or `p` is not from 0 to 1.
    pub fn new(n: i64, p: f64) -> Result<Self, ElementError> {
        BINOMIAL.check(&[n as f64, p])?;
        Ok(Self::of(n as f64, Chance::new(p)))
    }

    /// The parameters in the order of the table.
    pub(super) fn of_values([n, p]: [f64; 2]) -> Self {
        // The logarithm is for numbers that are inverted.
        let is_inverted = n * p.min(1.0 - p) < INVERTED_BELOW;
        Self::of(
            n,
            Chance::with(p, |p| if is_inverted { Chance::ln_q(p) } else { 0.0 }),
        )
    }

    pub(super) fn of(n: f64, chance: Chance) -> Self {
        let Chance { p, q, ln_q, .. } = chance;
        let is_inverted = n * p < INVERTED_BELOW;
        Self {
            n,
            chance,
            first: if is_inverted { exp(n * ln_q) } else { 0.0 },
            hat: (!is_inverted).then(|| {
                let deviation = sqrt(n * p * q);
                let b = 1.15 + 2.53 * deviation;
                Hat {
                    a: -0.0873 + 0.0248 * b + 0.01 * p,
                    b,
                    c: n * p + 0.5,
                    squeeze: 0.92 - 4.2 / b,
                }
            }),
        }
    }

    /// The logarithm of the hat's height beside the probability of the most likely number; 0 of numbers that are inverted.
    pub(super) fn ln_height(&self) -> f64 {
        let (n, Chance { p, q, .. }) = (self.n, self.chance);
        self.hat.map_or(0.0, |hat| {
            let mode = ((n + 1.0) * p) as i64 as f64;
            ln((2.83 + 5.1 / hat.b) * sqrt(n * p * q)) + ln_binomial(mode, n, p, q)
        })
    }

    #[inline(always)]
    pub(super) fn draw(&self, words: &mut Words<'_>, ln_height: impl Fn() -> f64) -> f64 {
        self.draw_by(words, ln_height, |k| self.ln_probability(k))
    }

    /// Without the terms that n alone decides.
    fn ln_probability(&self, k: f64) -> f64 {
        ln_binomial(k, self.n, self.chance.p, self.chance.q)
    }

    #[inline(always)]
    fn draw_by(
        &self,
        words: &mut Words<'_>,
        ln_height: impl Fn() -> f64,
        ln_probability: impl FnMut(f64) -> f64,
    ) -> f64 {
        let (n, chance) = (self.n, self.chance);
        let k = if let Some(hat) = self.hat {
            hat.draw(words, n, ln_height, ln_probability)
        } else {
            inverted(words, &[self.first], |k| (n + 1.0 - k) / k * chance.odds)
        };
        if chance.is_mirrored { n - k } else { k }
    }
}

impl Sealed for Binomial {
    type Number = i64;

    fn fill(&self, elements: &Elements, first: u64, out: &mut [i64]) -> Result<(), ElementError> {
        let (ln_height, mut remembered) = (self.ln_height(), Remembered::new(out.len()));
        elements.fill_each::<32, _>(Kind::Binomial, first, out, |words| {
            let ln_probability = |k| remembered.get(k, |k| self.ln_probability(k));
            self.draw_by(words, || ln_height, ln_probability) as i64
        })
    }
}

impl Each for Binomial {
    fn fill_each(
        elements: &Elements,
        first: u64,
        out: &mut [i64],
        next: impl FnMut() -> Self,
    ) -> Result<(), ElementError> {
        in_groups(first, out, next, |first, out, group: &mut [Self]| {
            let mut group = group.iter();
            elements.fill_each::<32, _>(Kind::Binomial, first, out, |words| {
                // Most numbers are accepted without the height.
                let draw = |own: &Self| own.draw(words, || own.ln_height()) as i64;
                group.next().map_or(0, draw)
            })
        })
    }
}

/// Events at a constant rate.
#[derive(Clone, Copy, Debug)]
pub struct Poisson {
    mean: f64,
    first: f64,
    hat: Option<Hat>,
}

impl Poisson {
    /// The largest mean: ten standard deviations above it is 2^63, as in NumPy.
    pub const MAX_MEAN: f64 = MAX_POISSON_MEAN;

    /// The mean number of events. Above 2^53 counts are rounded to floats.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `mean` is not from 0 to [`MAX_MEAN`](Self::MAX_MEAN).
    pub fn new(mean: f64) -> Result<Self, ElementError> {
        POISSON.check(&[mean])?;
        Ok(Self::of([mean]))
    }

    pub(super) fn of([mean]: [f64; 1]) -> Self {
        let is_inverted = mean < INVERTED_BELOW;
        Self {
            mean,
            first: if is_inverted { exp(-mean) } else { 0.0 },
            hat: (!is_inverted).then(|| {
                let b = 0.931 + 2.53 * sqrt(mean);
                Hat {
                    a: -0.059 + 0.024_83 * b,
                    b,
                    c: mean + 0.43,
                    squeeze: 0.9277 - 3.6224 / (b - 2.0),
                }
            }),
        }
    }

    /// A number of any mean.
    #[inline(always)]
    pub(super) fn draw(&self, words: &mut Words<'_>) -> i64 {
        match self.hat {
            Some(hat) => {
                let ln_probability = |k| ln_poisson(k, self.mean);
                Self::draw_rejected(words, hat, || Self::ln_height(hat), ln_probability)
            }
            None => self.draw_inverted(words),
        }
    }

    #[inline(always)]
    fn draw_inverted(&self, words: &mut Words<'_>) -> i64 {
        inverted(words, &[self.first], |k| self.mean / k) as i64
    }

    #[inline(always)]
    fn draw_rejected(
        words: &mut Words<'_>,
        hat: Hat,
        ln_height: impl Fn() -> f64,
        ln_probability: impl FnMut(f64) -> f64,
    ) -> i64 {
        // The largest float below 2^63.
        let last = 9_223_372_036_854_774_784.0;
        hat.draw(words, last, ln_height, ln_probability) as i64
    }

    fn ln_height(hat: Hat) -> f64 {
        ln(1.1239 + 1.1328 / (hat.b - 3.4))
    }
}

impl Sealed for Poisson {
    type Number = i64;

    fn fill(&self, elements: &Elements, first: u64, out: &mut [i64]) -> Result<(), ElementError> {
        let own = *self;
        if let Some(hat) = self.hat {
            let (ln_height, mut remembered) = (Self::ln_height(hat), Remembered::new(out.len()));
            return elements.fill_each::<32, _>(Kind::Poisson, first, out, |words| {
                let ln_probability = |k| remembered.get(k, |k| ln_poisson(k, own.mean));
                Self::draw_rejected(words, hat, || ln_height, ln_probability)
            });
        }
        elements.fill_each::<8, _>(Kind::Poisson, first, out, |words| own.draw_inverted(words))
    }
}

impl Each for Poisson {
    /// The head of an element has one word where its number is inverted, and else four.
    fn fill_each(
        elements: &Elements,
        first: u64,
        out: &mut [i64],
        next: impl FnMut() -> Self,
    ) -> Result<(), ElementError> {
        let mut rejected = Vec::new();
        in_groups(first, out, next, |first, out, group: &mut [Self]| {
            let is_inverted = |poisson: &&Self| poisson.hat.is_none();
            let inverted = group.iter().filter(is_inverted).count();
            if inverted > 0 {
                let mut group = group.iter();
                elements.fill_each::<8, _>(Kind::Poisson, first, out, |words| {
                    let poisson = group.next().filter(is_inverted);
                    poisson.map_or(0, |poisson| poisson.draw_inverted(words))
                })?;
            }
            if inverted == group.len() {
                return Ok(());
            }
            rejected.resize(out.len(), 0);
            let mut each = group.iter();
            elements.fill_each::<32, _>(Kind::Poisson, first, &mut rejected, |words| {
                let poisson = each.next().filter(|poisson| poisson.hat.is_some());
                poisson.map_or(0, |poisson| poisson.draw(words))
            })?;
            for ((place, made), poisson) in out.iter_mut().zip(&rejected).zip(group) {
                if poisson.hat.is_some() {
                    *place = *made;
                }
            }
            Ok(())
        })
    }
}

/// Indices of weights: each comes in proportion to its weight, whatever their number in the same time (A. J. Walker, 1977;
/// M. D. Vose, "A linear algorithm for generating random numbers with a given distribution", 1991).
///
/// A probability is right to within 2^-51 of the mean probability. An index with the weight 0 never comes.
#[derive(Clone, Debug)]
pub struct Choice {
    columns: Vec<Column>,
}

/// Each of n columns has the probability 1 / n. It has its own index below `share`, and another index from `share` on.
#[derive(Clone, Copy, Debug)]
struct Column {
    /// In units of 2^-64.
    share: u64,
    other: u64,
}

impl Choice {
    /// The indices of these weights, which need not sum up to 1.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if a weight is below 0 or not finite, or their sum is not above 0 or not finite.
    pub fn new(weights: &[f64]) -> Result<Self, ElementError> {
        CHOICE.check_vector(0, weights)?;
        let sum: f64 = weights.iter().fold(0.0, |sum, weight| sum + weight);
        if !(f64::MIN_POSITIVE..f64::INFINITY).contains(&sum) {
            return Err(ElementError::Parameter("probabilities do not have a sum"));
        }
        let count = weights.len() as f64;
        let mut parts: Vec<f64> = weights.iter().map(|weight| weight / sum * count).collect();
        // Columns that are not full, and columns that have more than they need.
        let (mut short, mut long) = (Vec::new(), Vec::new());
        for (index, part) in parts.iter().enumerate() {
            if *part < 1.0 { &mut short } else { &mut long }.push(index);
        }
        let full = |index: usize| Column {
            share: u64::MAX,
            other: index as u64,
        };
        let mut columns: Vec<Column> = (0..weights.len()).map(full).collect();
        while let (Some(&below), Some(&above)) = (short.last(), long.last()) {
            short.pop();
            columns[below] = Column {
                share: (parts[below] * 18_446_744_073_709_551_616.0) as u64,
                other: above as u64,
            };
            parts[above] -= 1.0 - parts[below];
            if parts[above] < 1.0 {
                long.pop();
                short.push(above);
            }
        }
        // The remaining columns are full but for roundings. A weight of 0 is among them only if roundings used up all others.
        let heaviest = (0..weights.len()).fold(0, |best, index| {
            if weights[index] > weights[best] {
                index
            } else {
                best
            }
        });
        for index in short {
            if weights[index] == 0.0 {
                columns[index] = Column {
                    share: 0,
                    other: heaviest as u64,
                };
            }
        }
        Ok(Self { columns })
    }
}

impl Sealed for Choice {
    type Number = i64;

    fn fill(&self, elements: &Elements, first: u64, out: &mut [i64]) -> Result<(), ElementError> {
        let columns = &self.columns[..];
        elements.fill_from_words(Kind::Choice.row(), first, out, |_, words, out| {
            for (place, word) in out.iter_mut().zip(words) {
                // The upper half names a column, and the lower one a place in it.
                let product = u128::from(u64::from_le_bytes(*word)) * columns.len() as u128;
                let (index, place_in_column) = ((product >> 64) as u64, product as u64);
                let column = columns[index as usize];
                let is_own = place_in_column < column.share;
                *place = if is_own { index } else { column.other } as i64;
            }
        })
    }
}
