//! getrandom without a system call: the function that Linux 6.11 and later map into every process.
//!
//! It works on an opaque state that the caller maps the way the kernel asks for. The kernel invalidates it when its own
//! generator is reseeded or the machine was cloned, and a fork wipes it. One call at a time may use a state. Each
//! nesting depth of each slot has its own, so that no signal handler finds its own in use.

#[cfg(all(target_pointer_width = "64", not(miri)))]
pub(crate) mod clock;
mod elf;

use crate::os_error::OsError;
use crate::system_calls;
use core::ffi::{CStr, c_void};
use core::marker::PhantomData;
use core::mem::transmute;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use rustix::mm::{MapFlags, ProtFlags};

/// `ssize_t vgetrandom(void *buffer, size_t len, unsigned int flags, void *state, size_t state_len)`.
type Function = unsafe extern "C" fn(*mut c_void, usize, u32, *mut c_void, usize) -> isize;

const SYMBOL: &CStr = if cfg!(any(
    target_arch = "aarch64",
    target_arch = "powerpc64",
    target_arch = "s390x"
)) {
    c"__kernel_getrandom"
} else {
    c"__vdso_getrandom" // also on riscv64 and loongarch64
};

/// The kernel's `struct vgetrandom_opaque_params`.
#[repr(C)]
#[derive(Default)]
struct Parameters {
    state_bytes: u32,
    map_protection: u32,
    map_flags: u32,
    reserved: [u32; 13],
}

const UNKNOWN: usize = 0;
const ABSENT: usize = 1;

/// The function's address; or not looked for yet, or not there.
static FUNCTION: AtomicUsize = AtomicUsize::new(UNKNOWN);
/// The size of a state, written before the address.
static STATE_BYTES: AtomicU32 = AtomicU32::new(0);

/// The distance between states: none may straddle two pages, so a power of two.
pub(crate) fn stride_bytes() -> usize {
    (STATE_BYTES.load(Ordering::Relaxed) as usize).next_power_of_two()
}

/// States of the vDSO's function, or none where the system has no such function.
pub(crate) struct States {
    start: *mut u8,
    bytes: usize,
}

impl States {
    /// The state of that number, or null.
    pub(crate) fn get(&self, number: usize) -> *mut u8 {
        if self.start.is_null() {
            self.start
        } else {
            self.start.wrapping_add(number * stride_bytes())
        }
    }

    /// Gives back states that were never used.
    pub(crate) fn unmap(self) {
        if !self.start.is_null() {
            // SAFETY: this value owns the mapping, and no reference to it is left.
            let _ = unsafe { rustix::mm::munmap(self.start.cast(), self.bytes) };
        }
    }
}

/// Maps `count` states. Fails where the system has the function, and no memory.
pub(crate) fn map_states(count: usize) -> Result<States, OsError> {
    let Some((function, parameters)) = find() else {
        FUNCTION.store(ABSENT, Ordering::Release);
        return Ok(States {
            start: ptr::null_mut(),
            bytes: 0,
        });
    };
    STATE_BYTES.store(parameters.state_bytes, Ordering::Relaxed);
    let bytes = count * stride_bytes();
    // SAFETY: a new mapping where the kernel likes, of the kind the kernel asked for.
    let start = unsafe {
        rustix::mm::mmap_anonymous(
            ptr::null_mut(),
            bytes,
            ProtFlags::from_bits_retain(parameters.map_protection),
            MapFlags::from_bits_retain(parameters.map_flags),
        )
    }?;
    FUNCTION.store(function as usize, Ordering::Release);
    Ok(States {
        start: start.cast(),
        bytes,
    })
}

/// Fills `destination` with the operating system's output and returns whether it did. Never waits.
///
/// # Safety
///
/// `state` is null or a state from [`map_states`] that no other call uses now.
unsafe fn fill(state: *mut u8, destination: &mut [u8]) -> bool {
    let address = FUNCTION.load(Ordering::Acquire);
    let is_absent = state.is_null() || address == UNKNOWN || address == ABSENT;
    // The function asks the kernel for a new key whenever the kernel's generator was reseeded.
    if is_absent || system_calls::are_forbidden() {
        return false;
    }
    let length = destination.len();
    let buffer = destination.as_mut_ptr().cast();
    // SAFETY: the address was stored from a `Function` by `map_states`; the buffer is ours, the state the
    // caller's promise.
    let written = unsafe {
        let function = transmute::<usize, Function>(address);
        let state_bytes = STATE_BYTES.load(Ordering::Relaxed) as usize;
        function(
            buffer,
            length,
            libc::GRND_NONBLOCK,
            state.cast(),
            state_bytes,
        )
    };
    usize::try_from(written) == Ok(length)
}

/// Output of the operating system without a system call, for one nesting depth.
pub struct VdsoRandom<'a> {
    state: *mut u8,
    level: PhantomData<&'a mut ()>,
}

impl VdsoRandom<'_> {
    pub(crate) fn new(state: *mut u8) -> Self {
        Self {
            state,
            level: PhantomData,
        }
    }

    /// Fills `destination`, if the system can do it without a system call (Linux 6.11 or later). Returns whether it did.
    pub fn fill(&mut self, destination: &mut [u8]) -> bool {
        // SAFETY: the state belongs to a slot and depth, which the caller holds until this is dropped.
        unsafe { fill(self.state, destination) }
    }
}

/// Whether the system has a function that reads the coarse clocks without a system call.
pub(crate) fn has_clock() -> bool {
    let names = [c"__vdso_clock_gettime", c"__kernel_clock_gettime"];
    names.into_iter().any(|name| symbol(name).is_some())
}

/// A function of the vDSO.
fn symbol(name: &CStr) -> Option<*const u8> {
    if cfg!(miri) {
        return None;
    }
    // SAFETY: getauxval only looks the value up.
    let base = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } as *const u8;
    let base = NonNull::new(base.cast_mut())?;
    // SAFETY: the kernel mapped a whole ELF image there, for as long as the process lives.
    unsafe { elf::symbol(base.as_ptr(), name) }
}

/// The function and what it wants its states to be.
fn find() -> Option<(Function, Parameters)> {
    let function = symbol(SYMBOL)?;
    // SAFETY: the kernel's documentation gives the symbol this type.
    let function = unsafe { transmute::<*const u8, Function>(function) };
    let mut parameters = Parameters::default();
    let state = (&raw mut parameters).cast();
    // SAFETY: a call with a length of zero and a state length of all ones asks for the parameters, which are
    // written to `state`.
    let answer = unsafe { function(ptr::null_mut(), 0, 0, state, usize::MAX) };
    (answer == 0 && parameters.state_bytes > 0).then_some((function, parameters))
}
