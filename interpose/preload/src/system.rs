//! System calls, and errno.

use core::arch::asm;
use core::ffi::{c_int, c_long, c_uint, c_void};

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("the preload library knows the system calls of x86-64 and aarch64");

/// Makes a system call. Returns a negative error number on failure, and does not change errno.
pub(crate) fn call(number: c_long, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    let result;
    // SAFETY: the kernel's convention. The effect of the call is justified where `call` is used, or is the
    // responsibility of the program that called the exported function.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => result, in("rdi") a, in("rsi") b, in("rdx") c,
            in("r10") d, in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") a => result, in("x1") b, in("x2") c, in("x3") d, in("x4") e,
            in("x5") f, options(nostack));
    }
    result
}

/// Turns a result of [`call`] into a C library function's result: for an error it sets errno and returns -1.
pub(crate) fn returned(result: isize) -> isize {
    if (-4095..0).contains(&result) {
        set_errno(-result as c_int);
        return -1;
    }
    result
}

/// Makes the system call getrandom(2). Returns a negative error number on failure.
pub(crate) fn getrandom(destination: *mut c_void, length: usize, flags: c_uint) -> isize {
    let address = destination.expose_provenance();
    call(
        libc::SYS_getrandom,
        [address, length, flags as usize, 0, 0, 0],
    )
}

pub(crate) fn set_errno(number: c_int) {
    // SAFETY: the thread's own errno.
    unsafe { *libc::__errno_location() = number };
}

/// Restores errno on drop: a call that succeeds does not change errno.
pub(crate) struct KeptErrno {
    place: *mut c_int,
    number: c_int,
}

impl KeptErrno {
    pub(crate) fn new() -> Self {
        // SAFETY: no precondition.
        let place = unsafe { libc::__errno_location() };
        // SAFETY: the thread's own errno.
        let number = unsafe { *place };
        Self { place, number }
    }
}

impl Drop for KeptErrno {
    fn drop(&mut self) {
        // SAFETY: as above; a guard stays on its thread.
        unsafe { *self.place = self.number };
    }
}
