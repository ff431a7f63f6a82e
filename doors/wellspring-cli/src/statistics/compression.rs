//! Distances between equal blocks of 6 bits: Maurer's universal test (SP 800-22 section 2.9), and the compression
//! estimate of min-entropy (SP 800-90B section 6.3.4), from the same sums.

/// Bits of a block.
const BITS: usize = 6;

/// Values of a block.
const VALUES: usize = 1 << BITS;

/// The first blocks only fill the table of places.
const FIRST_BLOCKS: u64 = 1000;

/// The standard deviation of the mean of v distances of random data is this times that of one distance, over the root
/// of v: distances depend on each other (Coron and Naccache 1998, for blocks of 6 bits; the same number as in SP
/// 800-90B).
const DEPENDENCE: f64 = 0.5907;

/// The mean of the logarithm of a distance in random data, and its variance: the sums over i of log2(i) p and of
/// log2(i)^2 p, where p = (1/64) (63/64)^(i-1).
const EXPECTED_MEAN: f64 = 5.217_705_249_861_304;
const EXPECTED_VARIANCE: f64 = 2.954_032_399_381_894_4;

/// The sums of SP 800-90B's G(z) stop here. For more blocks the terms left out are too small to be printed.
const MAX_TERMS: u64 = 1 << 20;

/// Logarithms below this distance come from a table.
const TABLE_LENGTH: usize = 1024;

/// The sums so far.
pub(super) struct Compression {
    /// The number of the last block with each value, counted from 1; 0 for none.
    places: [u64; VALUES],
    blocks: u64,
    /// Up to 2 bytes that do not fill 4 blocks.
    rest: [u8; 3],
    filled: usize,
    logarithms: Sum,
    squares: Sum,
    table: Box<[f64; TABLE_LENGTH]>,
}

/// A sum that stays exact to 1e-15 over any number of terms (Kahan).
#[derive(Clone, Copy, Default)]
struct Sum {
    sum: f64,
    lost: f64,
}

impl Sum {
    fn add(&mut self, term: f64) {
        let term = term - self.lost;
        let sum = self.sum + term;
        self.lost = (sum - self.sum) - term;
        self.sum = sum;
    }
}

impl Default for Compression {
    fn default() -> Self {
        let mut table = Box::new([0.0; TABLE_LENGTH]);
        for (distance, logarithm) in table.iter_mut().enumerate().skip(1) {
            *logarithm = (distance as f64).log2();
        }
        Self {
            places: [0; VALUES],
            blocks: 0,
            rest: [0; 3],
            filled: 0,
            logarithms: Sum::default(),
            squares: Sum::default(),
            table,
        }
    }
}

impl Compression {
    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        if self.filled > 0 {
            let taken = bytes.len().min(3 - self.filled);
            let (start, rest) = bytes.split_at(taken);
            self.rest[self.filled..][..taken].copy_from_slice(start);
            self.filled += taken;
            bytes = rest;
            if self.filled < 3 {
                return;
            }
            self.add_four(&[self.rest]);
        }
        let (triples, rest) = bytes.as_chunks::<3>();
        // So few at a time that the plain sums in between lose nothing.
        for triples in triples.chunks(1 << 12) {
            self.add_four(triples);
        }
        self.rest[..rest.len()].copy_from_slice(rest);
        self.filled = rest.len();
    }

    /// Adds 4 blocks for each 3 bytes.
    fn add_four(&mut self, triples: &[[u8; 3]]) {
        let (mut logarithms, mut squares) = (0.0, 0.0);
        for &[a, b, c] in triples {
            let bits = u32::from_be_bytes([0, a, b, c]);
            for shift in [18, 12, 6, 0] {
                let value = (bits >> shift) as usize % VALUES;
                self.blocks += 1;
                let distance = self.blocks - self.places[value];
                self.places[value] = self.blocks;
                if self.blocks > FIRST_BLOCKS {
                    let logarithm = match self.table.get(distance as usize) {
                        Some(&logarithm) => logarithm,
                        None => (distance as f64).log2(),
                    };
                    logarithms += logarithm;
                    squares += logarithm * logarithm;
                }
            }
        }
        self.logarithms.add(logarithms);
        self.squares.add(squares);
    }

    /// How many distances there were.
    pub(super) fn distances(&self) -> u64 {
        self.blocks.saturating_sub(FIRST_BLOCKS)
    }

    /// The mean of the logarithms of the distances.
    pub(super) fn mean(&self) -> f64 {
        self.logarithms.sum / self.distances() as f64
    }

    pub(super) fn expected_mean() -> f64 {
        EXPECTED_MEAN
    }

    /// The standard deviation of the mean for random data.
    pub(super) fn deviation_of_mean(&self) -> f64 {
        DEPENDENCE * (EXPECTED_VARIANCE / self.distances() as f64).sqrt()
    }

    /// The min-entropy in bits per bit by SP 800-90B 6.3.4; `None` with fewer than 2 distances. Good data gives about
    /// 0.8 to 0.95, because it is a bound with a confidence of 99 %.
    pub(super) fn min_entropy(&self) -> Option<f64> {
        let distances = self.distances();
        if distances < 2 {
            return None;
        }
        let count = distances as f64;
        let mean = self.mean();
        let variance = self.squares.sum / (count - 1.0) - mean * mean;
        let deviation = DEPENDENCE * variance.max(0.0).sqrt();
        let bound = mean - 2.576 * deviation / count.sqrt();
        // The expected mean falls as the probability of the most common block grows.
        let (mut low, mut high) = (1.0 / VALUES as f64, 1.0);
        if bound >= expected_mean(low, distances) {
            return Some(1.0);
        }
        for _ in 0..40 {
            let middle = f64::midpoint(low, high);
            if expected_mean(middle, distances) > bound {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some(0.0 - f64::midpoint(low, high).log2() / BITS as f64)
    }
}

/// The mean that is expected if one block has the probability `p` and the others share the rest: step 7 of the
/// estimate.
fn expected_mean(p: f64, distances: u64) -> f64 {
    let others = (VALUES - 1) as f64;
    let distances = distances.min(MAX_TERMS);
    term(p, distances) + others * term((1.0 - p) / others, distances)
}

/// G(z) of SP 800-90B 6.3.4, with the sum over u carried along from t to t + 1.
fn term(z: f64, distances: u64) -> f64 {
    // Of log2(u) z^2 (1-z)^(u-1) over u < t.
    let mut inner = 0.0;
    let mut total = 0.0;
    // (1-z)^(t-1).
    let mut power = 1.0;
    let end = FIRST_BLOCKS + distances;
    for t in 1..=end {
        let logarithm = (t as f64).log2();
        if t > FIRST_BLOCKS {
            total += inner + logarithm * z * power;
        }
        inner += logarithm * z * z * power;
        power *= 1.0 - z;
        if power < 1e-18 && t > FIRST_BLOCKS {
            // Nothing changes any more.
            total += (end - t) as f64 * inner;
            break;
        }
    }
    total / distances as f64
}
