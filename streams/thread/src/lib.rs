//! Numbers from a generator of the calling thread: fast, and without secrecy.
//!
//! For schedulers, sampling, simulations and test data. A few outputs reveal all others, past and future: no key, nonce,
//! token or hash seed may come from here. No type of this crate implements rand_core's `CryptoRng`, so that no key comes from
//! here by accident.
//!
//! [`u64()`](fn@u64) and [`fill`] draw on a xoshiro256++ (Blackman and Vigna, 2021) of the calling thread, without a
//! lock, an atomic instruction or a barrier. It is seeded from the thread's tap, so that threads and child processes
//! differ. A signal handler that interrupts such a call draws on a generator of its own, and never returns the number of
//! the call that it interrupted. A long fill comes from sixteen such generators in lanes, seeded for it from the thread's, at
//! the widest registers of the CPU.
//!
//! ```
//! use wellspring_pseudo_thread as pseudo;
//! let number = pseudo::u64();
//! let die = pseudo::range(1..=6);
//! # assert!((1..=6).contains(&die)); let _ = number;
//! ```
//!
//! Numbers that can be repeated come from a stream with a name: the crate [`wellspring_pseudo`].
//!
//! The features `rand_core_09` and `rand_core_06` add the traits of rand_core 0.9 and 0.6 to the traits of 0.10.

#![forbid(unsafe_code)]

#[cfg(any(feature = "rand_core_06", feature = "rand_core_09"))]
mod older_rand_core;

use core::convert::Infallible;
use rand_core::TryRng;
use wellspring_os::thread_words::StoredWords;
use wellspring_pseudo::{Xoshiro256PlusPlus, Xoshiro256PlusPlusX16};

/// From this length on lanes are faster, although their seeding takes about 100 ns: with AVX-512 they fill this much in
/// 150 ns, where one generator takes 250 ns; with SSE2 both take the same time.
const BULK_BYTES: usize = 2048;

wellspring::numbers!([] => &mut PseudoRng, "from the calling thread's generator, without secrecy");

/// A handle on the calling thread's generator, with rand_core's `Rng` and without its `CryptoRng`.
///
/// ```
/// use rand_core::Rng as _;
/// let mut rng = wellspring_pseudo_thread::rng();
/// assert_ne!(rng.next_u64(), rng.next_u64());
/// ```
#[must_use]
#[inline]
pub fn rng() -> PseudoRng {
    PseudoRng
}

/// The handle that [`rng()`] returns: reads from the calling thread's generator of the statistical tier.
///
/// It holds nothing, so it may be copied, kept and sent anywhere. A function that makes keys does not accept it:
///
/// ```compile_fail,E0277
/// fn key(generator: &mut impl rand_core::CryptoRng) -> u64 { generator.next_u64() }
/// key(&mut wellspring_pseudo_thread::rng());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct PseudoRng;

impl PseudoRng {
    wellspring::numbers!([&self,] => &mut { *self }, "from the calling thread's generator, without secrecy");
}

impl TryRng for PseudoRng {
    type Error = Infallible;

    /// The upper half of a word: the better one of a linear generator.
    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.try_next_u64().map(|word| (word >> 32) as u32)
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(with_generator(Xoshiro256PlusPlus::next_u64))
    }

    #[inline]
    fn try_fill_bytes(&mut self, destination: &mut [u8]) -> Result<(), Infallible> {
        fill(destination);
        Ok(())
    }
}

/// Runs `draw` on the calling thread's generator.
#[inline(always)]
fn with_generator<R>(mut draw: impl FnMut(&mut Xoshiro256PlusPlus) -> R) -> R {
    match draw_stored(&mut draw) {
        Some(result) => result,
        None => draw_seeded(&mut draw),
    }
}

/// Runs `draw` on the generator that this thread has. `None` if it has none in this process, in a signal handler that
/// interrupted another draw, and in a child that was forked under this one.
#[inline(always)]
fn draw_stored<R>(draw: &mut impl FnMut(&mut Xoshiro256PlusPlus) -> R) -> Option<R> {
    let mut stored = StoredWords::take()?;
    let words = stored.load();
    // That generator has no state of zeros. One word shows it: if only this word is zero, once in 2^64 draws, the thread gets
    // another generator.
    if words[0] == 0 {
        return None;
    }
    let mut generator = Xoshiro256PlusPlus::from_words(words)?;
    let result = draw(&mut generator);
    stored.store(generator.words());
    stored.end().then_some(result)
}

/// Runs `draw` on a new generator, seeded from the thread's tap, which the thread keeps; for this call alone in a signal
/// handler that interrupted another draw.
#[cold]
#[inline(never)]
fn draw_seeded<R>(draw: &mut impl FnMut(&mut Xoshiro256PlusPlus) -> R) -> R {
    loop {
        let mut stored = StoredWords::take_to_store();
        let words = [(); 4].map(|()| wellspring::u64());
        let Some(mut generator) = Xoshiro256PlusPlus::from_words(words) else {
            continue;
        };
        let result = draw(&mut generator);
        stored.store(generator.words());
        // A fork in between, by a signal handler, would give parent and child the same generator.
        if stored.end() {
            return result;
        }
    }
}

/// Fills `destination`, of any length, from the calling thread's generator.
#[inline]
pub fn fill(destination: &mut [u8]) {
    if destination.len() < BULK_BYTES {
        with_generator(|generator| generator.fill(destination));
    } else {
        fill_in_bulk(destination);
    }
}

/// Not inlined, so that a short fill has neither lanes on its stack nor a generator that must stay in memory.
#[inline(never)]
fn fill_in_bulk(destination: &mut [u8]) {
    with_generator(|seeder| Xoshiro256PlusPlusX16::seeded_by(seeder).fill(destination));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn numbers_of_threads_do_not_repeat() {
        let draw = || (0..10_000).map(|_| u64()).collect::<Vec<_>>();
        let mut seen: HashSet<u64> = draw().into_iter().collect();
        let other = std::thread::spawn(draw).join().unwrap();
        seen.extend(other);
        assert_eq!(seen.len(), 20_000);
    }

    #[test]
    fn a_thread_continues_its_own_generator() {
        let first = with_generator(|generator| generator.words());
        let step = u64();
        let mut same = Xoshiro256PlusPlus::from_words(first).unwrap();
        assert_eq!(step, same.next_u64());
        let mut bytes = [0; 11];
        fill(&mut bytes);
        let mut expected = [0; 11];
        same.fill(&mut expected);
        assert_eq!(bytes, expected);
    }

    #[test]
    fn a_long_fill_comes_from_lanes_that_the_thread_seeds() {
        let words = with_generator(|generator| generator.words());
        let mut same = Xoshiro256PlusPlus::from_words(words).unwrap();
        for length in [BULK_BYTES - 1, BULK_BYTES, 5003] {
            let (mut bytes, mut expected) = (vec![0; length], vec![0; length]);
            fill(&mut bytes);
            if length < BULK_BYTES {
                same.fill(&mut expected);
            } else {
                Xoshiro256PlusPlusX16::seeded_by(&mut same).fill(&mut expected);
            }
            assert_eq!(bytes, expected, "{length} bytes");
        }
        assert_eq!(u64(), same.next_u64());
    }

    #[test]
    fn long_fills_do_not_repeat() {
        let mut bytes = vec![0; 1 << 20];
        let mut seen = HashSet::new();
        for _ in 0..2 {
            fill(&mut bytes);
            let (words, _) = bytes.as_chunks::<8>();
            assert!(words.iter().all(|word| seen.insert(*word)));
        }
    }

    #[test]
    fn it_has_the_methods_of_the_other_generators_beside_those_of_rand() {
        use rand::RngExt as _;
        let mut rng = rng();
        let _ = (rng.u16(), rng.u32(), rng.u64(), rng.bool());
        assert!((0.0..1.0).contains(&rng.f64()));
        assert!(rng.below(3) < 3 && (1..=6).contains(&rng.range(1..=6)));
        rng.shuffle(&mut [1, 2, 3]);
        assert!(rng.choose(&[1, 2]).is_some());
        let _: u16 = rng.random();
        assert!(rng.random_range(1..=6) < 7);
        let _: bool = rng.random_bool(0.5);
        assert!(below(3) < 3 && (1..=6).contains(&range(1..=6)));
    }
}

/// Compiles the lines of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
