//! The two generators with rand_core's traits: a handle to the process's engine, and an owned tap.

use crate::engine::{Engine, OwnedTap, Reader};
use crate::error::Error;
use crate::global;
use crate::numbers::numbers;
use core::convert::Infallible;
use core::fmt;
use rand_core::{TryCryptoRng, TryRng};
use wellspring_os::thread_state::CurrentThread;

/// An owned generator: a tap that is not tied to a thread.
///
/// For hot loops. It is `Send`, not `Sync` and not `Clone`. It notices forks and reseeds as the threads' taps do, takes
/// one page of memory, and is erased on drop. It reads as in [`Mode::PerThread`](crate::Mode::PerThread), whatever the
/// mode of its engine.
///
/// ```
/// let mut rng = wellspring::LocalRng::new(wellspring::Engine::process().clone());
/// let sum: u64 = (0..1000).map(|_| rng.range(1..=6)).sum();
/// assert!((1000..=6000).contains(&sum));
/// ```
// The compiler shows this line, and the line of `ThreadRng`, where it misses a trait of an older rand.
#[rustfmt::skip]
pub struct LocalRng { // rand 0.9: feature "rand_core_09"; rand 0.8: feature "rand_core_06"
    tap: OwnedTap,
    engine: Engine,
}

impl LocalRng {
    /// Makes a generator that takes its keys from `engine`.
    #[must_use]
    pub fn new(engine: Engine) -> Self {
        Self {
            tap: engine.inner.new_owned_tap(),
            engine,
        }
    }

    /// Fills `destination`, of any length. Waits until the engine is seeded with 128 bits.
    #[inline(always)]
    pub fn fill(&mut self, destination: &mut [u8]) {
        self.engine
            .inner
            .fill(Reader::Owned(&mut self.tap), destination);
    }

    /// Fills `destination`, of any length. Does not wait.
    ///
    /// # Errors
    ///
    /// [`Error::NotSeeded`]; `destination` is then untouched.
    #[inline(always)]
    pub fn try_fill(&mut self, destination: &mut [u8]) -> Result<(), Error> {
        self.engine
            .inner
            .try_fill(Reader::Owned(&mut self.tap), destination)
    }

    /// Like [`Engine::fill_or_fail_with_thread`].
    ///
    /// # Errors
    ///
    /// Like it.
    #[doc(hidden)]
    #[inline(always)]
    pub fn fill_or_fail(&mut self, destination: &mut [u8]) -> Result<(), Error> {
        self.engine
            .inner
            .fill_or_fail(Reader::Owned(&mut self.tap), destination)
    }

    /// Like [`Engine::ready_bytes`].
    #[doc(hidden)]
    #[must_use]
    #[inline(always)]
    pub fn ready_bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.engine.inner.ready_bytes(Reader::Owned(&mut self.tap))
    }

    /// `N` random bytes, as good as the bytes of [`fill`](Self::fill).
    #[must_use]
    #[inline]
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    numbers!([&mut self,] => self, "as good as the bytes of [`fill`](Self::fill)");
}

impl Engine {
    /// An owned generator on this engine, for hot loops: a tap that is not tied to a thread.
    #[must_use]
    pub fn rng(&self) -> LocalRng {
        LocalRng::new(self.clone())
    }
}

impl Default for LocalRng {
    /// A generator on the engine of the process.
    fn default() -> Self {
        Self::new(Engine::process().clone())
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
pub struct ThreadRng; // rand 0.9: feature "rand_core_09"; rand 0.8: feature "rand_core_06"

/// A handle with rand_core's traits that reads as [`fill`](crate::fill) does.
///
/// ```
/// use rand_core::Rng as _;
/// let mut rng = wellspring::rng();
/// assert_ne!(rng.next_u64(), rng.next_u64());
/// ```
#[must_use]
#[inline]
pub fn rng() -> ThreadRng {
    ThreadRng
}

numbers!([] => &mut ThreadRng, "as good as the bytes of [`fill`](crate::fill)");

impl ThreadRng {
    numbers!([&self,] => &mut { *self }, "as good as the bytes of [`fill`](crate::fill)");
}

/// Implements rand_core's traits by a number of any size and a `fill` of any length. They cannot fail: all of these wait
/// for the first seed.
macro_rules! rand_core_traits {
    ($type:ty, $self:ident => $number:expr, $fill:expr) => {
        impl TryRng for $type {
            type Error = Infallible;

            #[inline]
            fn try_next_u32(&mut $self) -> Result<u32, Infallible> {
                Ok(u32::from_le_bytes($number))
            }

            #[inline]
            fn try_next_u64(&mut $self) -> Result<u64, Infallible> {
                Ok(u64::from_le_bytes($number))
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

rand_core_traits!(LocalRng, self => self.engine.inner.bytes(Reader::Owned(&mut self.tap)), |bytes: &mut [u8]| self.fill(bytes));
rand_core_traits!(ThreadRng, self => global::number(), |bytes: &mut [u8]| global::fill(bytes));
rand_core_traits!(Engine, self => self.bytes_with_thread(CurrentThread::find()), |bytes: &mut [u8]| Engine::fill(self, bytes));
rand_core_traits!(&Engine, self => self.bytes_with_thread(CurrentThread::find()), |bytes: &mut [u8]| Engine::fill(self, bytes));

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
    fn an_owned_generator_moves_to_another_thread() {
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
