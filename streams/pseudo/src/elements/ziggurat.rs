//! The normal and the exponential distribution by the ziggurat method (Marsaglia & Tsang, "The ziggurat
//! method for generating random variables", 2000).
//!
//! Layers of equal area cover the density, and the lowest layer has the tail. A word names a layer and a
//! place in it: 998 of 1000 places are certainly under the density, and one word is enough. The others go on
//! with words of their own ([`Words`]).

use wellspring_cipher::SimdTask;

use super::arrays::{ElementError, Elements, Kind, Words};
use super::functions;
use super::math::{exp, ln, sqrt};
use super::uniform::Float;

const LAYERS: usize = 1024;

/// How many elements are converted before a search for the ones that need more words.
const GROUP: usize = 64;

const LAST_BIT: f64 = 1.0 / (1u64 << 53) as f64;

/// Layer i reaches from 0 to `edges[i]`, and lies under the density up to `edges[i + 1]`.
type Edges = [f64; LAYERS + 1];

/// A density that falls from 1 at 0.
trait Density {
    const EDGES: &'static Edges;
    /// The density at each edge.
    const HEIGHTS: &'static Edges;
    /// Bit 10 of the word is the sign.
    const IS_SYMMETRIC: bool;
    /// The logarithm of the density.
    fn ln_at(x: f64) -> f64;
    /// A number from the tail, above `EDGES[1]`.
    fn tail(words: &mut Words<'_>) -> f64;
}

/// The density exp(-x^2 / 2).
struct Normal;

/// The density exp(-x).
struct Exponential;

/// Where the tail of the normal density begins, and the area of a layer.
const NORMAL_TAIL: f64 = 4.038_849_846_109_505;
const NORMAL_AREA: f64 = 0.001_226_324_646_353_088_2;

/// The same for the exponential density.
const EXPONENTIAL_TAIL: f64 = 9.256_164_544_265_544;
const EXPONENTIAL_AREA: f64 = 0.000_979_678_990_602_020_9;

static NORMAL_EDGES: Edges = {
    let mut edges = [0.0; LAYERS + 1];
    edges[0] = NORMAL_AREA / normal_density(NORMAL_TAIL);
    edges[1] = NORMAL_TAIL;
    let mut i = 1;
    while i + 1 < LAYERS {
        let above = normal_density(edges[i]) + NORMAL_AREA / edges[i];
        edges[i + 1] = sqrt(-2.0 * ln(above));
        i += 1;
    }
    edges
};

static EXPONENTIAL_EDGES: Edges = {
    let mut edges = [0.0; LAYERS + 1];
    edges[0] = EXPONENTIAL_AREA / exp(-EXPONENTIAL_TAIL);
    edges[1] = EXPONENTIAL_TAIL;
    let mut i = 1;
    while i + 1 < LAYERS {
        let above = exp(-edges[i]) + EXPONENTIAL_AREA / edges[i];
        edges[i + 1] = -ln(above);
        i += 1;
    }
    edges
};

const fn normal_density(x: f64) -> f64 {
    exp(-0.5 * x * x)
}

static NORMAL_HEIGHTS: Edges = {
    let mut heights = [0.0; LAYERS + 1];
    let mut i = 0;
    while i <= LAYERS {
        heights[i] = normal_density(NORMAL_EDGES[i]);
        i += 1;
    }
    heights
};

static EXPONENTIAL_HEIGHTS: Edges = {
    let mut heights = [0.0; LAYERS + 1];
    let mut i = 0;
    while i <= LAYERS {
        heights[i] = exp(-EXPONENTIAL_EDGES[i]);
        i += 1;
    }
    heights
};

/// Whether `y` lies below e^`x`, the exact one of [`exp`]. The fast function is right to within 4 units in the last place of
/// it, so that one number in 10^13 asks the slow one.
#[inline(always)]
fn is_below_exp(y: f64, x: f64) -> bool {
    let near = functions::exp(x);
    if (y - near).abs() > 1e-13 * near {
        y < near
    } else {
        y < exp(x)
    }
}

impl Density for Normal {
    const EDGES: &'static Edges = &NORMAL_EDGES;
    const HEIGHTS: &'static Edges = &NORMAL_HEIGHTS;
    const IS_SYMMETRIC: bool = true;

    fn ln_at(x: f64) -> f64 {
        -0.5 * x * x
    }

    /// Marsaglia, "Generating a variable from the tail of the normal distribution", 1964.
    fn tail(words: &mut Words<'_>) -> f64 {
        loop {
            let beyond = by_inversion(words) / NORMAL_TAIL;
            if 2.0 * by_inversion(words) > beyond * beyond {
                return NORMAL_TAIL + beyond;
            }
        }
    }
}

impl Density for Exponential {
    const EDGES: &'static Edges = &EXPONENTIAL_EDGES;
    const HEIGHTS: &'static Edges = &EXPONENTIAL_HEIGHTS;
    const IS_SYMMETRIC: bool = false;

    fn ln_at(x: f64) -> f64 {
        -x
    }

    /// The distribution has no memory: its tail is itself.
    fn tail(words: &mut Words<'_>) -> f64 {
        EXPONENTIAL_TAIL + by_inversion(words)
    }
}

/// An exponential number by inversion, at most 36.8.
fn by_inversion(words: &mut Words<'_>) -> f64 {
    -ln(1.0 - words.next_uniform())
}

/// The layer, the place in it and the sign of a word: bits 0 to 9, 11 to 63, and 10.
struct Draw {
    layer: usize,
    x: f64,
    sign: u64,
}

impl Draw {
    #[inline(always)]
    fn new<D: Density>(word: u64) -> Self {
        let layer = word as usize % LAYERS;
        // Converted like a uniform number. Registers of several numbers do not pay here, because each number
        // looks up its own layer, and a single one is converted by an instruction.
        let x = (word >> 11) as f64 * LAST_BIT * D::EDGES[layer];
        let sign = if D::IS_SYMMETRIC { word << 53 } else { 0 };
        Self { layer, x, sign }
    }

    /// Whether the place lies under the density for certain.
    #[inline(always)]
    fn is_inside<D: Density>(&self) -> bool {
        self.x < D::EDGES[self.layer + 1]
    }

    #[inline(always)]
    fn with_sign(&self, x: f64) -> f64 {
        f64::from_bits(x.to_bits() | self.sign & 1 << 63)
    }
}

/// The number of a word for which one word is not enough.
#[cold]
#[inline(never)]
fn finish<D: Density>(word: u64, words: &mut Words<'_>) -> f64 {
    let mut draw = Draw::new::<D>(word);
    while !draw.is_inside::<D>() {
        if draw.layer == 0 {
            let x = D::tail(words);
            return draw.with_sign(x);
        }
        let (below, above) = (D::HEIGHTS[draw.layer], D::HEIGHTS[draw.layer + 1]);
        let y = below + words.next_uniform() * (above - below);
        if is_below_exp(y, D::ln_at(draw.x)) {
            break;
        }
        draw = Draw::new::<D>(words.next_u64());
    }
    draw.with_sign(draw.x)
}

/// The number of the normal distribution that a word gives, or NaN if one word is not enough.
#[inline(always)]
pub(super) fn normal_of(word: [u8; 8]) -> f64 {
    let draw = Draw::new::<Normal>(u64::from_le_bytes(word));
    let x = if draw.is_inside::<Normal>() {
        draw.x
    } else {
        f64::NAN
    };
    draw.with_sign(x)
}

impl Words<'_> {
    /// A number of the normal distribution.
    #[inline(always)]
    pub(super) fn next_normal(&mut self) -> f64 {
        self.next_under::<Normal>()
    }

    /// A number of the exponential distribution.
    #[inline(always)]
    pub(super) fn next_exponential(&mut self) -> f64 {
        self.next_under::<Exponential>()
    }

    #[inline(always)]
    fn next_under<D: Density>(&mut self) -> f64 {
        let word = self.next_u64();
        let draw = Draw::new::<D>(word);
        if draw.is_inside::<D>() {
            draw.with_sign(draw.x)
        } else {
            finish::<D>(word, self)
        }
    }
}

/// Converts words as far as one word is enough, and calls `finish` for the others.
struct Convert<'a, D, T, F> {
    words: &'a [[u8; 8]],
    out: &'a mut [T],
    finish: F,
    density: core::marker::PhantomData<D>,
}

impl<D: Density, T: Float, F: FnMut(usize, u64) -> f64> SimdTask for Convert<'_, D, T, F> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        let groups = self.out.chunks_mut(GROUP).zip(self.words.chunks(GROUP));
        for (group, (out, words)) in groups.enumerate() {
            let mut all_are_inside = true;
            for (place, word) in out.iter_mut().zip(words) {
                let draw = Draw::new::<D>(u64::from_le_bytes(*word));
                let is_inside = draw.is_inside::<D>();
                let x = if is_inside { draw.x } else { f64::NAN };
                *place = T::from_f64(draw.with_sign(x));
                all_are_inside &= is_inside;
            }
            if !all_are_inside {
                for (index, (place, word)) in out.iter_mut().zip(words).enumerate() {
                    if place.is_nan() {
                        let word = u64::from_le_bytes(*word);
                        *place = T::from_f64((self.finish)(GROUP * group + index, word));
                    }
                }
            }
        }
    }
}

impl Elements {
    /// Fills `out` with numbers of the normal distribution with mean 0 and standard deviation 1.
    ///
    /// An `f32` is the `f64` of the same index, rounded. The largest numbers that can come lie 12.6
    /// standard deviations from the mean; beyond 6 lies one in 5 10^8, as it should be.
    ///
    /// # Errors
    ///
    /// [`ElementError::PastTheEnd`] if the last index is 2^64 or above.
    pub fn standard_normal<T: Float>(&self, first: u64, out: &mut [T]) -> Result<(), ElementError> {
        self.normals(Kind::Normal, first, out)
    }

    /// Fills `out` with numbers of the exponential distribution with mean 1: 0 is possible.
    ///
    /// An `f32` is the `f64` of the same index, rounded. The largest number that can come is 46.
    ///
    /// # Errors
    ///
    /// [`ElementError::PastTheEnd`] if the last index is 2^64 or above.
    pub fn standard_exponential<T: Float>(
        &self,
        first: u64,
        out: &mut [T],
    ) -> Result<(), ElementError> {
        self.exponentials(Kind::Exponential, first, out)
    }

    /// Normal numbers from the words of a kind.
    pub(super) fn normals<T: Float>(
        &self,
        kind: Kind,
        first: u64,
        out: &mut [T],
    ) -> Result<(), ElementError> {
        self.fill_under::<Normal, T>(kind, first, out)
    }

    /// Exponential numbers from the words of a kind.
    pub(super) fn exponentials<T: Float>(
        &self,
        kind: Kind,
        first: u64,
        out: &mut [T],
    ) -> Result<(), ElementError> {
        self.fill_under::<Exponential, T>(kind, first, out)
    }

    fn fill_under<D: Density, T: Float>(
        &self,
        kind: Kind,
        first: u64,
        out: &mut [T],
    ) -> Result<(), ElementError> {
        self.fill_from_words(kind.row(), first, out, |start, words, out| {
            let finish = |index: usize, word| {
                let index = start.wrapping_add(index as u64);
                finish::<D>(word, &mut Words::new(&self.blocks, kind, index))
            };
            self.width.run(Convert {
                words,
                out,
                finish,
                density: core::marker::PhantomData::<D>,
            });
        })
    }
}

#[cfg(test)]
mod tests;
