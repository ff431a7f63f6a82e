//! The two generators with rand_core's traits: a handle to the process's engine, and an owned tap.

use crate::engine::{Engine, OwnedTap, Reader};
use crate::error::Error;
use crate::global;
use crate::global::bytes;
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
/// use wellspring::rand_core::Rng as _;
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

// [`random()`]: a value of the type that the caller wants.

/// The types of [`random()`]: integers, `bool`, `f64`, `f32` and arrays of bytes. No other type can implement it.
#[diagnostic::on_unimplemented(
    message = "`wellspring::random()` makes no `{Self}`",
    note = "it makes integers, `bool`, `f64`, `f32` and arrays of bytes; `wellspring::rng()` is a generator for rand"
)]
pub trait Random: sealed::Random {}

mod sealed {
    pub trait Random {
        fn random() -> Self;
    }
}

macro_rules! random {
    ($($type:ty => $value:expr;)*) => {$(
        impl Random for $type {}

        impl sealed::Random for $type {
            #[inline]
            fn random() -> Self {
                $value
            }
        }
    )*};
}

random! {
    u8 => range(..);
    i8 => range(..);
    u16 => range(..);
    i16 => range(..);
    u32 => range(..);
    i32 => range(..);
    u64 => range(..);
    i64 => range(..);
    usize => range(..);
    isize => range(..);
    u128 => range(..);
    i128 => range(..);
    bool => bool();
    f64 => f64();
    // A multiple of 2^-24.
    f32 => (u32() >> 8) as f32 / (1 << 24) as f32;
}

impl<const N: usize> Random for [u8; N] {}

impl<const N: usize> sealed::Random for [u8; N] {
    #[inline]
    fn random() -> Self {
        bytes()
    }
}

/// A value of any integer type, a `bool`, a fraction from 0 to 1 without 1, or an array of bytes; as good as the bytes of
/// [`fill`](crate::fill). For integers of a range: [`range`](crate::range).
///
/// ```
/// let key: [u8; 32] = wellspring::random();
/// let ticket = wellspring::random::<u64>();
/// if wellspring::random() {
///     println!("heads");
/// }
/// # let _ = (key, ticket);
/// ```
#[must_use]
#[inline]
pub fn random<T: Random>() -> T {
    T::random()
}

#[cfg(any(feature = "rand_core_06", feature = "rand_core_09"))]
mod older_rand_core {
    //! The traits of rand_core 0.9 and 0.6, each behind its feature. They cannot fail: all of them wait for the first seed.

    use super::{LocalRng, ThreadRng};
    use crate::engine::Engine;
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
}

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

    #[test]
    fn every_type_has_values_that_do_not_repeat() {
        assert_ne!(random::<[u8; 32]>(), random::<[u8; 32]>());
        assert_ne!(random::<u128>(), random::<u128>());
        assert_ne!([(); 4].map(|()| random::<i32>()), [0; 4]);
        // Each fails once in 2^200.
        let seen = |bit: fn() -> bool| (0..200).any(|_| bit());
        assert!(seen(random) && seen(|| !random::<bool>()));
        assert!(seen(|| random::<u8>() > 127) && seen(|| random::<i64>() < 0));
        assert!(seen(|| random::<f64>() > 0.5) && seen(|| random::<f32>() < 0.5));
        for _ in 0..1000 {
            assert!((0.0..1.0).contains(&random::<f32>()) && (0.0..1.0).contains(&random::<f64>()));
        }
    }
}
