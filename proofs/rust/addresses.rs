//! P10, addresses: each word of each element of an array of numbers is one place in one block, and no other element or
//! stream has it.
//!
//! Blocks are named by a row of 64 bits and a number in it; the counter of a cipher is row * 2^64 + number, the words
//! of Philox's are the two of them. main() takes the words of elements by the code, at the ends of all ranges, and
//! claims that each is where a formula says. By the formula element i of a kind has the bytes i w to i w + w - 1 of
//! the kind's row, so elements of a kind differ; that kinds do not meet is arithmetic on the ends of their rows.

#[path = "source.rs"]
mod arrays;
mod name;

use arrays::{Elements, Kind, Words};
pub use name::Algorithm;
use std::cell::RefCell;

extern crate self as wellspring_cipher;

#[derive(Clone, Copy)]
pub struct Width;
impl Width {
    pub fn detect() -> Self {
        Self
    }
    pub fn run<T: SimdTask>(self, task: T) -> T::Output {
        task.run()
    }
}

pub trait SimdTask {
    type Output;
    fn run(self) -> Self::Output;
}

/// Blocks that know where they are: byte p of a row is the byte p modulo 251.
pub mod counter_function {
    use super::{Algorithm, CALLS};
    pub const FIRST_ELEMENT_ROW: u64 = 1 << 63;
    pub const MAX_BLOCK_BYTES: usize = 64;
    #[derive(Clone)]
    pub struct CounterFunction(pub usize);
    impl CounterFunction {
        pub fn new(_: Algorithm, _: [u64; 4]) -> Option<Self> {
            None
        }
        pub const fn algorithm(&self) -> Algorithm {
            Algorithm::ChaCha8
        }
        pub fn block_bytes(&self) -> usize {
            self.0
        }
        pub fn fill(&self, row: u64, first: u128, destination: &mut [u8]) {
            let start = (first % 251 * self.0 as u128) % 251;
            for (byte, offset) in destination.iter_mut().zip(0u128..) {
                *byte = ((start + offset) % 251) as u8;
            }
            CALLS.with_borrow_mut(|calls| calls.push((row, first, destination.len())));
        }
    }
}
use counter_function::{CounterFunction, FIRST_ELEMENT_ROW};

thread_local! {
    static CALLS: RefCell<Vec<(u64, u128, usize)>> = const { RefCell::new(Vec::new()) };
}

const KINDS: [Kind; 41] = [
    Kind::Integers32, Kind::Integers64, Kind::Normal, Kind::Exponential, Kind::Shuffle, Kind::Permutation,
    Kind::LogNormal, Kind::Weibull, Kind::Cauchy, Kind::Gamma, Kind::Beta, Kind::StudentT, Kind::TruncatedNormal,
    Kind::Geometric, Kind::Binomial, Kind::Poisson, Kind::Choice, Kind::Subsets, Kind::Dirichlet,
    Kind::Multinomial, Kind::MultivariateNormal, Kind::Sphere, Kind::Sobol, Kind::Halton, Kind::Laplace,
    Kind::Gumbel, Kind::Logistic, Kind::Rayleigh, Kind::Pareto, Kind::Power, Kind::Triangular, Kind::VonMises,
    Kind::Wald, Kind::F, Kind::NoncentralChiSquare, Kind::NoncentralF, Kind::NegativeBinomial,
    Kind::Hypergeometric, Kind::LogSeries, Kind::Zipf, Kind::MultivariateHypergeometric,
];

/// The kinds in the code.
fn number_of_kinds() -> usize {
    let (_, list) = include_str!("source.rs").split_once("enum Kind {").unwrap();
    let (list, _) = list.split_once("\n}").unwrap();
    list.lines().filter(|line| line.contains(" = ")).count()
}

/// The places where heads are longer than 8 bytes, in the text of the distributions.
const DISTRIBUTIONS: [&str; 5] = [
    include_str!("continuous.rs"), include_str!("counts.rs"), include_str!("rows.rs"),
    include_str!("transformed.rs"), include_str!("urns.rs"),
];

fn claim(holds: bool, what: &str) {
    if !holds {
        println!("{what}");
        std::process::exit(10);
    }
}

/// The longest head of a kind, in bytes.
fn head_bytes(kind: Kind) -> u64 {
    // `fill_from_words` takes 4 or 8 bytes.
    let mut longest = 8;
    for text in DISTRIBUTIONS {
        for (place, _) in text.match_indices("fill_each::<") {
            let call = &text[place + "fill_each::<".len()..];
            let (bytes, rest) = call.split_once(", _>(").unwrap();
            let Some(rest) = rest.strip_prefix("Kind::") else {
                claim(bytes == "8", "a function of any kind takes 8 bytes");
                continue;
            };
            let (name, _) = rest.split_once(',').unwrap();
            if name == format!("{kind:?}") {
                longest = longest.max(bytes.parse().unwrap());
            }
        }
        // drawn!(each Type, numbers, Kind, head bytes)
        for (place, _) in text.match_indices("drawn!(") {
            let (call, _) = text[place..].split_once(')').unwrap();
            let mut words = call.rsplit(',').map(str::trim);
            let (bytes, name) = (words.next().unwrap(), words.next().unwrap());
            if name == format!("{kind:?}") {
                longest = longest.max(bytes.parse().unwrap());
            }
        }
    }
    longest
}

/// The first blocks of all elements of a kind, and the blocks that elements have for themselves, as counters of a
/// cipher with blocks of this length: their ends.
fn ranges(kind: Kind, block_bytes: u64) -> [(u128, u128); 2] {
    let start = u128::from(kind.row()) << 64;
    let heads = (u128::from(head_bytes(kind)) << 64).div_ceil(block_bytes.into());
    let own = u128::from(kind.row_of_own_blocks()) << 64;
    let end = start + (1u128 << 120);
    [(start, start + heads), (own, end)]
}

fn kinds_do_not_meet() {
    claim(KINDS.len() == number_of_kinds(), "every kind is in the list of the proof");
    let mut all = Vec::new();
    for kind in KINDS {
        for block_bytes in [16, 32, 64] {
            let [heads, own] = ranges(kind, block_bytes);
            claim(heads.1 <= own.0 && own.0 < own.1, "the first words of a kind end before an element's own blocks");
            claim(heads.0 >= u128::from(FIRST_ELEMENT_ROW) << 64, "no stream has a row of elements");
        }
        all.push((ranges(kind, 16)[0].0, ranges(kind, 16)[1].1));
    }
    all.sort_unstable();
    claim(all.windows(2).all(|pair| pair[0].1 <= pair[1].0), "two kinds have no block in common");
    claim(all.iter().all(|range| range.1 > range.0), "no kind goes beyond the last row");
}

fn indexes() -> Vec<u64> {
    let near = (0..64).flat_map(|bit| (0..3).map(move |over| ((1u64 << bit) - 1).wrapping_add(over)));
    (0..300).chain(near).chain((0..300).map(|below| u64::MAX - below)).collect()
}

/// Element `index` has the bytes from `index * HEAD` on of the kind's row.
fn heads_are_where_they_should_be<const HEAD: usize>(kind: Kind, elements: &Elements) {
    let block_bytes = elements.blocks.0 as u128;
    for index in indexes() {
        CALLS.with_borrow_mut(Vec::clear);
        let mut heads = [[0u8; HEAD]; 3];
        let count = (u64::MAX - index).min(2) as usize + 1;
        let filled = elements.fill_from_words(kind.row(), index, &mut heads[..count], |_, words: &[[u8; HEAD]], out| {
            out.copy_from_slice(words);
        });
        claim(filled.is_ok(), "elements up to the last one are made");
        for (head, number) in heads[..count].iter().zip(u128::from(index)..) {
            for (byte, offset) in head.iter().zip(0u128..) {
                let place = number * HEAD as u128 + offset;
                claim(u128::from(*byte) == place % 251, "an element has its own words of the kind's row");
            }
        }
        CALLS.with_borrow(|calls| {
            let block = u128::from(index) * HEAD as u128 / block_bytes;
            claim(calls.len() == 1 && calls[0].0 == kind.row() && calls[0].1 == block, "and its blocks of it");
        });
    }
    let mut out = [[0u8; HEAD]; 2];
    let past = elements.fill_from_words(kind.row(), u64::MAX, &mut out, |_, _: &[[u8; HEAD]], _| {});
    claim(past.is_err(), "there is no element behind the last one");
}

/// The blocks of an element's own: block `index` of one row after the other, each byte once.
fn own_blocks_are_where_they_should_be(kind: Kind, blocks: &CounterFunction) {
    for index in indexes() {
        CALLS.with_borrow_mut(Vec::clear);
        let mut words = Words::new(blocks, kind, index);
        for number in 0..3 * blocks.0 as u128 / 8 {
            let place = u128::from(index) * blocks.0 as u128 + number * 8 % blocks.0 as u128;
            let word = words.next_u64().to_le_bytes();
            let is_right = word.iter().zip(place..).all(|(&byte, place)| u128::from(byte) == place % 251);
            claim(is_right, "each word of an element's own block is used once");
        }
        CALLS.with_borrow(|calls| {
            let is_right = calls.iter().zip(kind.row_of_own_blocks()..).all(|(call, row)| {
                call.0 == row && call.1 == u128::from(index)
            });
            claim(is_right && calls.len() == 3, "an element has a block of its own in one row after the other");
        });
    }
}

fn main() {
    kinds_do_not_meet();
    for block_bytes in [16, 32, 64] {
        let elements = Elements { blocks: CounterFunction(block_bytes), width: Width };
        for kind in KINDS {
            heads_are_where_they_should_be::<4>(kind, &elements);
            heads_are_where_they_should_be::<8>(kind, &elements);
            heads_are_where_they_should_be::<16>(kind, &elements);
            heads_are_where_they_should_be::<32>(kind, &elements);
            heads_are_where_they_should_be::<64>(kind, &elements);
            own_blocks_are_where_they_should_be(kind, &elements.blocks);
        }
    }
    println!("{} kinds hold", KINDS.len());
}
