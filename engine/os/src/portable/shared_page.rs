//! The stand-in for pages that another process or a device writes: no value of these types exists.

use crate::os_error::OsError;
use core::convert::Infallible;
use core::ptr::NonNull;
use core::sync::atomic::AtomicU64;

/// The size of a page that does not exist: tests on Linux build code that uses it.
#[cfg(all(test, target_os = "linux"))]
pub(crate) const PAGE_BYTES: usize = 4096;

/// The first page of a file, shared with all processes that map it.
#[derive(Debug)]
pub struct SharedPage(Infallible);

impl SharedPage {
    /// Maps the page, to be read.
    ///
    /// # Errors
    ///
    /// [`OsError::UNSUPPORTED`].
    pub fn map<F>(_: F) -> Result<Self, OsError> {
        Err(OsError::UNSUPPORTED)
    }

    /// Maps the page, to be read and written.
    ///
    /// # Errors
    ///
    /// [`OsError::UNSUPPORTED`].
    pub fn map_to_write<F>(_: F) -> Result<SharedPageMut, OsError> {
        Err(OsError::UNSUPPORTED)
    }

    /// The word at an offset.
    #[must_use]
    pub fn word(&self, _: usize) -> u64 {
        match self.0 {}
    }

    pub(crate) fn into_raw(self) -> NonNull<u8> {
        match self.0 {}
    }

    /// # Safety
    ///
    /// `start` is from [`into_raw`](Self::into_raw), which never returns.
    pub(crate) unsafe fn from_raw(_: NonNull<u8>) -> Self {
        unreachable!("no page was mapped")
    }

    /// # Safety
    ///
    /// None.
    pub(crate) unsafe fn take_the_place_of(self, _: *mut u8) -> Result<NonNull<u8>, OsError> {
        match self.0 {}
    }

    pub(crate) fn has_word(_: usize) -> bool {
        true
    }

    pub(crate) fn address(&self, _: usize) -> *mut AtomicU64 {
        match self.0 {}
    }
}

/// A [`SharedPage`] that is ours to write.
#[derive(Debug)]
pub struct SharedPageMut(Infallible);

impl SharedPageMut {
    /// The word at an offset.
    #[must_use]
    pub fn word(&self, _: usize) -> u64 {
        match self.0 {}
    }

    /// Stores a word.
    pub fn store(&self, _: usize, _: u64) {
        match self.0 {}
    }

    /// Adds to a word. Returns the sum.
    pub fn add(&self, _: usize, _: u64) -> u64 {
        match self.0 {}
    }

    /// Wakes every thread that waits for a change of the word.
    pub fn wake_waiters(&self, _: usize) {
        match self.0 {}
    }
}
