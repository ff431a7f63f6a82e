//! New keys for the kernel's own generator and, where it is loaded, the module's: by the two requests of linux/random.h that
//! both have.
//!
//! Linux reseeds its generator by itself after a notice of vmgenid alone. After any other notice getrandom(2) returns the same
//! in all copies until its next reseed, a minute later at most.

use crate::device::DEVICE;
use rustix::fs::{Mode, OFlags, open};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use wellspring::Engine;
use wellspring_core::sha256::Sha256;
use wellspring_os::cpu::Instruction;
use wellspring_os::os_error::OsError;
use zeroize::Zeroizing;

/// `RNDADDENTROPY`: mixes bytes in, with credit.
pub const RNDADDENTROPY: libc::Ioctl = 0x4008_5203;

/// `RNDRESEEDCRNG`: takes new keys from all that was mixed in.
pub const RNDRESEEDCRNG: libc::Ioctl = 0x5207;

/// The bytes that are mixed in at a reseed.
pub const NEW_BYTES: usize = 64;

/// No more credit is given: the bits of a key.
const MAX_CREDIT_BITS: u32 = 256;

const PATH: &str = "/dev/urandom";

/// `struct rand_pool_info`.
#[repr(C)]
struct PoolInfo {
    credit_bits: libc::c_int,
    bytes: libc::c_int,
    buffer: [u8; NEW_BYTES],
}

/// The generators, opened once: a process that gave up its privileges could not open them later.
#[derive(Debug)]
pub struct KernelGenerators {
    own: OwnedFd,
    module: Option<OwnedFd>,
}

impl KernelGenerators {
    /// Opens them.
    ///
    /// # Errors
    ///
    /// There is no /dev/urandom, or this process may not write to it. The module may be absent.
    pub fn open() -> Result<Self, OsError> {
        let at = |path| {
            open(
                path,
                OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOCTTY,
                Mode::empty(),
            )
        };
        Ok(Self {
            own: at(PATH)?,
            module: at(DEVICE).ok(),
        })
    }

    /// Mixes these bytes in, with at most this credit, and has the generators take new keys. No output after it is output that
    /// a copy without these bytes returns. The module gets no credit.
    ///
    /// # Errors
    ///
    /// `EPERM` without CAP_SYS_ADMIN: the bytes were mixed in all the same, and take effect at the kernel's next reseed.
    /// `ENODATA` while the kernel's generator has no seed: it waits for one, and takes the bytes in then.
    pub fn reseed(&self, new: &[u8; NEW_BYTES], credit_bits: u32) -> Result<(), OsError> {
        if let Some(module) = &self.module {
            // The module says no before it has a seed; then it has returned nothing yet.
            let _ = reseed(module, new, 0);
        }
        reseed(&self.own, new, credit_bits.min(MAX_CREDIT_BITS))
    }
}

fn reseed(file: &OwnedFd, new: &[u8; NEW_BYTES], credit_bits: u32) -> Result<(), OsError> {
    let info = Zeroizing::new(PoolInfo {
        credit_bits: credit_bits as libc::c_int,
        bytes: NEW_BYTES as libc::c_int,
        buffer: *new,
    });
    // SAFETY: the request reads a `rand_pool_info`, and of its buffer no more than `bytes`, which is its length.
    let mixed = unsafe { libc::ioctl(file.as_raw_fd(), RNDADDENTROPY, &raw const *info) };
    if mixed == -1 {
        let error = last_error();
        // Any user may mix in.
        rustix::io::write(file, new)?;
        return Err(error);
    }
    // SAFETY: the request takes no argument.
    match unsafe { libc::ioctl(file.as_raw_fd(), RNDRESEEDCRNG) } {
        -1 => Err(last_error()),
        _ => Ok(()),
    }
}

impl zeroize::Zeroize for PoolInfo {
    fn zeroize(&mut self) {
        self.buffer.zeroize();
    }
}

fn last_error() -> OsError {
    OsError::new(
        io::Error::last_os_error()
            .raw_os_error()
            .unwrap_or(libc::EIO),
    )
}

/// The bytes that are new in this copy: output of `engine` after it has diverged, zeros if it has no seed; and a digest of the
/// secret of the order, if there was one.
pub fn new_bytes(engine: &Engine, nonce: &[u8]) -> Zeroizing<[u8; NEW_BYTES]> {
    let mut new = Zeroizing::new([0; NEW_BYTES]);
    engine.diverge_with(nonce);
    let (output, secret) = new.split_at_mut(NEW_BYTES / 2);
    let _ = engine.try_fill(output);
    if !nonce.is_empty()
        && let Ok(digest) = secret.try_into()
    {
        let mut hash = Sha256::ZERO;
        hash.update(nonce);
        hash.finish_into(digest);
    }
    new
}

/// The lack of an order without a secret, on such a machine.
pub const BY_CLOCKS_ALONE: &str =
    "without a secret in the order, RDRAND and RNDR, copies differ in their clocks alone";

/// Whether nothing but clocks distinguishes this copy: the order had no secret, and the processor makes no random numbers.
#[must_use]
pub fn differs_by_clocks_alone(nonce: &[u8]) -> bool {
    let draws = |instruction: Instruction| instruction.draw().is_some();
    nonce.is_empty()
        && ![Instruction::Seed, Instruction::Number]
            .into_iter()
            .any(draws)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine() -> Engine {
        Engine::builder()
            .sources([])
            .seed(&[7; 32])
            .build()
            .unwrap()
    }

    #[test]
    fn two_copies_of_an_engine_give_the_kernel_different_bytes_and_their_secrets() {
        let (one, other) = (engine(), engine());
        assert_ne!(*new_bytes(&one, &[]), *new_bytes(&other, &[]));
        let secret = |nonce: &[u8]| new_bytes(&engine(), nonce)[32..].to_vec();
        assert_eq!(secret(&[]), [0; 32]);
        assert_eq!(secret(&[1; 32]), secret(&[1; 32]));
        assert_ne!(secret(&[1; 32]), secret(&[2; 32]));
    }

    #[test]
    fn the_kernel_reseeds_for_root_and_says_who_may_not() {
        let kernel = KernelGenerators::open().unwrap();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("CapEff:\t"));
        let is_admin = u64::from_str_radix(line.unwrap(), 16).unwrap() & 1 << 21 != 0;
        let expected = if is_admin {
            Ok(())
        } else {
            Err(OsError::new(libc::EPERM))
        };
        assert_eq!(kernel.reseed(&[3; NEW_BYTES], 0), expected);
    }
}
