//! Generators of other projects: Rust's, as their users would call them, and the system's OpenSSL.

#[cfg(feature = "c-libraries")]
mod openssl;

use aes::Aes256;
use chacha20::ChaCha20Rng;
use ctr::cipher::{KeyIvInit, StreamCipher};
use rand::{Rng, make_rng};
use rand_xoshiro::Xoshiro256PlusPlus;
use wellspring_bench::generators::{Generate, Generator, Request, SIZES, Threads};

/// All peers that this machine has.
pub(crate) fn all() -> Vec<Generator> {
    let peers = native();
    #[cfg(feature = "c-libraries")]
    let peers = peers.into_iter().chain(openssl::peers()).collect();
    peers
}

// ---- names ----
// The names that the gate looks for.

pub(crate) const RAND: &str = "rand::rng()";
pub(crate) const CHACHA20: &str = "chacha20 crate";
pub(crate) const AES_CTR: &str = "aes+ctr crates";
pub(crate) const FASTRAND: &str = "fastrand";
pub(crate) const XOSHIRO: &str = "rand_xoshiro";

// ---- Rust's generators ----
// Rust's generators, as their users would call them.

/// Anything with rand_core's trait.
struct Standard<R>(R);

impl<R: Rng> Generate for Standard<R> {
    #[inline(always)]
    fn fill(&mut self, destination: &mut [u8]) {
        self.0.fill_bytes(destination);
    }

    #[inline(always)]
    fn word(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// `rand::rng()` anew for each call, as most callers write it.
struct ThreadLocal;

impl Generate for ThreadLocal {
    #[inline(always)]
    fn fill(&mut self, destination: &mut [u8]) {
        rand::rng().fill_bytes(destination);
    }

    #[inline(always)]
    fn word(&mut self) -> u64 {
        rand::rng().next_u64()
    }
}

struct AesCtr(ctr::Ctr128BE<Aes256>);

impl Generate for AesCtr {
    #[inline(always)]
    fn fill(&mut self, destination: &mut [u8]) {
        self.0.write_keystream(destination);
    }
}

#[cfg(feature = "c-libraries")]
struct AwsLc;

#[cfg(feature = "c-libraries")]
impl Generate for AwsLc {
    #[inline(always)]
    fn fill(&mut self, destination: &mut [u8]) {
        aws_lc_rs::rand::fill(destination).expect("AWS-LC's generator does not fail");
    }
}

struct Fastrand;

impl Generate for Fastrand {
    #[inline(always)]
    fn fill(&mut self, destination: &mut [u8]) {
        fastrand::fill(destination);
    }

    #[inline(always)]
    fn word(&mut self) -> u64 {
        fastrand::u64(..)
    }
}

pub(crate) fn native() -> Vec<Generator> {
    let fills: Vec<Request> = SIZES.map(Request::Fill).to_vec();
    let all: Vec<Request> = [&[Request::Word], fills.as_slice()].concat();
    let aes = || AesCtr(ctr::Ctr128BE::new(&[0x42; 32].into(), &[0; 16].into()));
    let chacha20 = || Standard(make_rng::<ChaCha20Rng>());
    let xoshiro = || Standard(make_rng::<Xoshiro256PlusPlus>());
    vec![
        Generator::new(RAND, &all, || ThreadLocal).on(Threads::Independent),
        Generator::new(CHACHA20, &all, chacha20),
        Generator::new(AES_CTR, &fills, aes),
        #[cfg(feature = "c-libraries")]
        Generator::new("aws-lc-rs", &fills, || AwsLc),
        Generator::new(FASTRAND, &all, || Fastrand),
        Generator::new(XOSHIRO, &all, xoshiro),
    ]
}
