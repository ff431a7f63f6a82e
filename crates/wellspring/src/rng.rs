//! The two generators with rand_core's traits: a handle to the process's engine, and a tap of one's own.

use crate::{Engine, Error, process};
use core::convert::Infallible;
use core::fmt;
use rand_core::{TryCryptoRng, TryRng};
use wellspring_core::tap::Tap;
use wellspring_sys::nest::Owned;

/// With its header, one page.
const OWNED_BUFFER_BYTES: usize = 3840;

/// A generator of one's own: a tap that is not tied to a thread.
///
/// For hot loops. It is `Send`, not `Sync` and not `Clone`; it notices forks and reseeds as the threads' taps
/// do, takes one page of memory, and is erased on drop. Whatever the mode of its engine, it reads like
/// `PerThread`.
///
/// ```
/// use rand_core::Rng as _;
/// let mut rng = wellspring::LocalRng::new(wellspring::Engine::process().clone());
/// let sum = (0..1000).map(|_| rng.next_u64() % 6).sum::<u64>();
/// assert!(sum > 0);
/// ```
pub struct LocalRng {
    tap: Owned<Tap<OWNED_BUFFER_BYTES>>,
    engine: Engine,
}

impl LocalRng {
    /// A generator on `engine`.
    #[must_use]
    pub fn new(engine: Engine) -> Self {
        Self {
            tap: Owned::new(&engine.shared.nest),
            engine,
        }
    }

    /// Fills `destination`, of any length. Waits for the first seed, if need be.
    #[inline(always)]
    pub fn fill(&mut self, destination: &mut [u8]) {
        if !self.take(destination) {
            self.engine
                .shared
                .fill_owned_slowly(&mut self.tap, destination);
        }
    }

    /// Fills `destination`, of any length, without waiting for the first seed.
    ///
    /// # Errors
    ///
    /// [`Error::NotSeeded`]; `destination` is then untouched.
    #[inline(always)]
    pub fn try_fill(&mut self, destination: &mut [u8]) -> Result<(), Error> {
        if self.take(destination) {
            return Ok(());
        }
        self.engine.shared.read_owned(&mut self.tap, destination)
    }

    #[inline(always)]
    fn take(&mut self, destination: &mut [u8]) -> bool {
        let seen = self.engine.shared.copies.watched.seen();
        let generation = self.engine.shared.generation.current();
        let from_tap = |tap: &mut Tap<_>| tap.is_current(generation) && tap.take(destination);
        self.tap.at_hand(from_tap) == Some(true) && self.engine.shared.copies.watched.now() == seen
    }
}

impl Default for LocalRng {
    /// A generator on the engine of the process.
    fn default() -> Self {
        Self::new(process::engine().clone())
    }
}

impl fmt::Debug for LocalRng {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalRng").finish_non_exhaustive()
    }
}

/// The handle that [`rng()`](crate::rng) returns: reads from the calling thread's tap of the process's engine.
///
/// It holds nothing, so it may be copied, kept and sent anywhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadRng;

/// Implements rand_core's traits by a type's `fill` of any length: infallible, since all of these wait for the
/// first seed.
macro_rules! rand_core_traits {
    ($type:ty, $self:ident => $fill:expr) => {
        impl TryRng for $type {
            type Error = Infallible;

            #[inline]
            fn try_next_u32(&mut self) -> Result<u32, Infallible> {
                let mut bytes = [0; 4];
                self.try_fill_bytes(&mut bytes)?;
                Ok(u32::from_le_bytes(bytes))
            }

            #[inline]
            fn try_next_u64(&mut self) -> Result<u64, Infallible> {
                let mut bytes = [0; 8];
                self.try_fill_bytes(&mut bytes)?;
                Ok(u64::from_le_bytes(bytes))
            }

            #[inline]
            fn try_fill_bytes(&mut $self, destination: &mut [u8]) -> Result<(), Infallible> {
                ($fill)(destination);
                Ok(())
            }
        }

        impl TryCryptoRng for $type {}
    };
}

rand_core_traits!(LocalRng, self => |bytes: &mut [u8]| self.fill(bytes));
rand_core_traits!(ThreadRng, self => |bytes: &mut [u8]| crate::fill(bytes));
rand_core_traits!(Engine, self => |bytes: &mut [u8]| Engine::fill(self, bytes));
rand_core_traits!(&Engine, self => |bytes: &mut [u8]| Engine::fill(self, bytes));

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{CryptoRng, Rng as _};

    #[test]
    fn every_generator_is_a_crypto_rng_behind_a_trait_object() {
        let engine = Engine::builder().build().unwrap();
        let mut shared = &engine;
        let mut seen = std::collections::HashSet::new();
        let generators: [&mut dyn CryptoRng; 4] = [
            &mut engine.rng(),
            &mut ThreadRng,
            &mut engine.clone(),
            &mut shared,
        ];
        for generator in generators {
            for _ in 0..100 {
                assert!(seen.insert(generator.next_u64()));
            }
        }
    }

    #[test]
    fn a_generator_of_ones_own_moves_to_another_thread() {
        fn assert_send<T: Send>() {}
        assert_send::<LocalRng>();
        let mut rng = Engine::builder().build().unwrap().rng();
        let before = rng.next_u64();
        let after = std::thread::spawn(move || rng.next_u64()).join().unwrap();
        assert_ne!(before, after);
    }

    #[test]
    fn debug_output_shows_no_state() {
        assert_eq!(format!("{:?}", LocalRng::default()), "LocalRng { .. }");
    }
}
