//! The original functions, which ours replace and call.

use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, Ordering};
use core::{mem, ptr};

/// An original function, looked up once.
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

    /// Looks up the function. Not for a signal handler: it calls dlsym(3).
    pub(crate) fn find(&self) {
        // SAFETY: a name.
        let function = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.function.store(function, Ordering::Release);
    }

    /// Returns the function, if it was found, as a function pointer of type `F`.
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

    /// Like [`get`](Self::get), but first looks up the function if it was not found before. Not for a signal handler.
    ///
    /// # Safety
    ///
    /// `F` is the type of this function.
    pub(crate) unsafe fn get_or_find<F: Copy>(&self) -> Option<F> {
        // SAFETY: the same contract.
        unsafe { self.get() }.or_else(|| {
            self.find();
            // SAFETY: the same contract.
            unsafe { self.get() }
        })
    }
}
