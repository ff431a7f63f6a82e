//! Distinguishes a child of vfork(2), which uses its parent's memory until its exec, from a process with its own memory. The
//! library must not record in that memory what such a child does, such as installing a filter, as the parent's.
//!
//! In a child with its parent's memory, and in no other child, the kernel forgets which restartable sequences (rseq(2)) the C
//! library has registered. So a process is such a child if the kernel accepts another registration, though the C library made
//! one. Linux has rseq(2) since 4.18 and forgets since 5.5; glibc registers since 2.35. Elsewhere only `sandbox::owns_memory`
//! decides.

use crate::next::Next;
use crate::system::call;
use core::ffi::c_uint;
use core::ptr;

/// glibc's size of its registration, 0 if it made none.
static RSEQ_SIZE: Next = Next::new(c"__rseq_size");

/// Looks up whether the C library registers. Runs before main: a child of vfork(2) must not call dlsym(3).
pub(crate) fn find_next() {
    RSEQ_SIZE.find();
}

/// `struct rseq` of Linux.
#[repr(C, align(32))]
struct Area([u32; 8]);

const UNREGISTER: usize = 1;

/// The word before each abort handler. Nothing here has one.
const SIGNATURE: usize = 0;

/// Whether this process is known to be a child of vfork(2) or of its kin. Makes up to four system calls.
pub(crate) fn is_child() -> bool {
    // SAFETY: the C library has this number under this name.
    let size = unsafe { RSEQ_SIZE.get::<*const c_uint>() };
    // SAFETY: as above; it never changes after the start.
    let is_registered = size.is_some_and(|size| unsafe { size.read() } != 0);
    // The program made a thread without the C library's registration by clone(2).
    let is_thread = || call(libc::SYS_gettid, [0; 6]) != call(libc::SYS_getpid, [0; 6]);
    if !is_registered || is_thread() {
        return false;
    }
    let mut area = Area([0; 8]);
    let address = ptr::from_mut(&mut area).expose_provenance();
    let rseq = |flags| {
        let arguments = [address, size_of::<Area>(), flags, SIGNATURE, 0, 0];
        call(libc::SYS_rseq, arguments) == 0
    };
    let is_child = rseq(0);
    if is_child {
        rseq(UNREGISTER);
    }
    is_child
}
