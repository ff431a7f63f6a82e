//! The statistical tier: fast numbers that keep no secret.
//!
//! For schedulers, sampling, simulations and test data. Whoever sees a few outputs can tell all others, past
//! and to come: no key, nonce, token or hash seed may come from here, and no type of this module implements
//! rand_core's `CryptoRng`, so that none does by accident.
//!
//! [`u64()`](fn@u64) and [`fill`] draw on a xoshiro256++ (Blackman and Vigna, 2021) of the calling thread, without a
//! lock, an atomic or a barrier. It is seeded from the thread's tap, so that threads and child processes go
//! ways of their own; a signal handler has its own at its own depth, and never returns the number of the call
//! it interrupted.
//!
//! [`Stream`] is for numbers that shall come again: a seed and a path name a stream of bytes, the same on any
//! machine, in any language that has NumPy's SeedSequence, at any number of threads.
//!
//! ```
//! use wellspring::pseudo::{Algorithm, Path, Stream};
//! let die = wellspring::pseudo::u64() % 6 + 1;
//! assert!((1..=6).contains(&die));
//!
//! let path: Path = "3/0/17".parse()?;
//! let mut stream = Stream::new(Algorithm::Xoshiro256PlusPlus, 2026, &path);
//! let mut sample = [0; 4];
//! stream.fill(&mut sample);
//! # Ok::<(), wellspring::pseudo::PathError>(())
//! ```

use crate::process;

pub use wellspring_pseudo::{
    Algorithm, MAX_DEPTH, Path, PathError, SeedSequence, Stream, UnknownAlgorithm, Xorshift128Plus,
    Xoshiro256PlusPlus,
};

/// 64 pseudo-random bits from the calling thread's generator.
#[must_use]
#[inline]
pub fn u64() -> u64 {
    process::engine().pseudo(Xoshiro256PlusPlus::next_u64)
}

/// Fills `destination`, of any length, from the calling thread's generator.
#[inline]
pub fn fill(destination: &mut [u8]) {
    process::engine().pseudo(|generator| generator.fill(destination));
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
    fn a_thread_goes_on_where_it_was() {
        let first = process::engine().pseudo(|generator| generator.words());
        let step = u64();
        let mut same = Xoshiro256PlusPlus::from_words(first).unwrap();
        assert_eq!(step, same.next_u64());
        let mut bytes = [0; 11];
        fill(&mut bytes);
        let mut expected = [0; 11];
        same.fill(&mut expected);
        assert_eq!(bytes, expected);
    }
}
