//! Counts of balls from an urn, and counts with long tails: hypergeometric, negative binomial, logarithmic series, Zipf.

use alloc::vec::Vec;
use core::iter;

use wellspring_cipher::SimdTask;

use super::continuous::StandardGamma;
use super::counts::{INVERTED_BELOW, Poisson, Remembered, inverted};
use super::entry::{HYPERGEOMETRIC, LOG_SERIES, MAX_BALLS, NEGATIVE_BINOMIAL, ZIPF};
use super::private::{Each, Sealed};
use super::{ElementError, Elements};
use super::{drawn, in_groups};
use crate::elements::arrays::{Kind, Words};
use crate::elements::functions::{
    exp, exp_m1, ln, ln_1p, ln_hypergeometric, ln_hypergeometric_of_0, sqrt,
};

/// How many balls of one colour are among the balls that are drawn from an urn, none of which goes back.
#[derive(Clone, Copy, Debug)]
pub struct Hypergeometric {
    /// The balls of the rarer colour, of the other one, and at most half of all: what is drawn, or what stays.
    rare: f64,
    common: f64,
    sample: f64,
    /// A count k of the rarer colour becomes `start` + `sign` * k.
    start: f64,
    sign: f64,
    is_inverted: bool,
    /// The probability of 0, where counts are inverted.
    first: f64,
}

impl Hypergeometric {
    /// The largest number of balls of one colour, as in NumPy.
    pub const MAX_BALLS: i64 = MAX_BALLS;

    /// The good ones of `sample` balls from an urn with `good` and `bad` ones.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if a number is below 0, there are more than [`MAX_BALLS`](Self::MAX_BALLS) of a colour, or
    /// `sample` is larger than the number of balls.
    pub fn new(good: i64, bad: i64, sample: i64) -> Result<Self, ElementError> {
        let values = [good as f64, bad as f64, sample as f64];
        HYPERGEOMETRIC.check(&values)?;
        Ok(Self::of(values))
    }

    pub(super) fn of(values: [f64; 3]) -> Self {
        let own = Self::without_first(values);
        Self {
            first: own.first(),
            ..own
        }
    }

    #[inline(always)]
    fn without_first([good, bad, drawn]: [f64; 3]) -> Self {
        // What stays in the urn has the same distribution as what is drawn.
        let sample = drawn.min(good + bad - drawn);
        let (rare, common) = (good.min(bad), good.max(bad));
        let (mut start, mut sign) = if good > bad {
            (sample, -1.0)
        } else {
            (0.0, 1.0)
        };
        if sample < drawn {
            (start, sign) = (good - start, -sign);
        }
        Self {
            rare,
            common,
            sample,
            start,
            sign,
            is_inverted: sample * (rare / (rare + common)) < INVERTED_BELOW,
            first: 1.0,
        }
    }

    fn is_constant(&self) -> bool {
        self.rare == 0.0 || self.sample == 0.0
    }

    /// The probability that no ball of the sample is a rare one, where counts are inverted.
    fn first(&self) -> f64 {
        if self.is_constant() || !self.is_inverted {
            1.0
        } else if self.has_few_factors() {
            let mut products = Products::new(self);
            for i in 0..self.factors() as u32 {
                products.add(i.into());
            }
            products.quotient()
        } else {
            exp(ln_hypergeometric_of_0(self.rare, self.common, self.sample))
        }
    }

    fn factors(&self) -> f64 {
        self.rare.min(self.sample)
    }

    /// Of so few factors below 2 10^9 each product is a float.
    fn has_few_factors(&self) -> bool {
        self.factors() <= 32.0
    }

    /// Numbers of other urns. The probabilities of 0 are made for several at a time.
    pub(super) fn fill_columns(
        elements: &Elements,
        first: u64,
        out: &mut [i64],
        columns: [&[f64]; 3],
    ) -> Result<(), ElementError> {
        let mut places = 0..out.len();
        let next = || {
            let place = places.next().unwrap_or(0);
            Self::without_first(columns.map(|column| column[place]))
        };
        in_groups(first, out, next, |first, out, group: &mut [Self]| {
            elements.width.run(FirstOfEach(group));
            let mut group = group.iter();
            elements.fill_each::<32, _>(Kind::Hypergeometric, first, out, |words| {
                group.next().map_or(0, |own| own.draw(words))
            })
        })
    }

    #[inline(always)]
    pub(super) fn draw(self, words: &mut Words<'_>) -> i64 {
        let k = if self.is_constant() {
            0.0
        } else if self.is_inverted {
            // The common balls are at least as many as the sample: 0 is possible.
            inverted(words, &[self.first], |k| self.ratio(k))
        } else {
            Self::draw_rejected(words, &self.rejection(), |k| self.ln_probability(k))
        };
        self.counted(k)
    }

    /// The probability of a count divided by the probability of the count below.
    #[inline(always)]
    fn ratio(&self, k: f64) -> f64 {
        let (rare, common, sample) = (self.rare, self.common, self.sample);
        let left = (rare + 1.0 - k).max(0.0) * (sample + 1.0 - k).max(0.0);
        left / (k * (common - sample + k))
    }

    /// The count of good balls, of the count of rare ones in the sample.
    fn counted(&self, k: f64) -> i64 {
        (self.start + self.sign * k) as i64
    }

    /// Without the terms that k does not change.
    fn ln_probability(&self, k: f64) -> f64 {
        ln_hypergeometric(k, self.rare, self.common, self.sample)
    }

    fn rejection(&self) -> Rejection {
        let Self {
            rare,
            common,
            sample,
            ..
        } = *self;
        let total = rare + common;
        let share = rare / total;
        let variance = (total - sample) * sample * share * (1.0 - share) / (total - 1.0);
        let mode = ((sample + 1.0) * (rare + 1.0) / (total + 2.0)) as i64 as f64;
        Rejection {
            center: sample * share + 0.5,
            // 2 sqrt(2 / e) and 3 - 2 sqrt(3 / e).
            width: 1.715_527_769_921_413_5 * sqrt(variance + 0.5) + 0.898_916_162_058_898_8,
            end: rare.min(sample) + 1.0,
            highest: self.ln_probability(mode),
        }
    }

    /// Ratio of uniform numbers (E. Stadlober, "The ratio of uniforms approach for generating discrete random variates", 1990).
    #[inline(always)]
    fn draw_rejected(
        words: &mut Words<'_>,
        rejection: &Rejection,
        mut ln_probability: impl FnMut(f64) -> f64,
    ) -> f64 {
        let Rejection {
            center,
            width,
            end,
            highest,
        } = *rejection;
        loop {
            let u = words.next_positive();
            let x = center + width * (words.next_uniform() - 0.5) / u;
            if !(0.0..end).contains(&x) {
                continue;
            }
            let k = x as i64 as f64;
            let t = ln_probability(k) - highest;
            // Two bounds of the logarithm, and the logarithm.
            if u * (4.0 - u) - 3.0 <= t || u * (u - t) < 1.0 && 2.0 * ln(u) <= t {
                return k;
            }
        }
    }
}

/// The numbers of an urn that the rejection of counts uses.
#[derive(Clone, Copy, Debug)]
struct Rejection {
    center: f64,
    width: f64,
    /// One past the largest count.
    end: f64,
    /// The logarithm of the largest probability.
    highest: f64,
}

/// An urn with what many counts use again.
pub(super) struct Urn {
    urn: Hypergeometric,
    rejection: Option<Rejection>,
    /// The probabilities of 0, 1, 2 .., where counts are inverted.
    probabilities: [f64; 16],
}

impl Urn {
    pub(super) fn of(urn: Hypergeometric) -> Self {
        let is_rejected = !urn.is_constant() && !urn.is_inverted;
        let mut probabilities = [urn.first; 16];
        for k in 1..probabilities.len() {
            probabilities[k] = probabilities[k - 1] * urn.ratio(k as f64);
        }
        Self {
            urn,
            rejection: is_rejected.then(|| urn.rejection()),
            probabilities,
        }
    }

    #[inline(always)]
    pub(super) fn draw(&self, words: &mut Words<'_>) -> i64 {
        let urn = self.urn;
        if let Some(rejection) = &self.rejection {
            let ln_probability = |k| urn.ln_probability(k);
            urn.counted(Hypergeometric::draw_rejected(
                words,
                rejection,
                ln_probability,
            ))
        } else if urn.is_constant() {
            urn.counted(0.0)
        } else {
            urn.counted(inverted(words, &self.probabilities, |k| urn.ratio(k)))
        }
    }
}

impl Sealed for Hypergeometric {
    type Number = i64;

    fn fill(&self, elements: &Elements, first: u64, out: &mut [i64]) -> Result<(), ElementError> {
        let own = *self;
        if own.is_constant() || own.is_inverted {
            return elements
                .fill_each::<32, _>(Kind::Hypergeometric, first, out, |words| own.draw(words));
        }
        let (rejection, mut remembered) = (own.rejection(), Remembered::new(out.len()));
        elements.fill_each::<32, _>(Kind::Hypergeometric, first, out, |words| {
            let ln_probability = |k| remembered.get(k, |k| own.ln_probability(k));
            own.counted(Self::draw_rejected(words, &rejection, ln_probability))
        })
    }
}

/// The probability of 0 as a quotient of two products with as many factors.
#[derive(Clone, Copy)]
struct Products {
    factors: f64,
    /// The largest factor of each.
    left: f64,
    all: f64,
    product_left: f64,
    product_all: f64,
}

impl Products {
    #[inline(always)]
    fn new(urn: &Hypergeometric) -> Self {
        let all = urn.rare + urn.common;
        Self {
            factors: urn.factors(),
            left: all - urn.rare.max(urn.sample),
            all,
            product_left: 1.0,
            product_all: 1.0,
        }
    }

    /// Multiplies by factor `i`, if there is such a one.
    #[inline(always)]
    fn add(&mut self, i: f64) {
        let is_factor = i < self.factors;
        self.product_left *= if is_factor { self.left - i } else { 1.0 };
        self.product_all *= if is_factor { self.all - i } else { 1.0 };
    }

    #[inline(always)]
    fn quotient(self) -> f64 {
        self.product_left / self.product_all
    }
}

/// Makes the probability of 0 of each urn, for several urns at a time.
struct FirstOfEach<'a>(&'a mut [Hypergeometric]);

impl SimdTask for FirstOfEach<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (groups, rest) = self.0.as_chunks_mut::<8>();
        for urns in groups {
            if !urns.iter().all(Hypergeometric::has_few_factors) {
                urns.iter_mut().for_each(|urn| urn.first = urn.first());
                continue;
            }
            let mut products = urns.each_ref().map(Products::new);
            let most = products.iter().fold(0.0, |most, own| own.factors.max(most));
            for i in 0..most as u32 {
                for own in &mut products {
                    own.add(i.into());
                }
            }
            for (urn, own) in urns.iter_mut().zip(products) {
                urn.first = own.quotient();
            }
        }
        rest.iter_mut().for_each(|urn| urn.first = urn.first());
    }
}

/// The failures before a number of successes: by inversion, or Poisson numbers whose mean is a gamma number.
#[derive(Clone, Copy, Debug)]
pub struct NegativeBinomial {
    n: f64,
    p: f64,
    odds: f64,
    successes: StandardGamma,
}

/// A count, its probability, and the sum of the probabilities up to it.
#[derive(Clone, Copy)]
struct Sum {
    k: f64,
    probability: f64,
    sum: f64,
}

impl NegativeBinomial {
    /// Up to this mean a uniform number is compared with the sums of the probabilities of 0, 1, 2 ..; beyond it, events are
    /// counted whose rate is a gamma number.
    const INVERTED_BELOW: f64 = 32.0;

    /// For smaller p the probabilities fall too slowly: from here on, less than 10^-16 of a distribution lies beyond 1300.
    const INVERTED_FROM: f64 = 1.0 / 32.0;

    /// The sums are in memory up to here: 6 KiB.
    const MOST_SUMS: usize = 256;

    /// The failures before `n` successes, where each trial succeeds with the probability `p`. `n` need not be an integer.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `n` is not above 0 or not finite, `p` is not above 0 or above 1, or the means could
    /// be above [`Poisson::MAX_MEAN`].
    pub fn new(n: f64, p: f64) -> Result<Self, ElementError> {
        NEGATIVE_BINOMIAL.check(&[n, p])?;
        Ok(Self::of([n, p]))
    }

    pub(super) fn of([n, p]: [f64; 2]) -> Self {
        Self {
            n,
            p,
            odds: (1.0 - p) / p,
            successes: StandardGamma::new(n),
        }
    }

    fn is_inverted(self) -> bool {
        self.n * self.odds < Self::INVERTED_BELOW && self.p >= Self::INVERTED_FROM
    }

    fn sum_of_0(self) -> Sum {
        let probability = exp(self.n * ln(self.p));
        Sum {
            k: 0.0,
            probability,
            sum: probability,
        }
    }

    #[inline(always)]
    fn sum_after(self, before: Sum) -> Sum {
        let ratio = (self.n + before.k) / (before.k + 1.0) * (1.0 - self.p);
        let probability = before.probability * ratio;
        Sum {
            k: before.k + 1.0,
            probability,
            sum: before.sum + probability,
        }
    }

    #[inline(always)]
    fn draw(self, words: &mut Words<'_>) -> i64 {
        if self.is_inverted() {
            return self.draw_inverted(words, &[self.sum_of_0()]);
        }
        let mean = self.odds * self.successes.draw(words);
        Poisson::of([mean.min(Poisson::MAX_MEAN)]).draw(words)
    }

    /// The first count whose sum is above a uniform number. `known` has the first sums, at least one.
    #[inline(always)]
    fn draw_inverted(self, words: &mut Words<'_>, known: &[Sum]) -> i64 {
        loop {
            let u = words.next_uniform();
            let below = known.partition_point(|known| known.sum <= u);
            let mut last = known[below.min(known.len() - 1)];
            while last.sum <= u {
                let next = self.sum_after(last);
                // Roundings let less than 10^-13 of all numbers come this far.
                if next.sum == last.sum && next.k > Self::INVERTED_BELOW {
                    break;
                }
                last = next;
            }
            if u < last.sum {
                return last.k as i64;
            }
        }
    }
}

impl Sealed for NegativeBinomial {
    type Number = i64;

    fn fill(&self, elements: &Elements, first: u64, out: &mut [i64]) -> Result<(), ElementError> {
        let (own, kind) = (*self, Kind::NegativeBinomial);
        if !own.is_inverted() {
            return elements.fill_each::<64, _>(kind, first, out, |words| own.draw(words));
        }
        let sums = iter::successors(Some(own.sum_of_0()), |last| Some(own.sum_after(*last)));
        let length = out.len().clamp(1, Self::MOST_SUMS);
        let known: Vec<Sum> = sums.take(length).collect();
        elements.fill_each::<64, _>(kind, first, out, |words| own.draw_inverted(words, &known))
    }
}

drawn!(each NegativeBinomial, i64, NegativeBinomial, 64);

/// The distribution of the logarithmic series (A. W. Kemp, "Efficient generation of logarithmically distributed pseudo-random
/// variables", 1981).
#[derive(Clone, Copy, Debug)]
pub struct LogSeries {
    p: f64,
    /// ln(1 - p).
    ln_q: f64,
}

impl LogSeries {
    /// The number k, from 1 on, has a probability in proportion to `p`^k / k.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `p` is below 0, or not below 1.
    pub fn new(p: f64) -> Result<Self, ElementError> {
        LOG_SERIES.check(&[p])?;
        Ok(Self::of([p]))
    }

    pub(super) fn of([p]: [f64; 1]) -> Self {
        Self { p, ln_q: ln_1p(-p) }
    }

    #[inline(always)]
    fn draw(self, words: &mut Words<'_>) -> i64 {
        loop {
            let v = words.next_uniform();
            if v >= self.p {
                return 1;
            }
            let q = -exp_m1(self.ln_q * words.next_uniform());
            if v > q * q {
                return if v >= q { 1 } else { 2 };
            }
            // 0 has no logarithm, and 1 the logarithm 0.
            if v > 0.0 && q < 1.0 {
                return ((ln(v) / ln(q)) as i64).saturating_add(1);
            }
        }
    }
}

drawn!(LogSeries, i64, LogSeries, 16);

/// The Zipf or zeta distribution (L. Devroye, "Non-Uniform Random Variate Generation", 1986, X.6).
#[derive(Clone, Copy, Debug)]
pub struct Zipf {
    /// The exponent less 1.
    above_1: f64,
    /// 2^`above_1`, and that less 1.
    b: f64,
    b_less_1: f64,
    /// The probability beyond the largest integer of 63 bits.
    rest: f64,
}

impl Zipf {
    /// The number k, from 1 to 2^63 - 1, has a probability in proportion to k^-`a`.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `a` is not above 1 or not finite.
    pub fn new(a: f64) -> Result<Self, ElementError> {
        ZIPF.check(&[a])?;
        Ok(Self::of([a]))
    }

    pub(super) fn of([a]: [f64; 1]) -> Self {
        // From here on 2 has a probability below the least float.
        let above_1 = (a - 1.0).min(1024.0);
        let ln_b = above_1 * core::f64::consts::LN_2;
        Self {
            above_1,
            b: exp(ln_b),
            b_less_1: exp_m1(ln_b),
            rest: exp(-63.0 * ln_b),
        }
    }

    #[inline(always)]
    fn draw(self, words: &mut Words<'_>) -> i64 {
        if self.is_always_1() {
            return 1;
        }
        loop {
            let k = self.judge(Self::propose(words));
            if !k.is_nan() {
                return k as i64;
            }
        }
    }

    fn is_always_1(self) -> bool {
        self.above_1 >= 1024.0
    }

    #[inline(always)]
    fn propose(words: &mut Words<'_>) -> [f64; 2] {
        let u = words.next_uniform();
        [u, words.next_uniform()]
    }

    /// The number of a proposal, or NaN if it is rejected.
    #[inline(always)]
    fn judge(self, [u, v]: [f64; 2]) -> f64 {
        // From `rest`, where x is 2^63, up to 1.
        let u = u * self.rest + (1.0 - u);
        let x = exp(-ln(u) / self.above_1);
        let is_integer = x < 9_223_372_036_854_775_808.0;
        let k = (x as i64).max(1) as f64;
        // (1 + 1 / k)^above_1, less 1.
        let t = exp_m1(self.above_1 * ln_1p(1.0 / k));
        if is_integer & (v * k * t / self.b_less_1 <= (1.0 + t) / self.b) {
            k
        } else {
            f64::NAN
        }
    }
}

impl Sealed for Zipf {
    type Number = i64;

    fn fill(&self, elements: &Elements, first: u64, out: &mut [i64]) -> Result<(), ElementError> {
        let own = *self;
        if own.is_always_1() {
            return elements.fill_each::<16, _>(Kind::Zipf, first, out, |words| own.draw(words));
        }
        elements.fill_judged::<16, 2, _>(
            Kind::Zipf,
            first,
            out,
            Self::propose,
            #[inline(always)]
            |proposal| own.judge(proposal),
            |k| k as i64,
        )
    }
}

drawn!(each Zipf, i64, Zipf, 16);
