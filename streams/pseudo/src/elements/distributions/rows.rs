//! Rows of numbers that depend on each other.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::Cell;

use super::continuous::{StandardGamma, common_factor};
use super::counts::{Binomial, Chance};
use super::entry::{
    DIRICHLET, MULTINOMIAL, MULTIVARIATE_HYPERGEOMETRIC, MULTIVARIATE_NORMAL, SPHERE, SUBSETS,
};
use super::private::Sealed;
use super::urns::{Hypergeometric, Urn};
use super::{ElementError, Elements};
use crate::elements::arrays::Kind;
use crate::elements::functions::{exp, ln, sqrt};

/// Up to this many numbers are in a table of 64 KiB. With more numbers, a map holds the ones that have moved.
const TABLE_LENGTH: u64 = 1 << 13;

/// Rows of k of the numbers 0 to n - 1, in random order: all rows have the same probability. With k = n they are orders of n
/// numbers.
///
/// A long row starts with the numbers of a shorter row only if the whole array is one row: to get
/// parts of an order, take [`Elements::permutation`].
#[derive(Clone, Copy, Debug)]
pub struct Subsets {
    n: u64,
    k: usize,
}

impl Subsets {
    /// Rows of `k` of `n` numbers.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `k` is 0 or above `n`, or `n` is 2^63 or above.
    pub fn new(n: u64, k: usize) -> Result<Self, ElementError> {
        SUBSETS.check(&[n as f64, k as f64])?;
        // The largest numbers below 2^63 are rounded up to it.
        if k as u64 > n || n >= 1 << 63 {
            return Err(ElementError::Parameter("k is not from 1 to n"));
        }
        Ok(Self { n, k })
    }

    /// The numbers 0 to n - 1 before a row: column j changes places with a number that is not chosen yet.
    fn numbers(&self) -> Numbers {
        if self.n <= TABLE_LENGTH {
            Numbers::Table((0..self.n).collect())
        } else {
            Numbers::Moved(BTreeMap::new())
        }
    }
}

/// The first steps of Fisher and Yates's shuffle.
enum Numbers {
    Table(Vec<u64>),
    /// Each number that is not at its own place.
    Moved(BTreeMap<u64, u64>),
}

impl Numbers {
    fn begin_row(&mut self) {
        match self {
            Self::Table(numbers) => {
                for (number, index) in numbers.iter_mut().zip(0..) {
                    *number = index;
                }
            }
            Self::Moved(moved) => moved.clear(),
        }
    }

    /// The number at `place`. The number at `column` moves to `place`.
    fn take(&mut self, column: u64, place: u64) -> u64 {
        match self {
            Self::Table(numbers) => {
                numbers.swap(column as usize, place as usize);
                numbers[column as usize]
            }
            Self::Moved(moved) => {
                let left = moved.remove(&column).unwrap_or(column);
                if place == column {
                    return left;
                }
                moved.insert(place, left).unwrap_or(place)
            }
        }
    }
}

impl Sealed for Subsets {
    type Number = i64;

    fn width(&self) -> usize {
        self.k
    }

    fn fill(&self, elements: &Elements, first: u64, out: &mut [i64]) -> Result<(), ElementError> {
        let mut numbers = self.numbers();
        let mut column = 0;
        elements.fill_each::<8, _>(Kind::Subsets, first, out, |words| {
            if column == self.k as u64 {
                column = 0;
                numbers.begin_row();
            }
            let number = numbers.take(column, column + words.next_below(self.n - column));
            column += 1;
            number as i64
        })
    }
}

/// Rows of k numbers from 0 to 1 whose sum is 1.
#[derive(Clone, Debug)]
pub struct Dirichlet {
    parts: Vec<StandardGamma>,
    are_small: bool,
}

impl Dirichlet {
    /// Number j of a row is on average `alpha[j]` of their sum.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `alpha` is empty, or one value is not above 0 or not finite.
    pub fn new(alpha: &[f64]) -> Result<Self, ElementError> {
        DIRICHLET.check_vector(0, alpha)?;
        if alpha.is_empty() {
            return Err(ElementError::Parameter("alpha is empty"));
        }
        let factor = common_factor(alpha.iter().copied().fold(0.0, f64::max));
        let part = |alpha: &f64| StandardGamma::new(factor * alpha);
        Ok(Self {
            parts: alpha.iter().map(part).collect(),
            are_small: alpha.iter().any(|alpha| *alpha < 1.0),
        })
    }
}

impl Sealed for Dirichlet {
    type Number = f64;

    fn width(&self) -> usize {
        self.parts.len()
    }

    fn fill(&self, elements: &Elements, first: u64, out: &mut [f64]) -> Result<(), ElementError> {
        if self.are_small {
            let mut parts = self.parts.iter().cycle();
            elements.fill_each::<32, _>(Kind::Dirichlet, first, out, |words| {
                let part = parts.next().expect("there is at least one part");
                let (x, root) = part.draw_parts(words);
                ln(x) + root
            })?;
        } else {
            let alone = |_, gamma| gamma;
            StandardGamma::fill_raised::<0>(
                elements,
                Kind::Dirichlet,
                first,
                out,
                &self.parts,
                alone,
            )?;
        }
        for row in out.chunks_mut(self.parts.len()) {
            if self.are_small {
                // All may be too small for a float, and still have quotients.
                let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                for number in &mut *row {
                    *number = exp(*number - largest);
                }
            }
            let sum = row.iter().fold(0.0, |sum, number| sum + number);
            for number in row {
                *number /= sum;
            }
        }
        Ok(())
    }
}

/// Rows of k counts: how often each of k results comes in n trials.
#[derive(Clone, Debug)]
pub struct Multinomial {
    n: i64,
    /// The probability of each result if none before it came; `None` for 1.
    chances: Vec<Option<Chance>>,
}

impl Multinomial {
    /// The counts of each result in `n` trials, where result j has the probability `p[j]`. The last result has the rest to
    /// 1, as in NumPy.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `n` is below 0, `p` is empty, one value is not from 0 to 1, or the sum without the last
    /// is above 1 + 10^-12.
    pub fn new(n: i64, p: &[f64]) -> Result<Self, ElementError> {
        let Some((_, before_last)) = p.split_last() else {
            return Err(ElementError::Parameter("pvals is empty"));
        };
        MULTINOMIAL.check(&[n as f64])?;
        MULTINOMIAL.check_vector(1, p)?;
        let mut left = 1.0;
        let mut chances = Vec::new();
        for p in before_last {
            let share = if left > 0.0 { p / left } else { 0.0 };
            chances.push((share < 1.0).then(|| Chance::new(share)));
            left -= p;
        }
        if left < -1e-12 {
            return Err(ElementError::Parameter("sum(pvals[:-1]) > 1.0"));
        }
        chances.push(None);
        Ok(Self { n, chances })
    }
}

impl Sealed for Multinomial {
    type Number = i64;

    fn width(&self) -> usize {
        self.chances.len()
    }

    fn fill(&self, elements: &Elements, first: u64, out: &mut [i64]) -> Result<(), ElementError> {
        let (mut column, mut left) = (0, self.n);
        let mut seen = Seen::new(self.chances.len(), self.n, out.len());
        elements.fill_each::<32, _>(Kind::Multinomial, first, out, |words| {
            if column == self.chances.len() {
                (column, left) = (0, self.n);
            }
            let chance = self.chances[column];
            let count = match chance {
                // With more than 2^53 trials, rounding may make it one too many.
                Some(chance) if left > 0 => {
                    let known = seen.get(column, left, || Count {
                        binomial: Binomial::of(left as f64, chance),
                        ln_height: Cell::new(None),
                    });
                    let ln_height = || known.ln_height();
                    (known.binomial.draw(words, ln_height) as i64).min(left)
                }
                _ => left,
            };
            column += 1;
            left -= count;
            count
        })
    }
}

/// The count of a column of multinomial rows.
struct Count {
    binomial: Binomial,
    ln_height: Cell<Option<f64>>,
}

impl Count {
    fn ln_height(&self) -> f64 {
        self.ln_height.get().unwrap_or_else(|| {
            let made = self.binomial.ln_height();
            self.ln_height.set(Some(made));
            made
        })
    }
}

/// The distributions of counts that came before. Rows ask for the same ones again, since about as many trials are left at a
/// column in each row, and to look one up takes a tenth of the time to make one.
struct Seen<D> {
    places: Vec<Option<Known<D>>>,
    columns: usize,
}

/// The distribution of the count of a column, if so many trials are left.
struct Known<D> {
    column: usize,
    left: i64,
    count: D,
}

impl<D> Seen<D> {
    /// Half a megabyte, which stays in the second cache.
    const MOST_PLACES: usize = 4096;

    /// Places for the distributions of so many numbers: rows of `columns`, whose sum is `n`.
    fn new(columns: usize, n: i64, numbers: usize) -> Self {
        // Six standard deviations of the trials that are left in each column. If those are more, few come twice.
        let usual = columns as f64 * 3.0 * sqrt(n as f64);
        let places = if usual <= Self::MOST_PLACES as f64 {
            numbers.clamp(1, Self::MOST_PLACES).next_power_of_two()
        } else {
            1
        };
        let mut all = Vec::new();
        all.resize_with(places, || None);
        Self {
            places: all,
            columns,
        }
    }

    #[inline(always)]
    fn get(&mut self, column: usize, left: i64, make: impl FnOnce() -> D) -> &D {
        let number = (left as usize)
            .wrapping_mul(self.columns)
            .wrapping_add(column);
        let place = number & (self.places.len() - 1);
        let known = &mut self.places[place];
        let is_same = |known: &&mut Known<D>| known.column == column && known.left == left;
        if known.as_mut().filter(is_same).is_none() {
            *known = None;
        }
        let known = known.get_or_insert_with(|| Known {
            column,
            left,
            count: make(),
        });
        &known.count
    }
}

/// Rows of k counts: how many balls of each of k colours are among the balls that are drawn from an urn.
#[derive(Clone, Debug)]
pub struct MultivariateHypergeometric {
    /// The balls of each colour, and of all colours behind it.
    colors: Vec<(f64, f64)>,
    sample: f64,
}

impl MultivariateHypergeometric {
    /// The counts of each colour in `sample` balls from an urn with so many balls of each.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `colors` is empty, a value is no integer from 0 on, their sum is above
    /// [`Hypergeometric::MAX_BALLS`] or below `sample`.
    pub fn new(colors: &[f64], sample: i64) -> Result<Self, ElementError> {
        MULTIVARIATE_HYPERGEOMETRIC.check_vector(0, colors)?;
        let refused = |reason| Err(ElementError::Parameter(reason));
        if colors.is_empty() {
            return refused("colors is empty");
        }
        if colors.iter().any(|balls| (*balls as i64) as f64 != *balls) {
            return refused("colors must be integers");
        }
        let (mut behind, mut pairs) = (0.0, Vec::with_capacity(colors.len()));
        for balls in colors.iter().rev() {
            pairs.push((*balls, behind));
            behind += balls;
        }
        pairs.reverse();
        if behind > Hypergeometric::MAX_BALLS as f64 {
            return refused("sum(colors) must not exceed 10^9");
        }
        let sample = sample as f64;
        if !(0.0..=behind).contains(&sample) {
            return refused("nsample < 0 or nsample > sum(colors)");
        }
        Ok(Self {
            colors: pairs,
            sample,
        })
    }
}

impl Sealed for MultivariateHypergeometric {
    type Number = i64;

    fn width(&self) -> usize {
        self.colors.len()
    }

    fn fill(&self, elements: &Elements, first: u64, out: &mut [i64]) -> Result<(), ElementError> {
        let (mut column, mut left) = (0, self.sample);
        let mut seen = Seen::new(self.colors.len(), self.sample as i64, out.len());
        elements.fill_each::<32, _>(Kind::MultivariateHypergeometric, first, out, |words| {
            if column == self.colors.len() {
                (column, left) = (0, self.sample);
            }
            let (balls, behind) = self.colors[column];
            let known = seen.get(column, left as i64, || {
                Urn::of(Hypergeometric::of([balls, behind, left]))
            });
            let count = known.draw(words);
            column += 1;
            left -= count as f64;
            count
        })
    }
}

/// Rows of k normal numbers with a covariance.
#[derive(Clone, Debug)]
pub struct MultivariateNormal {
    mean: Vec<f64>,
    /// The columns of the lower triangle, one after the other: column j has k - j numbers.
    factor: Vec<f64>,
}

impl MultivariateNormal {
    /// Rows with this mean, and with this covariance, which has the rows of a symmetric matrix one after the other.
    ///
    /// The matrix is L times its transpose (Cholesky), and a row is the mean + L z. A matrix without full rank is taken too.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `mean` is empty, a number is not finite, or `covariance` is not a symmetric matrix of this
    /// size, or has an eigenvalue below 0: within 10^-8 of its largest variance.
    pub fn new(mean: &[f64], covariance: &[f64]) -> Result<Self, ElementError> {
        let k = mean.len();
        if k == 0 || k.checked_mul(k) != Some(covariance.len()) {
            return Err(ElementError::Parameter(
                "mean and cov must have same length",
            ));
        }
        MULTIVARIATE_NORMAL.check_vector(0, mean)?;
        MULTIVARIATE_NORMAL.check_vector(1, covariance)?;
        let largest = (0..k).map(|i| covariance[i * k + i]).fold(0.0, f64::max);
        let tolerance = 1e-8 * largest;
        let unlike = |i: usize| {
            (0..i).any(|j| (covariance[i * k + j] - covariance[j * k + i]).abs() > tolerance)
        };
        if (0..k).any(unlike) {
            return Err(ElementError::Parameter("cov is not symmetric"));
        }
        let not_positive = ElementError::Parameter("cov is not positive-semidefinite");
        let mut rest = covariance.to_vec();
        let mut factor = Vec::with_capacity(k * (k + 1) / 2);
        for j in 0..k {
            let pivot = rest[j * k + j];
            let is_zero = pivot <= tolerance * 1e-4;
            if pivot < -tolerance || is_zero && (j..k).any(|i| rest[i * k + j].abs() > tolerance) {
                return Err(not_positive);
            }
            let root = if is_zero { 0.0 } else { sqrt(pivot) };
            let column = factor.len();
            factor.push(root);
            for i in j + 1..k {
                factor.push(if is_zero { 0.0 } else { rest[i * k + j] / root });
            }
            for i in j + 1..k {
                for m in j + 1..=i {
                    rest[i * k + m] -= factor[column + i - j] * factor[column + m - j];
                }
            }
        }
        let mean = mean.to_vec();
        Ok(Self { mean, factor })
    }
}

impl Sealed for MultivariateNormal {
    type Number = f64;

    fn width(&self) -> usize {
        self.mean.len()
    }

    fn fill(&self, elements: &Elements, first: u64, out: &mut [f64]) -> Result<(), ElementError> {
        elements.normals(Kind::MultivariateNormal, first, out)?;
        let mut result = vec![0.0; self.mean.len()];
        for row in out.chunks_mut(self.mean.len()) {
            result.copy_from_slice(&self.mean);
            let mut columns = &self.factor[..];
            for (j, z) in row.iter().enumerate() {
                let (column, others) = columns.split_at(row.len() - j);
                columns = others;
                for (sum, part) in result[j..].iter_mut().zip(column) {
                    *sum += part * z;
                }
            }
            row.copy_from_slice(&result);
        }
        Ok(())
    }
}

/// Rows of k numbers: points on the sphere with the radius 1 in k dimensions (M. E. Muller, 1959).
#[derive(Clone, Copy, Debug)]
pub struct Sphere {
    dimensions: usize,
}

impl Sphere {
    /// Points in this many dimensions: on a circle in 2, and 1 or -1 in 1.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if there is no dimension.
    pub fn new(dimensions: usize) -> Result<Self, ElementError> {
        SPHERE.check(&[dimensions as f64])?;
        Ok(Self { dimensions })
    }
}

impl Sealed for Sphere {
    type Number = f64;

    fn width(&self) -> usize {
        self.dimensions
    }

    fn fill(&self, elements: &Elements, first: u64, out: &mut [f64]) -> Result<(), ElementError> {
        elements.normals(Kind::Sphere, first, out)?;
        for row in out.chunks_mut(self.dimensions) {
            let square = row.iter().fold(0.0, |sum, number| sum + number * number);
            let radius = sqrt(square);
            if radius > 0.0 {
                row.iter_mut().for_each(|number| *number /= radius);
            } else {
                // All are 0, once in 2^53 points at most.
                row[0] = 1.0;
            }
        }
        Ok(())
    }
}
