//! The seeds of the kernel module `wellspring`: two ioctls of its `kernel/uapi.h`.

use rustix::fs::{Mode, OFlags, open};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use wellspring_os::os_error::OsError;

/// The device file of the module.
pub const DEVICE: &str = "/dev/wellspring";

/// `WELLSPRING_IOC_SAVE`.
pub const SAVE: libc::Ioctl = request(3, 0x60);

/// `WELLSPRING_IOC_RESTORE`.
pub const RESTORE: libc::Ioctl = request(1, 0x61);

/// The number of a request on x86-64, the only processor of the module: 1 writes to the module, 3 reads as well.
const fn request(direction: libc::Ioctl, number: libc::Ioctl) -> libc::Ioctl {
    let bytes = size_of::<NodeSeed>() as libc::Ioctl;
    direction << 30 | bytes << 16 | (b'R' as libc::Ioctl) << 8 | number
}

/// `struct wellspring_seed`: the seed of one node. It is a secret, which the caller wipes.
#[repr(C)]
pub struct NodeSeed {
    /// The number of the node.
    pub node: u32,
    /// To restore: the credit of the seed, at most 256.
    pub credit_bits: u32,
    /// The seed.
    pub bytes: [u8; 32],
}

/// The answer of the module for the number of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeAnswer {
    /// It was done.
    Done,
    /// No node has this number.
    NoNode,
    /// No node has this number or a higher one.
    PastLast,
}

/// The module, by its device file.
#[derive(Debug)]
pub struct KernelModule(OwnedFd);

impl KernelModule {
    /// Opens the device file.
    ///
    /// # Errors
    ///
    /// `ENOENT`, `ENODEV` or `ENXIO` if the module is not loaded; another error of the system.
    pub fn open() -> Result<Self, OsError> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOCTTY;
        Ok(Self(open(DEVICE, flags, Mode::empty())?))
    }

    /// Fills `seed.bytes` from the node `seed.node`.
    ///
    /// # Errors
    ///
    /// `EAGAIN` before the module is seeded, `EPERM` without CAP_SYS_ADMIN, `ENOTTY` or `EINVAL` if the file is another
    /// device's.
    pub fn save(&self, seed: &mut NodeSeed) -> Result<NodeAnswer, OsError> {
        // SAFETY: the request reads and writes one `struct wellspring_seed`. Any bytes are a valid `NodeSeed`.
        let called = unsafe { libc::ioctl(self.0.as_raw_fd(), SAVE, &raw mut *seed) };
        answer(called, io::Error::last_os_error())
    }

    /// Mixes a seed into the node `seed.node`.
    ///
    /// # Errors
    ///
    /// The errors of [`save`](Self::save).
    pub fn restore(&self, seed: &NodeSeed) -> Result<NodeAnswer, OsError> {
        // SAFETY: the request reads one `struct wellspring_seed`.
        let called = unsafe { libc::ioctl(self.0.as_raw_fd(), RESTORE, &raw const *seed) };
        answer(called, io::Error::last_os_error())
    }
}

fn answer(called: libc::c_int, error: io::Error) -> Result<NodeAnswer, OsError> {
    if called != -1 {
        return Ok(NodeAnswer::Done);
    }
    match error.raw_os_error().unwrap_or(libc::EIO) {
        libc::ENODATA => Ok(NodeAnswer::NoNode),
        libc::ENXIO => Ok(NodeAnswer::PastLast),
        number => Err(OsError::new(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_the_numbers_of_the_header() {
        // As the C compiler computes _IOWR('R', 0x60, struct wellspring_seed) and _IOW('R', 0x61, ..).
        assert_eq!(size_of::<NodeSeed>(), 40);
        assert_eq!((SAVE as u32, RESTORE as u32), (0xc028_5260, 0x4028_5261));
    }

    #[test]
    fn a_number_without_a_node_is_told_from_the_last_one_and_from_errors() {
        let failed = |number| answer(-1, io::Error::from_raw_os_error(number));
        let earlier = io::Error::from_raw_os_error(libc::ENXIO);
        assert_eq!(answer(0, earlier), Ok(NodeAnswer::Done));
        assert_eq!(failed(libc::ENODATA), Ok(NodeAnswer::NoNode));
        assert_eq!(failed(libc::ENXIO), Ok(NodeAnswer::PastLast));
        assert_eq!(failed(libc::EAGAIN), Err(OsError::new(libc::EAGAIN)));
    }
}
