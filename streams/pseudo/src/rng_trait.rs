//! rand_core's trait `TryRng`, implemented in the same way for all generators here.

/// Implements `TryRng` by a type's own `next_u64` and `fill`, and by `$next_u32`, a function of it.
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
    };
}

pub(crate) use infallible_rng;
