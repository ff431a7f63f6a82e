//! Finds the calling thread without a call of the loader.
//!
//! In a shared library, `thread_local!` calls `__tls_get_addr`, which takes as long as all the rest of ws_u64. The
//! compiler leaves the call out with the option `tls-model=initial-exec`, which stable Rust does not have. So this file
//! keeps the address of the thread's data in one word of its own, which it reads with the two instructions of that
//! model.
//!
//! The price: the loader then needs space for all data of the library's threads, 0.7 KiB, in the part of each thread's
//! memory that it lays out at the start of the program. For libraries that are loaded later, by dlopen(3), glibc keeps 1.6
//! KiB free there. Where that is used up, dlopen(3) fails with its own error.

use wellspring_os::thread_state::CurrentThread;

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod word {
    use core::arch::{asm, global_asm};

    // Null in a new thread.
    global_asm!(
        ".pushsection .tbss.wellspring_c_thread, \"awT\", @nobits",
        ".balign 8",
        ".globl wellspring_c_thread",
        ".hidden wellspring_c_thread",
        ".type wellspring_c_thread, @object",
        ".size wellspring_c_thread, 8",
        "wellspring_c_thread:",
        ".zero 8",
        ".popsection",
    );

    #[inline(always)]
    pub(super) fn get() -> *const () {
        let address;
        // SAFETY: the word of this thread. The linker changes the first instruction in a program that is not a library.
        unsafe {
            asm!(
                "mov {address}, qword ptr [rip + wellspring_c_thread@GOTTPOFF]",
                "mov {address}, qword ptr fs:[{address}]",
                address = out(reg) address,
                options(nostack, preserves_flags, readonly),
            );
        }
        address
    }

    pub(super) fn set(address: *const ()) {
        // SAFETY: as above. A signal handler that interrupts this stores the same address.
        unsafe {
            asm!(
                "mov {place}, qword ptr [rip + wellspring_c_thread@GOTTPOFF]",
                "mov qword ptr fs:[{place}], {address}",
                place = out(reg) _,
                address = in(reg) address,
                options(nostack, preserves_flags),
            );
        }
    }
}

/// The calling thread, if [`find`] ran on it before.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(crate) fn known() -> Option<CurrentThread> {
    let address = word::get();
    // SAFETY: `find` stored it on this thread.
    (!address.is_null()).then(|| unsafe { CurrentThread::from_address(address) })
}

/// Has [`known`] find the calling thread from now on.
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(crate) fn find() {
    word::set(CurrentThread::find().address());
}

/// The calling thread. On arm64 the loader's function takes 4 of the 67 instructions of ws_u64. With the model above glibc
/// refuses to load the library after the start of a program: the data of its threads is aligned to 64 bytes, and glibc
/// keeps room with an alignment of 16 there.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline(always)]
pub(crate) fn known() -> Option<CurrentThread> {
    Some(CurrentThread::find())
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(crate) fn find() {}
