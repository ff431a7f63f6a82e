//! rand_core's traits, implemented in the same way for all generators here.

/// Implements `TryRng`, and with their features `RngCore` of rand_core 0.9 and 0.6, by a type's own `next_u64` and `fill`, and
/// by `$next_u32`, a function of it.
macro_rules! infallible_rng {
    ($type:ty, $(#[$doc:meta])* fn $next_u32:expr) => {
        impl rand_core::TryRng for $type {
            type Error = core::convert::Infallible;

            $(#[$doc])*
            #[inline]
            fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
                let next: fn(&mut $type) -> u32 = $next_u32;
                Ok(next(self))
            }

            #[inline]
            fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
                Ok(self.next_u64())
            }

            #[inline]
            fn try_fill_bytes(&mut self, destination: &mut [u8]) -> Result<(), Self::Error> {
                self.fill(destination);
                Ok(())
            }
        }

        #[cfg(feature = "rand_core_09")]
        impl rand_core_09::RngCore for $type {
            $crate::rng_trait::older_methods!($next_u32);
        }

        #[cfg(feature = "rand_core_06")]
        impl rand_core_06::RngCore for $type {
            $crate::rng_trait::older_methods!($next_u32);

            #[inline]
            fn try_fill_bytes(&mut self, destination: &mut [u8]) -> Result<(), rand_core_06::Error> {
                self.fill(destination);
                Ok(())
            }
        }
    };
}

#[cfg(any(feature = "rand_core_09", feature = "rand_core_06"))]
macro_rules! older_methods {
    ($next_u32:expr) => {
        #[inline]
        fn next_u32(&mut self) -> u32 {
            let next: fn(&mut Self) -> u32 = $next_u32;
            next(self)
        }

        #[inline]
        fn next_u64(&mut self) -> u64 {
            Self::next_u64(self)
        }

        #[inline]
        fn fill_bytes(&mut self, destination: &mut [u8]) {
            self.fill(destination);
        }
    };
}

pub(crate) use infallible_rng;
#[cfg(any(feature = "rand_core_09", feature = "rand_core_06"))]
pub(crate) use older_methods;

#[cfg(all(test, any(feature = "rand_core_09", feature = "rand_core_06")))]
mod tests {
    use crate::insecure_for_tests::KnownRng;
    use crate::{Algorithm, Stream, Xorshift128Plus, Xoshiro256PlusPlus, Xoshiro256PlusPlusX16};

    /// The words and bytes of an older trait are those of the type's own methods.
    macro_rules! assert_same {
        ($version:ident, $generator:expr) => {{
            let (mut one, mut other) = ($generator, $generator);
            for _ in 0..50 {
                assert_eq!($version::RngCore::next_u64(&mut one), other.next_u64());
                let next_u32 = rand_core::Rng::next_u32(&mut other);
                assert_eq!($version::RngCore::next_u32(&mut one), next_u32);
                let mut bytes = [[0; 24]; 2];
                $version::RngCore::fill_bytes(&mut one, &mut bytes[0]);
                other.fill(&mut bytes[1]);
                assert_eq!(bytes[0], bytes[1]);
            }
        }};
    }

    macro_rules! assert_version {
        ($version:ident) => {
            for algorithm in Algorithm::ALL {
                assert_same!($version, Stream::new(algorithm, 7, &[1]));
            }
            let xoshiro = Xoshiro256PlusPlus::from_any_words([7; 4]);
            assert_same!($version, xoshiro.clone());
            assert_same!($version, Xoshiro256PlusPlusX16::jumping_from(&xoshiro));
            assert_same!($version, Xorshift128Plus::from_any_words([7; 2]));
            assert_same!($version, KnownRng::new(7));
            fn assert_is_crypto_rng<R: $version::CryptoRng>(_: R) {}
            assert_is_crypto_rng(KnownRng::new(7));
        };
    }

    #[test]
    #[cfg(feature = "rand_core_09")]
    fn every_generator_has_the_trait_of_rand_core_09() {
        assert_version!(rand_core_09);
    }

    #[test]
    #[cfg(feature = "rand_core_06")]
    fn every_generator_has_the_trait_of_rand_core_06() {
        assert_version!(rand_core_06);
    }
}
