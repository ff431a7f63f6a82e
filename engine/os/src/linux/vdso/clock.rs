//! Clocks and the number of the CPU, without a system call where the vDSO has functions for them.
//!
//! rustix has them too, by a second reader of ELF images, which would take 3 KB of every program.

use super::symbol;
use crate::os_error::raw_call;
use core::ffi::{CStr, c_int, c_uint, c_void};
use core::mem::transmute;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

type ClockFunction = unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int;
type CpuFunction = unsafe extern "C" fn(*mut c_uint, *mut c_uint, *mut c_void) -> c_int;

static CLOCK: Function = if cfg!(any(target_arch = "aarch64", target_arch = "s390x")) {
    Function::new(c"__kernel_clock_gettime")
} else {
    Function::new(c"__vdso_clock_gettime")
};

static CPU: Function = if cfg!(target_arch = "s390x") {
    Function::new(c"__kernel_getcpu")
} else {
    Function::new(c"__vdso_getcpu")
};

/// A function of the vDSO, looked up once.
struct Function {
    name: &'static CStr,
    /// Null before the lookup, [`ABSENT`] if the vDSO has no such function.
    address: AtomicPtr<u8>,
}

const ABSENT: *mut u8 = ptr::dangling_mut();

impl Function {
    const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            address: AtomicPtr::new(ptr::null_mut()),
        }
    }

    #[inline]
    fn find(&self) -> Option<*mut u8> {
        let mut address = self.address.load(Ordering::Relaxed);
        if address.is_null() {
            address = self.look_up();
        }
        (address != ABSENT).then_some(address)
    }

    /// Threads that come here together store the same.
    #[cold]
    #[inline(never)]
    fn look_up(&self) -> *mut u8 {
        let address = symbol(self.name).map_or(ABSENT, <*const u8>::cast_mut);
        self.address.store(address, Ordering::Relaxed);
        address
    }
}

/// A clock's time.
pub(crate) fn time(clock: libc::clockid_t) -> libc::timespec {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let place = &raw mut time;
    if let Some(address) = CLOCK.find() {
        // SAFETY: the symbol has this type in the vDSO of every processor with 64 bits; the pointer is to a `timespec`.
        let answer = unsafe { transmute::<*mut u8, ClockFunction>(address)(clock, place) };
        if answer == 0 {
            return time;
        }
    }
    // SAFETY: the pointer is to a `timespec`. A sandbox may refuse the call: then the time is 0.
    let _ = raw_call(|| unsafe { libc::syscall(libc::SYS_clock_gettime, clock, place) });
    time
}

/// The CPU that this thread ran on a moment ago.
pub(crate) fn current_cpu() -> usize {
    let mut cpu = 0;
    let (place, node, unused) = (&raw mut cpu, ptr::null_mut(), ptr::null_mut());
    if let Some(address) = CPU.find() {
        // SAFETY: as above; it writes the number, and nothing to a null pointer.
        let answer = unsafe { transmute::<*mut u8, CpuFunction>(address)(place, node, unused) };
        if answer == 0 {
            return cpu as usize;
        }
    }
    let none = ptr::null_mut::<c_void>();
    // SAFETY: as above.
    let _ = raw_call(|| unsafe { libc::syscall(libc::SYS_getcpu, place, none, none) });
    cpu as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clocks_are_those_of_the_c_library() {
        for clock in [
            libc::CLOCK_REALTIME,
            libc::CLOCK_MONOTONIC,
            libc::CLOCK_MONOTONIC_COARSE,
            libc::CLOCK_BOOTTIME,
            libc::CLOCK_THREAD_CPUTIME_ID,
        ] {
            let libc_time = || {
                let mut time = libc::timespec {
                    tv_sec: 0,
                    tv_nsec: 0,
                };
                // SAFETY: the pointer is to a `timespec`.
                assert_eq!(unsafe { libc::clock_gettime(clock, &raw mut time) }, 0);
                (time.tv_sec, time.tv_nsec)
            };
            let before = libc_time();
            let ours = time(clock);
            let after = libc_time();
            let ours = (ours.tv_sec, ours.tv_nsec);
            assert!(
                before <= ours && ours <= after,
                "{clock}: {before:?} {ours:?} {after:?}"
            );
        }
    }

    #[test]
    fn the_cpu_is_the_one_that_the_thread_is_bound_to() {
        // SAFETY: zeros are a valid set, and the pointers are to sets on the stack.
        unsafe {
            let mut allowed: libc::cpu_set_t = core::mem::zeroed();
            let bytes = size_of::<libc::cpu_set_t>();
            assert_eq!(libc::sched_getaffinity(0, bytes, &raw mut allowed), 0);
            for cpu in (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &allowed))
            {
                let mut one: libc::cpu_set_t = core::mem::zeroed();
                libc::CPU_SET(cpu, &mut one);
                assert_eq!(libc::sched_setaffinity(0, bytes, &raw const one), 0);
                assert_eq!(current_cpu(), cpu);
            }
            assert_eq!(libc::sched_setaffinity(0, bytes, &raw const allowed), 0);
        }
    }
}
