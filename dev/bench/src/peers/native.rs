//! Rust's generators, as their users would call them.

use super::name;
use aes::Aes256;
use chacha20::ChaCha20Rng;
use ctr::cipher::{KeyIvInit, StreamCipher};
use rand::{Rng, make_rng};
use rand_xoshiro::Xoshiro256PlusPlus;
use wellspring_bench::contender::{Contender, Family, Subject, Work};
use wellspring_bench::subjects::SIZES;

/// Anything with rand_core's trait.
struct Standard<R>(R);

impl<R: Rng> Subject for Standard<R> {
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

impl Subject for ThreadLocal {
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

impl Subject for AesCtr {
    #[inline(always)]
    fn fill(&mut self, destination: &mut [u8]) {
        self.0.write_keystream(destination);
    }
}

#[cfg(feature = "c-libraries")]
struct AwsLc;

#[cfg(feature = "c-libraries")]
impl Subject for AwsLc {
    #[inline(always)]
    fn fill(&mut self, destination: &mut [u8]) {
        aws_lc_rs::rand::fill(destination).expect("AWS-LC's generator does not fail");
    }
}

struct Fastrand;

impl Subject for Fastrand {
    #[inline(always)]
    fn fill(&mut self, destination: &mut [u8]) {
        fastrand::fill(destination);
    }

    #[inline(always)]
    fn word(&mut self) -> u64 {
        fastrand::u64(..)
    }
}

pub(crate) fn peers() -> Vec<Contender> {
    let fills: Vec<Work> = SIZES.map(Work::Fill).to_vec();
    let all: Vec<Work> = [&[Work::Word], fills.as_slice()].concat();
    let peer = Family::Peer;
    let statistical = Family::Statistical;
    let aes = || AesCtr(ctr::Ctr128BE::new(&[0x42; 32].into(), &[0; 16].into()));
    let chacha20 = || Standard(make_rng::<ChaCha20Rng>());
    let xoshiro = || Standard(make_rng::<Xoshiro256PlusPlus>());
    vec![
        Contender::new(name::RAND, peer, &all, || ThreadLocal).on_threads(),
        Contender::new(name::CHACHA20, peer, &all, chacha20),
        Contender::new(name::AES_CTR, peer, &fills, aes),
        #[cfg(feature = "c-libraries")]
        Contender::new(name::AWS_LC, peer, &fills, || AwsLc),
        Contender::new(name::FASTRAND, statistical, &all, || Fastrand),
        Contender::new(name::XOSHIRO, statistical, &all, xoshiro),
    ]
}
