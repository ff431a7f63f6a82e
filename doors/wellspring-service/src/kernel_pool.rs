//! The kernel's pool, fed on request.
//!
//! Without credit the bytes are written to /dev/random, which anybody may do. With credit they go by RNDADDENTROPY,
//! for which the service keeps the capability CAP_SYS_ADMIN. Credit is honest only for what the kernel has not given
//! itself: an engine whose one credited source is the kernel's own generator would count the same noise twice.

use rustix::fs::{Mode, OFlags, open};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};
use wellspring::Engine;
use zeroize::Zeroize;

/// The file.
pub const PATH: &str = "/dev/random";

/// What one write has: as much as the kernel's own seeds.
const BYTES: usize = 32;

/// `struct rand_pool_info` of linux/random.h.
#[repr(C)]
struct PoolInfo {
    credit_bits: i32,
    bytes: i32,
    buffer: [u8; BYTES],
}

/// `RNDADDENTROPY`.
const RNDADDENTROPY: libc::c_ulong = 0x4008_5203;

/// The kernel's pool.
#[derive(Debug)]
pub struct KernelPool {
    file: OwnedFd,
    interval: Duration,
    credit_bits: u64,
    next: Instant,
}

impl KernelPool {
    /// Opens the pool, to be fed every `interval`, the first time at once.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn open(interval: Duration, credit_bits: u64) -> io::Result<Self> {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOCTTY;
        Ok(Self {
            file: open(PATH, flags, Mode::empty())?,
            interval,
            credit_bits,
            next: Instant::now(),
        })
    }

    /// Feeds it if that is due. Returns whether it was.
    ///
    /// # Errors
    ///
    /// What the system says; the next try is an interval later.
    pub fn feed(&mut self, engine: &Engine, now: Instant) -> io::Result<bool> {
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
        // SAFETY: the request reads a `rand_pool_info` with as many bytes as it says.
        match unsafe { libc::ioctl(self.file.as_raw_fd(), RNDADDENTROPY, &raw const *info) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}
