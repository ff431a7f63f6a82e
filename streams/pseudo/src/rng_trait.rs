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
