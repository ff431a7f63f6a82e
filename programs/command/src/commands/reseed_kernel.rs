//! `generation bump --kernel`: new keys for the kernel's own generator.

use rustix::fs::{Mode, OFlags, open};
use std::io;
use std::os::fd::AsRawFd;

/// `RNDRESEEDCRNG` of linux/random.h.
const RNDRESEEDCRNG: libc::Ioctl = 0x5207;

/// Mixes 32 bytes of this process's engine into the kernel's pool, and reseeds its generator from that. Both hash in the
/// processor's output and its cycle counter, which differ between two clones.
///
/// # Errors
///
/// `EPERM` without CAP_SYS_ADMIN; `ENODATA` while the kernel's generator has no seed.
pub(super) fn reseed() -> io::Result<()> {
    let device = open(
        "/dev/urandom",
        OFlags::WRONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    rustix::io::write(&device, &wellspring::bytes::<32>())?;
    // SAFETY: the request takes no argument.
    match unsafe { libc::ioctl(device.as_raw_fd(), RNDRESEEDCRNG) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
