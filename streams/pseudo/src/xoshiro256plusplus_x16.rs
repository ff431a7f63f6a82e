//! Sixteen xoshiro256++ side by side, so that registers of any width step several at once.

use core::fmt;

use rand_core::{TryRng, utils};
use wellspring_cipher::{SimdTask, Width};

use crate::rng_trait::infallible_rng;
use crate::xoshiro256plusplus::{LONG_JUMP, Xoshiro256PlusPlus, distance, output, step};
use crate::{jump, splitmix64};

/// Two registers of 512 bits: each step of one register waits for the step before, and the other one
/// fills the gap.
const LANES: usize = 16;

const WORD_BYTES: usize = size_of::<u64>();

/// A word of every lane.
const ROW_BYTES: usize = LANES * WORD_BYTES;

/// Word i of the state of lane j is at `[i][j]`.
type LaneWords = [[u64; LANES]; 4];

/// Sixteen [`Xoshiro256PlusPlus`] that take turns, for bulk: word k comes from lane k mod 16. It takes
/// 520 bytes.
///
/// Requests of 128 bytes and more are vectorised for the registers of the CPU, whose width does not
/// change the output. A single word costs about twice as much as in one generator.
///
/// For reproducible words make the lanes with [`jumping_from`](Self::jumping_from):
///
/// ```
/// use rand_core::SeedableRng;
/// use wellspring_pseudo::{Xoshiro256PlusPlus, Xoshiro256PlusPlusX16};
///
/// let mut lane_0 = Xoshiro256PlusPlus::seed_from_u64(1);
/// let mut lane_1 = lane_0.clone();
/// lane_1.jump();
/// let mut lanes = Xoshiro256PlusPlusX16::jumping_from(&lane_0);
/// assert_eq!(lanes.next_u64(), lane_0.next_u64());
/// assert_eq!(lanes.next_u64(), lane_1.next_u64());
/// ```
///
/// `Debug` shows no state. It is not a source of keys:
///
/// ```compile_fail,E0277
/// # use rand_core::SeedableRng;
/// # use wellspring_pseudo::{Xoshiro256PlusPlus, Xoshiro256PlusPlusX16};
/// fn key(generator: &mut impl rand_core::CryptoRng) -> u64 { generator.next_u64() }
/// let lane_0 = Xoshiro256PlusPlus::seed_from_u64(1);
/// key(&mut Xoshiro256PlusPlusX16::jumping_from(&lane_0));
/// ```
#[derive(Clone)]
pub struct Xoshiro256PlusPlusX16 {
    words: LaneWords,
    /// The lane of the next word. Lanes before it have yielded one word more than the others.
    lane: usize,
}

impl Xoshiro256PlusPlusX16 {
    /// Lane i is `first` after i [jumps](Xoshiro256PlusPlus::jump): no two share a word until
    /// 2^132 were read. Takes about 4 microseconds.
    #[must_use]
    pub fn jumping_from(first: &Xoshiro256PlusPlus) -> Self {
        let mut lane = first.clone();
        Self::from_lanes(|_| {
            let words = lane.words();
            lane.jump();
            words
        })
    }

    /// Lanes in states made from four words of `seeder`: of SplitMix64's sequences from those words,
    /// the first outputs are the words of lane 0, the second outputs the words of lane 1, and so on. Takes
    /// 100 nanoseconds.
    ///
    /// SplitMix64 multiplies, which xoshiro256++ does not: the lanes are unrelated to one another and
    /// to the seeder's next words. Among 2^n lanes made so that yield 2^m words each, some two overlap
    /// with a probability of about 2^(2n + m - 256).
    #[must_use]
    pub fn seeded_by(seeder: &mut Xoshiro256PlusPlus) -> Self {
        let rows: LaneWords = [(); 4].map(|()| splitmix64::state_words(seeder.next_u64()));
        Self::from_lanes(|lane| {
            let words = rows.each_ref().map(|row| row[lane]);
            Xoshiro256PlusPlus::from_any_words(words).words()
        })
    }

    /// Goes on by `long_jumps` [long jumps](Xoshiro256PlusPlus::long_jump) in every lane and by
    /// `words` words of the sixteen together, in about 0.1 ms.
    pub fn advance(&mut self, long_jumps: u64, words: u128) {
        let lanes = LANES as u128;
        let polynomial = distance(LONG_JUMP, long_jumps, words / lanes);
        for lane in 0..LANES {
            let state = self.words.each_ref().map(|row| row[lane]);
            set_state(&mut self.words, lane, jump::ahead(state, &polynomial, step));
        }
        for _ in 0..words % lanes {
            self.next_u64();
        }
    }

    #[inline]
    fn from_lanes(mut state: impl FnMut(usize) -> [u64; 4]) -> Self {
        let mut words = [[0; LANES]; 4];
        for lane in 0..LANES {
            set_state(&mut words, lane, state(lane));
        }
        Self { words, lane: 0 }
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        // The remainder changes nothing; it tells the compiler that the lane is in bounds.
        let lane = self.lane % LANES;
        self.lane = (lane + 1) % LANES;
        draw(&mut self.words, lane)
    }

    /// Fills `destination` with words in little-endian order, at the widest registers of this CPU.
    ///
    /// Each call starts a new word: the last 1 to 7 bytes are the low bytes of one more word, and the
    /// rest of that word is lost. A [`Stream`](crate::Stream) loses nothing.
    pub fn fill(&mut self, destination: &mut [u8]) {
        self.fill_at(Width::detect(), destination);
    }

    /// Like [`fill`](Self::fill), with registers of the given width, which give the same bytes: for
    /// tests and benchmarks.
    ///
    /// # Panics
    ///
    /// When `destination` has a whole row of 128 bytes and this CPU lacks the width.
    pub fn fill_at(&mut self, width: Width, destination: &mut [u8]) {
        let to_lane_0 = (LANES - self.lane) % LANES * WORD_BYTES;
        let (head, body) = destination.split_at_mut(to_lane_0.min(destination.len()));
        self.fill_singly(head);
        let (rows, tail) = body.as_chunks_mut();
        // Without a whole row, moving the 512 bytes of state into registers and back takes longer than
        // all the rest.
        if !rows.is_empty() {
            let words = &mut self.words;
            width.run(FillRows { words, rows });
        }
        self.fill_singly(tail);
    }

    fn fill_singly(&mut self, destination: &mut [u8]) {
        let Ok(()) = utils::fill_bytes_via_next_word(destination, || self.try_next_u64());
    }
}

/// The bulk: whole rows, from lane 0 to lane 15.
struct FillRows<'a> {
    words: &'a mut LaneWords,
    rows: &'a mut [[u8; ROW_BYTES]],
}

impl SimdTask for FillRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // The compiler keeps this copy in registers over all rows: 8 of 512 bits.
        let mut words = *self.words;
        for row in self.rows {
            let (row, _) = row.as_chunks_mut();
            for (lane, bytes) in row.iter_mut().enumerate() {
                *bytes = draw(&mut words, lane).to_le_bytes();
            }
        }
        *self.words = words;
    }
}

/// The next word of a lane.
#[inline(always)]
fn draw(words: &mut LaneWords, lane: usize) -> u64 {
    let state = [
        words[0][lane],
        words[1][lane],
        words[2][lane],
        words[3][lane],
    ];
    set_state(words, lane, step(state));
    output(state)
}

#[inline(always)]
fn set_state(words: &mut LaneWords, lane: usize, state: [u64; 4]) {
    for (row, word) in words.iter_mut().zip(state) {
        row[lane] = word;
    }
}

infallible_rng!(
    Xoshiro256PlusPlusX16,
    /// The upper half of the next word, as of a single generator.
    fn |rng| (rng.next_u64() >> 32) as u32
);

impl fmt::Debug for Xoshiro256PlusPlusX16 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Xoshiro256PlusPlusX16")
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;

    use super::*;

    #[test]
    fn a_seeder_gives_each_lane_the_next_of_four_splitmix64_sequences() {
        let mut seeder = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut same = seeder.clone();
        let mut lanes = Xoshiro256PlusPlusX16::seeded_by(&mut seeder);
        let rows: [[u64; LANES]; 4] = [(); 4].map(|()| splitmix64::state_words(same.next_u64()));
        for lane in 0..LANES {
            let words = rows.map(|row| row[lane]);
            let mut lane = Xoshiro256PlusPlus::from_words(words).unwrap();
            assert_eq!(lanes.next_u64(), lane.next_u64());
        }
        assert_eq!(seeder.words(), same.words());
    }
}
