//! A fiber-local index, whose callback runs when a thread ends. Windows calls these before it frees thread-local data.

use core::ffi::c_void;
use core::mem::transmute;
use core::ptr;

type Callback = unsafe extern "system" fn(*mut c_void);

#[link(name = "kernel32")]
unsafe extern "system" {
    fn FlsAlloc(callback: Option<Callback>) -> u32;
    fn FlsFree(index: u32) -> i32;
    fn FlsSetValue(index: u32, value: *const c_void) -> i32;
}

const FLS_OUT_OF_INDEXES: u32 = u32::MAX;

/// A new index. `None` if the system has none left.
pub(crate) fn create(destructor: unsafe extern "C" fn(*mut c_void)) -> Option<u32> {
    // SAFETY: on 64-bit Windows both are the same calling convention.
    let callback = unsafe { transmute::<unsafe extern "C" fn(*mut c_void), Callback>(destructor) };
    // SAFETY: the callback may be called with any argument.
    let index = unsafe { FlsAlloc(Some(callback)) };
    (index != FLS_OUT_OF_INDEXES).then_some(index)
}

/// Frees an index that no thread has set.
pub(crate) fn delete(index: u32) {
    // SAFETY: the system checks the number.
    unsafe { FlsFree(index) };
}

/// Sees to it that the callback is called when this thread ends. Returns whether the system agreed.
pub(crate) fn set(index: u32) -> bool {
    // SAFETY: the system checks the number. Any value but null has the callback called.
    unsafe { FlsSetValue(index, ptr::dangling()) != 0 }
}

/// Whether [`set`] may allocate memory in a signal handler. Windows has no signal handlers.
pub(crate) fn may_allocate(_: u32) -> bool {
    false
}
