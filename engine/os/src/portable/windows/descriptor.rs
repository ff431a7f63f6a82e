//! The stand-in for open files: no value of these types exists.

use core::convert::Infallible;
use core::marker::PhantomData;
use std::path::Path;

/// A value that has a descriptor.
pub trait AsFd {
    /// The descriptor.
    fn as_fd(&self) -> BorrowedFd<'_>;
}

/// A descriptor that something else owns.
#[derive(Clone, Copy, Debug)]
pub struct BorrowedFd<'a>(Infallible, PhantomData<&'a ()>);

/// A descriptor.
#[derive(Debug)]
pub struct OwnedFd(Infallible);

impl AsFd for OwnedFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self.0 {}
    }
}

impl AsFd for BorrowedFd<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self.0 {}
    }
}

impl<T: AsFd> AsFd for &T {
    fn as_fd(&self) -> BorrowedFd<'_> {
        (*self).as_fd()
    }
}

/// A file that is open.
pub type Descriptor = OwnedFd;

/// Returns `None`: this system has no device to read.
#[must_use]
pub fn open_device(_: &Path) -> Option<Descriptor> {
    None
}

/// Returns `None`: this system has no small files to read.
pub fn read_file<'a>(_: &[u8], _: &'a mut [u8]) -> Option<&'a [u8]> {
    None
}
