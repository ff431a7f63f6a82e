//! The names that limits and the gate look for.

/// `rand::rng()`.
pub(crate) const RAND: &str = "rand::rng()";
/// ChaCha20Rng of the chacha20 crate.
pub(crate) const CHACHA20: &str = "chacha20 crate";
/// The aes and ctr crates.
pub(crate) const AES_CTR: &str = "aes+ctr crates";
/// aws-lc-rs, `rand::fill`.
pub(crate) const AWS_LC: &str = "aws-lc-rs";
/// OpenSSL's AES-256-CTR.
pub(crate) const OPENSSL_AES: &str = "OpenSSL AES-256-CTR";
/// OpenSSL's ChaCha20.
pub(crate) const OPENSSL_CHACHA20: &str = "OpenSSL ChaCha20";
/// fastrand.
pub(crate) const FASTRAND: &str = "fastrand";
/// xoshiro256++ of the rand_xoshiro crate.
pub(crate) const XOSHIRO: &str = "rand_xoshiro";
