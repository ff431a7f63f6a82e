//! The functions that ours stand before.

use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, Ordering};
use core::{mem, ptr};

/// A function behind ours, found once.
pub(crate) struct Next {
    name: &'static CStr,
    function: AtomicPtr<libc::c_void>,
}

impl Next {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            function: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Looks for it.
    pub(crate) fn find(&self) {
        // SAFETY: a name.
        let function = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.function.store(function, Ordering::Release);
    }

    /// It, if it was found, as the type of a function.
    ///
    /// # Safety
    ///
    /// `F` is the type of this function.
    pub(crate) unsafe fn get<F: Copy>(&self) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<*mut libc::c_void>()) };
        let function = self.function.load(Ordering::Acquire);
        // SAFETY: not null; the caller's promise.
        (!function.is_null()).then(|| unsafe { mem::transmute_copy(&function) })
    }

    /// The same, and looks for it if that was not done: not in a signal handler.
    ///
    /// # Safety
    ///
    /// As [`get`](Self::get).
    pub(crate) unsafe fn get_or_find<F: Copy>(&self) -> Option<F> {
        // SAFETY: the same contract.
        unsafe { self.get() }.or_else(|| {
            self.find();
            // SAFETY: the same contract.
            unsafe { self.get() }
        })
    }
}
