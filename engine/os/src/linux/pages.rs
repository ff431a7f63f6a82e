//! Pages that the kernel zeroes in a child process, by madvise(2) and mlock(2).

use crate::os_error::raw_call;
use core::ffi::c_void;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU32, Ordering};
use rustix::mm::{Advice, MapFlags, MlockFlags, ProtFlags, madvise};

const ACCESS: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);

/// Maps zeroed pages, which no core dump has. Returns whether a child finds them zeroed again.
pub(crate) fn map(bytes: usize) -> Option<(NonNull<u8>, bool)> {
    // SAFETY: a new mapping where the kernel likes; nothing else uses it.
    let start =
        unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), bytes, ACCESS, MapFlags::PRIVATE) };
    let start = NonNull::new(start.ok()?.cast::<u8>())?;
    // SAFETY: the range is ours, and nothing uses it yet. Miri knows no fork.
    let is_wiped =
        cfg!(miri) || unsafe { advise(start.as_ptr().cast(), bytes) && kernel_obeys(start, bytes) };
    Some((start, is_wiped))
}

/// Asks the kernel to wipe pages in a child, and to leave them out of core dumps. Returns whether it agreed to wipe.
///
/// # Safety
///
/// The range is a mapping of ours.
unsafe fn advise(start: *mut c_void, bytes: usize) -> bool {
    // SAFETY: the caller's promise, and neither advice changes what this process reads there.
    unsafe {
        // Kernels without core dumps may refuse; then nothing is dumped.
        let _ = madvise(start, bytes, Advice::LinuxDontDump);
        madvise(start, bytes, Advice::LinuxWipeOnFork).is_ok()
    }
}

/// Whether the kernel looks at an advice before it agrees. The user mode of QEMU 7.2 and some filters of system calls agree
/// to all. Asked once, by an advice that does not exist.
///
/// # Safety
///
/// The range is a mapping of ours.
unsafe fn kernel_obeys(start: NonNull<u8>, bytes: usize) -> bool {
    const UNKNOWN: u32 = 0;
    const YES: u32 = 1;
    const NO: u32 = 2;
    const NO_ADVICE: libc::c_int = 0x7777;
    static ANSWER: AtomicU32 = AtomicU32::new(UNKNOWN);

    if ANSWER.load(Ordering::Relaxed) == UNKNOWN {
        // SAFETY: the caller's promise; a kernel that knew this advice would change pages that nothing uses yet.
        let answer = raw_call(|| unsafe {
            libc::syscall(libc::SYS_madvise, start.as_ptr(), bytes, NO_ADVICE)
        });
        let answer = if answer.is_err() { YES } else { NO };
        ANSWER.store(answer, Ordering::Relaxed);
    }
    ANSWER.load(Ordering::Relaxed) == YES
}

/// Puts fresh zeroed pages of the same kind in the place of old ones. Returns `false`, and changes nothing, where the
/// system has no memory.
///
/// # Safety
///
/// The range is from [`map`].
pub(crate) unsafe fn renew(start: *mut u8, bytes: usize) -> bool {
    let flags = MapFlags::PRIVATE | MapFlags::FIXED;
    // SAFETY: the caller's promise: the mapping is ours to replace.
    unsafe {
        let fresh = rustix::mm::mmap_anonymous(start.cast(), bytes, ACCESS, flags);
        fresh.map(|start| advise(start, bytes)).is_ok()
    }
}

/// Unmaps pages.
///
/// # Safety
///
/// The range is from [`map`], and no code uses it any more.
pub(crate) unsafe fn unmap(start: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    let _ = unsafe { rustix::mm::munmap(start.cast(), bytes) };
}

/// Locks pages in memory. Returns whether the system agreed.
///
/// # Safety
///
/// The range is from [`map`].
pub(crate) unsafe fn lock(start: *mut u8, bytes: usize) -> bool {
    // SAFETY: mlock changes no byte, and checks the range itself.
    !cfg!(miri) && unsafe { rustix::mm::mlock(start.cast(), bytes) }.is_ok()
}

/// The same for each page when it is first touched. Valgrind does not know that call and prints a warning for each; under
/// it all pages are locked at once.
///
/// # Safety
///
/// The range is from [`map`].
pub(crate) unsafe fn lock_when_touched(start: *mut u8, bytes: usize) -> bool {
    if is_under_valgrind() {
        // SAFETY: the caller's promise.
        return unsafe { lock(start, bytes) };
    }
    // SAFETY: mlock2 changes no byte, and checks the range itself.
    !cfg!(miri)
        && unsafe { rustix::mm::mlock_with(start.cast(), bytes, MlockFlags::ONFAULT) }.is_ok()
}

/// Asks for memory of a NUMA node. Where that node has none, memory comes from another.
///
/// # Safety
///
/// The range is from [`map`].
pub(crate) unsafe fn prefer_node(start: *mut u8, bytes: usize, node: u32) {
    const MPOL_PREFERRED: libc::c_long = 1;
    if node >= u64::BITS || cfg!(miri) {
        return;
    }
    // One bit for each node, as an array of C's `unsigned long` has them on either byte order.
    let mut mask = [0 as libc::c_ulong; 64 / libc::c_ulong::BITS as usize];
    mask[(node / libc::c_ulong::BITS) as usize] = 1 << (node % libc::c_ulong::BITS);
    // SAFETY: mbind reads the mask, 64 bits of it (the kernel takes one less than the count it is told),
    // and the range is the caller's promise.
    let _ = raw_call(|| unsafe {
        libc::syscall(
            libc::SYS_mbind,
            start,
            bytes,
            MPOL_PREFERRED,
            &raw const mask,
            libc::c_ulong::from(u64::BITS) + 1,
            0,
        )
    });
}

/// Whether Valgrind runs this process, by its question to itself (`RUNNING_ON_VALGRIND` in valgrind.h): instructions that do
/// nothing elsewhere.
fn is_under_valgrind() -> bool {
    const RUNNING_ON_VALGRIND: usize = 0x1001;
    #[cfg_attr(
        not(any(target_arch = "x86_64", target_arch = "aarch64")),
        allow(unused_variables)
    )]
    let question = [RUNNING_ON_VALGRIND, 0, 0, 0, 0, 0];
    #[cfg_attr(
        not(any(target_arch = "x86_64", target_arch = "aarch64")),
        allow(unused_mut)
    )]
    let mut depth = 0usize;
    if cfg!(miri) {
        return false;
    }
    // SAFETY: rdi is rotated by 128 bits in all, and rbx exchanged with itself. Valgrind reads the question and writes rdx.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!("rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            in("rax") &raw const question, inout("rdx") depth, options(nostack));
    }
    // SAFETY: x12 is rotated by 128 bits in all, and x10 stays. Valgrind reads the question and writes x3.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!("ror x12, x12, 3", "ror x12, x12, 13", "ror x12, x12, 51", "ror x12, x12, 61",
            "orr x10, x10, x10", in("x4") &raw const question, inout("x3") depth, options(nostack));
    }
    depth != 0
}
