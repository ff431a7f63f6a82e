//! The traits of rand_core 0.9 and 0.6, each behind its feature. They cannot fail: all of them wait for the first seed.

use crate::engine::Engine;
use crate::rng::{LocalRng, ThreadRng};
use rand_core::Rng;

macro_rules! words_and_bytes {
    () => {
        #[inline]
        fn next_u32(&mut self) -> u32 {
            Rng::next_u32(self)
        }

        #[inline]
        fn next_u64(&mut self) -> u64 {
            Rng::next_u64(self)
        }

        #[inline]
        fn fill_bytes(&mut self, destination: &mut [u8]) {
            Rng::fill_bytes(self, destination);
        }
    };
}

/// Also gives `TryRngCore` and `TryCryptoRng`, which rand_core 0.9 implements for all types that have these.
#[cfg(feature = "rand_core_09")]
macro_rules! rand_core_09 {
    ($($type:ty)*) => {$(
        impl rand_core_09::RngCore for $type {
            words_and_bytes!();
        }
    )*};
}

#[cfg(feature = "rand_core_06")]
macro_rules! rand_core_06 {
    ($($type:ty)*) => {$(
        impl rand_core_06::RngCore for $type {
            words_and_bytes!();

            #[inline]
            fn try_fill_bytes(&mut self, destination: &mut [u8]) -> Result<(), rand_core_06::Error> {
                Rng::fill_bytes(self, destination);
                Ok(())
            }
        }
    )*};
}

#[cfg(feature = "rand_core_09")]
mod version_09 {
    use super::*;

    rand_core_09!(LocalRng ThreadRng Engine &Engine);

    impl rand_core_09::CryptoRng for LocalRng {}
    impl rand_core_09::CryptoRng for ThreadRng {}
    impl rand_core_09::CryptoRng for Engine {}
    impl rand_core_09::CryptoRng for &Engine {}
}

#[cfg(feature = "rand_core_06")]
mod version_06 {
    use super::*;

    rand_core_06!(LocalRng ThreadRng Engine &Engine);

    impl rand_core_06::CryptoRng for LocalRng {}
    impl rand_core_06::CryptoRng for ThreadRng {}
    impl rand_core_06::CryptoRng for Engine {}
    impl rand_core_06::CryptoRng for &Engine {}
}

#[cfg(test)]
mod tests {
    use super::{Engine, ThreadRng};

    /// Draws by every method of a version's trait, from every generator; no two draws are the same.
    macro_rules! assert_version {
        ($version:ident, $try_fill:expr) => {
            use $version::{CryptoRng, RngCore};

            fn draw<R: CryptoRng + RngCore>(rng: &mut R, seen: &mut std::collections::HashSet<u64>) {
                for _ in 0..100 {
                    let mut bytes = [[0; 8]; 2];
                    rng.fill_bytes(&mut bytes[0]);
                    $try_fill(rng, &mut bytes[1]);
                    let words = [rng.next_u64(), u64::from(rng.next_u32()) << 32];
                    for word in bytes.map(u64::from_le_bytes).into_iter().chain(words) {
                        assert!(word != 0 && seen.insert(word));
                    }
                }
            }

            let builder = Engine::builder().sources([]).seed(b"a seed that has 32 bytes, always");
            let engine = builder.build().unwrap();
            let mut seen = std::collections::HashSet::new();
            draw(&mut engine.rng(), &mut seen);
            draw(&mut &engine, &mut seen);
            draw(&mut engine.clone(), &mut seen);
            // The engine of the process yields other bytes each time, so that 32 bits may be there twice.
            assert_ne!(ThreadRng.next_u64(), crate::rng().next_u64());
        };
    }

    #[test]
    #[cfg(feature = "rand_core_09")]
    fn every_generator_has_the_traits_of_rand_core_09() {
        assert_version!(rand_core_09, |rng: &mut _, bytes: &mut [u8]| {
            rand_core_09::TryRngCore::try_fill_bytes(rng, bytes).unwrap()
        });
    }

    #[test]
    #[cfg(feature = "rand_core_06")]
    fn every_generator_has_the_traits_of_rand_core_06() {
        assert_version!(rand_core_06, |rng: &mut _, bytes: &mut [u8]| {
            rand_core_06::RngCore::try_fill_bytes(rng, bytes).unwrap()
        });
    }
}
