//! getrandom without a system call: the function that Linux 6.11 and later map into every process.
//!
//! It works on an opaque state that the caller maps the way the kernel asks for, that the kernel invalidates
//! when its own generator is reseeded or the machine was cloned, and that a fork wipes. One call at a time
//! may use a state; each nesting depth of each slot has its own, so that a signal handler never finds its
//! own in use.
//!
//! The ELF image is parsed by hand (System V ABI, chapter 5, "Dynamic Linking"): libc has no call that returns
//! its symbols, and `dlopen` may not be called from where we are.

use crate::os_error::OsError;
use crate::sandbox;
use core::ffi::{CStr, c_int, c_void};
use core::marker::PhantomData;
use core::mem::transmute;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use rustix::mm::{MapFlags, ProtFlags};

/// `ssize_t vgetrandom(void *buffer, size_t len, unsigned int flags, void *state, size_t state_len)`.
type Function = unsafe extern "C" fn(*mut c_void, usize, u32, *mut c_void, usize) -> isize;

#[cfg(target_arch = "x86_64")]
const SYMBOL: &CStr = c"__vdso_getrandom";
#[cfg(not(target_arch = "x86_64"))]
const SYMBOL: &CStr = c"__kernel_getrandom";

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
            // SAFETY: the mapping is ours, and nobody uses it.
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

/// Fills `destination` with the operating system's output and says whether it did. Never waits.
///
/// # Safety
///
/// `state` is null or a state from [`map_states`] that nobody else uses now.
unsafe fn fill(state: *mut u8, destination: &mut [u8]) -> bool {
    let address = FUNCTION.load(Ordering::Acquire);
    let is_absent = state.is_null() || address == UNKNOWN || address == ABSENT;
    // The function asks the kernel for a new key whenever the kernel's generator was reseeded.
    if is_absent || sandbox::is_prepared() {
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

/// Operating system output without a system call, for one level.
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

    /// Fills `destination`, where the system has a way (Linux 6.11 or later), and says whether it did.
    pub fn fill(&mut self, destination: &mut [u8]) -> bool {
        // SAFETY: the state belongs to a slot and depth, which whoever has this holds.
        unsafe { fill(self.state, destination) }
    }
}

/// The function and what it wants its states to be.
fn find() -> Option<(Function, Parameters)> {
    // SAFETY: getauxval only looks the value up.
    let base = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } as *const u8;
    let base = NonNull::new(base.cast_mut())?;
    // SAFETY: the kernel mapped a whole ELF image there, for as long as the process lives.
    let function = unsafe { symbol(base.as_ptr(), SYMBOL)? };
    // SAFETY: the kernel's documentation gives the symbol this type.
    let function = unsafe { transmute::<*const u8, Function>(function) };
    let mut parameters = Parameters::default();
    let state = (&raw mut parameters).cast();
    // SAFETY: a call with a length of zero and a state length of all ones asks for the parameters, which are
    // written to `state`.
    let answer = unsafe { function(ptr::null_mut(), 0, 0, state, usize::MAX) };
    (answer == 0 && parameters.state_bytes > 0).then_some((function, parameters))
}

#[repr(C)]
struct FileHeader {
    ident: [u8; 16],
    kind_machine_version: [u32; 2],
    entry: u64,
    program_headers: u64,
    section_headers: u64,
    flags: u32,
    header_bytes: u16,
    program_header_bytes: u16,
    program_header_count: u16,
}

#[repr(C)]
struct ProgramHeader {
    kind: u32,
    flags: u32,
    offset: u64,
    virtual_address: u64,
}

#[repr(C)]
struct Dynamic {
    tag: i64,
    value: u64,
}

#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: u64,
    bytes: u64,
}

const LOAD: u32 = 1;
const DYNAMIC: u32 = 2;
const TAG_HASH: i64 = 4;
const TAG_STRINGS: i64 = 5;
const TAG_SYMBOLS: i64 = 6;

/// The address of a dynamic symbol.
///
/// # Safety
///
/// A whole, well-formed 64-bit ELF image lies at `base`.
unsafe fn symbol(base: *const u8, name: &CStr) -> Option<*const u8> {
    // SAFETY: the offsets below are the image's own, and the caller vouches for the image.
    unsafe {
        let header = &*base.cast::<FileHeader>();
        let mut load_address = None;
        let mut dynamic = None;
        for i in 0..usize::from(header.program_header_count) {
            let offset =
                header.program_headers as usize + i * usize::from(header.program_header_bytes);
            let segment = &*base.add(offset).cast::<ProgramHeader>();
            match segment.kind {
                LOAD if load_address.is_none() => {
                    load_address = Some(
                        base.wrapping_add(segment.offset as usize)
                            .wrapping_sub(segment.virtual_address as usize),
                    );
                }
                DYNAMIC => dynamic = Some(base.add(segment.offset as usize).cast::<Dynamic>()),
                _ => {}
            }
        }
        let (load_address, mut dynamic) = (load_address?, dynamic?);
        let at = |value: u64| load_address.wrapping_add(value as usize);
        let (mut hash, mut strings, mut symbols) = (None, None, None);
        while (*dynamic).tag != 0 {
            match (*dynamic).tag {
                TAG_HASH => hash = Some(at((*dynamic).value).cast::<u32>()),
                TAG_STRINGS => strings = Some(at((*dynamic).value)),
                TAG_SYMBOLS => symbols = Some(at((*dynamic).value).cast::<Symbol>()),
                _ => {}
            }
            dynamic = dynamic.add(1);
        }
        let (hash, strings, symbols) = (hash?, strings?, symbols?);
        // The second word of the hash table is the number of symbols.
        let count = *hash.add(1) as usize;
        let is_wanted = |symbol: &&Symbol| {
            let symbol_name = strings.add(symbol.name as usize).cast();
            symbol.section != 0 && libc::strcmp(symbol_name, name.as_ptr()) == 0 as c_int
        };
        let found = core::slice::from_raw_parts(symbols, count)
            .iter()
            .find(is_wanted)?;
        Some(at(found.value))
    }
}
