//! The kernel's pool, fed on request.
//!
//! Without credit the service writes the bytes to /dev/random, which every user may do. With credit it calls the ioctl
//! RNDADDENTROPY, for which it keeps the capability CAP_SYS_ADMIN. Give credit only if the engine has a source that the
//! kernel does not have: if its one credited source is the kernel's own generator, the kernel counts its own noise
//! twice.

use rustix::fs::{Mode, OFlags, open};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};
use wellspring::Engine;
use zeroize::Zeroize;

/// The file.
pub(crate) const PATH: &str = "/dev/random";

/// The length of one write: that of the kernel's own seeds.
const BYTES: usize = 32;

/// `struct rand_pool_info` of linux/random.h.
#[repr(C)]
struct PoolInfo {
    credit_bits: i32,
    bytes: i32,
    buffer: [u8; BYTES],
}

/// `RNDADDENTROPY`.
pub(crate) const RNDADDENTROPY: libc::Ioctl = 0x4008_5203;

/// The kernel's pool.
#[derive(Debug)]
pub(crate) struct KernelPool {
    file: OwnedFd,
    interval: Duration,
    credit_bits: u64,
    next: Instant,
}

impl KernelPool {
    /// Opens the pool, to be fed every `interval`, the first time at once.
    pub(crate) fn open(interval: Duration, credit_bits: u64) -> io::Result<Self> {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOCTTY;
        Ok(Self {
            file: open(PATH, flags, Mode::empty())?,
            interval,
            credit_bits,
            next: Instant::now(),
        })
    }

    /// Feeds the pool if the interval has passed and the engine is seeded. Returns whether it fed the pool. After
    /// an error the next try is one interval later.
    pub(crate) fn feed(&mut self, engine: &Engine, now: Instant) -> io::Result<bool> {
        let mut info = PoolInfo {
            credit_bits: i32::try_from(self.credit_bits).unwrap_or(0),
            bytes: BYTES as i32,
            buffer: [0; BYTES],
        };
        if now < self.next || engine.try_fill(&mut info.buffer).is_err() {
            return Ok(false);
        }
        self.next = now + self.interval;
        let fed = self.write(&info);
        info.buffer.zeroize();
        fed.map(|()| true)
    }

    fn write(&self, info: &PoolInfo) -> io::Result<()> {
        if info.credit_bits == 0 {
            rustix::io::write(&self.file, &info.buffer)?;
            return Ok(());
        }
        // SAFETY: the request reads a `rand_pool_info`, and of its buffer no more than `bytes`, which is its length.
        match unsafe { libc::ioctl(self.file.as_raw_fd(), RNDADDENTROPY, &raw const *info) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}
