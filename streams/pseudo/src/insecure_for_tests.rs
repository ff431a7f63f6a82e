//! Keys, nonces and identifiers that are the same in each run of a test.
//!
//! A function that makes a key asks for rand_core's `CryptoRng`, so that no generator of numbers without secrecy is passed to
//! it. Its tests need known keys all the same. Everything that [`KnownRng`] makes is known to everyone who knows the seed:
//!
//! ```
//! use rand_core::CryptoRng;
//! use wellspring_pseudo::insecure_for_tests::KnownRng;
//!
//! fn make_key(rng: &mut impl CryptoRng) -> [u8; 16] {
//!     let mut key = [0; 16];
//!     rng.fill_bytes(&mut key);
//!     key
//! }
//!
//! let key = make_key(&mut KnownRng::new(1));
//! assert_eq!(key, make_key(&mut KnownRng::new(1)));
//! assert_ne!(key, make_key(&mut KnownRng::new(2)));
//! ```

use crate::rng_trait::infallible_rng;
use crate::{Algorithm, Stream};

/// The stream `chacha20` of a seed, with `CryptoRng`. For tests alone.
#[derive(Clone, Debug)]
pub struct KnownRng(Stream);

impl KnownRng {
    /// The generator of this seed.
    #[must_use]
    pub fn new(seed: u128) -> Self {
        Self(Stream::new(Algorithm::ChaCha20, seed, &[]))
    }

    /// The next eight bytes, the first one lowest.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// The next four bytes, the first one lowest.
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// Fills `destination` with the next bytes.
    pub fn fill(&mut self, destination: &mut [u8]) {
        self.0.fill(destination);
    }
}

infallible_rng!(KnownRng, fn KnownRng::next_u32);

impl rand_core::TryCryptoRng for KnownRng {}

#[cfg(feature = "rand_core_09")]
impl rand_core_09::CryptoRng for KnownRng {}

#[cfg(feature = "rand_core_06")]
impl rand_core_06::CryptoRng for KnownRng {}
