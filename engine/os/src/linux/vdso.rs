//! getrandom without a system call: the function that Linux 6.11 and later map into every process.
//!
//! It works on an opaque state that the caller maps the way the kernel asks for. The kernel invalidates it when its own
//! generator is reseeded or the machine was cloned, and a fork wipes it. One call at a time may use a state. Each
//! nesting depth of each slot has its own, so that no signal handler finds its own in use.

use crate::os_error::OsError;
use crate::system_calls;
use core::ffi::{CStr, c_void};
use core::marker::PhantomData;
use core::mem::transmute;
use core::ptr;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
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
/// A sum of the image in which the function was found; 0 before that.
static IMAGE_SUM: AtomicU64 = AtomicU64::new(0);

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

/// Uses the function no more if the vDSO's image changed since the lookup. To be called at each notice of a copy.
///
/// CRIU restores a process on another kernel with the old image, in which it makes a few functions jump to the new kernel's.
/// It leaves getrandom alone (CRIU 4.2), which then reads zeros in place of the kernel's data. With those it makes a system
/// call, but no kernel promises that.
#[cold]
#[inline(never)]
pub fn forget_if_changed() {
    let known = IMAGE_SUM.load(Ordering::Relaxed);
    if known != 0 && image_sum() != Some(known) {
        FUNCTION.store(ABSENT, Ordering::Release);
    }
}

/// The vDSO's image.
fn image() -> Option<NonNull<u8>> {
    if cfg!(miri) {
        return None;
    }
    // SAFETY: getauxval only looks the value up.
    let base = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } as *const u8;
    NonNull::new(base.cast_mut())
}

/// A sum of all words of the image, never 0. It need not resist an attacker.
#[inline(never)]
fn image_sum() -> Option<u64> {
    // SAFETY: the kernel mapped a whole ELF image there, for as long as the process lives.
    let words = unsafe { elf::words(image()?.as_ptr()) }?;
    let add = |sum: u64, word: &usize| (sum.rotate_left(5) ^ *word as u64).wrapping_mul(FACTOR);
    Some(words.iter().fold(0, add) | 1)
}

/// 2^64 divided by the golden ratio, as in Knuth's multiplicative hashing: odd, so that no word is lost.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// A function of the vDSO.
fn symbol(name: &CStr) -> Option<*const u8> {
    // SAFETY: as above.
    unsafe { elf::symbol(image()?.as_ptr(), name) }
}

/// The function and what it wants its states to be. None in another image than the first.
fn find() -> Option<(Function, Parameters)> {
    let function = symbol(SYMBOL)?;
    let (sum, order) = (image_sum()?, Ordering::Relaxed);
    if let Err(known) = IMAGE_SUM.compare_exchange(0, sum, order, order)
        && known != sum
    {
        return None;
    }
    // SAFETY: the kernel's documentation gives the symbol this type.
    let function = unsafe { transmute::<*const u8, Function>(function) };
    let mut parameters = Parameters::default();
    let state = (&raw mut parameters).cast();
    // SAFETY: a call with a length of zero and a state length of all ones asks for the parameters, which are
    // written to `state`.
    let answer = unsafe { function(ptr::null_mut(), 0, 0, state, usize::MAX) };
    (answer == 0 && parameters.state_bytes > 0).then_some((function, parameters))
}

#[cfg(all(target_pointer_width = "64", not(miri)))]
pub(crate) mod clock {
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
                for cpu in
                    (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &allowed))
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
}

mod elf {
    //! Looks up a symbol in an ELF image in memory.
    //!
    //! By hand (System V ABI, chapter 5, "Dynamic Linking"): libc has no call that returns the vDSO's symbols, and
    //! dlopen(3) may allocate, and so may not be called in a signal handler.

    use core::ffi::CStr;

    #[repr(C)]
    struct FileHeader {
        ident: [u8; 16],
        kind: u16,
        machine: u16,
        version: u32,
        entry: usize,
        program_headers: usize,
        section_headers: usize,
        flags: u32,
        header_bytes: u16,
        program_header_bytes: u16,
        program_header_count: u16,
    }

    #[repr(C)]
    struct ProgramHeader {
        kind: u32,
        #[cfg(target_pointer_width = "64")]
        flags: u32,
        offset: usize,
        virtual_address: usize,
        physical_address: usize,
        file_bytes: usize,
    }

    #[repr(C)]
    struct Dynamic {
        tag: isize,
        value: usize,
    }

    #[cfg(target_pointer_width = "64")]
    #[repr(C)]
    struct Symbol {
        name: u32,
        info: u8,
        other: u8,
        section: u16,
        value: usize,
        bytes: usize,
    }

    #[cfg(target_pointer_width = "32")]
    #[repr(C)]
    struct Symbol {
        name: u32,
        value: usize,
        bytes: usize,
        info: u8,
        other: u8,
        section: u16,
    }

    /// An entry of the table at [`TAG_HASH`]: 64 bits on s390x, 32 everywhere else.
    #[cfg(target_arch = "s390x")]
    type HashWord = u64;
    #[cfg(not(target_arch = "s390x"))]
    type HashWord = u32;

    const LOAD: u32 = 1;
    const DYNAMIC: u32 = 2;
    const TAG_HASH: isize = 4;
    const TAG_STRINGS: isize = 5;
    const TAG_SYMBOLS: isize = 6;
    const TAG_GNU_HASH: isize = 0x6fff_fef5;

    /// The tables that the dynamic section points to.
    #[derive(Clone, Copy)]
    struct Tables {
        /// The base of the image's addresses.
        start: *const u8,
        hash: Option<*const HashWord>,
        gnu_hash: Option<*const u32>,
        strings: *const u8,
        symbols: *const Symbol,
    }

    /// The address of a dynamic symbol.
    ///
    /// # Safety
    ///
    /// A whole, well-formed ELF image of this machine is at `base`.
    pub(super) unsafe fn symbol(base: *const u8, name: &CStr) -> Option<*const u8> {
        // SAFETY: the offsets are the image's own, and the caller vouches for the image.
        unsafe {
            let tables = tables(base)?;
            let count = match (tables.hash, tables.gnu_hash) {
                // The second word of the table is the number of symbols.
                (Some(hash), _) => *hash.add(1) as usize,
                (None, Some(hash)) => gnu_count(hash),
                (None, None) => 0,
            };
            let is_wanted = |symbol: &&Symbol| {
                let symbol_name = tables.strings.add(symbol.name as usize);
                symbol.section != 0 && CStr::from_ptr(symbol_name.cast()) == name
            };
            let symbols = core::slice::from_raw_parts(tables.symbols, count);
            let found = symbols.iter().find(is_wanted)?;
            Some(tables.start.wrapping_add(found.value))
        }
    }

    /// All words of the image: of the one segment that a vDSO has.
    ///
    /// # Safety
    ///
    /// As for [`symbol`]; and the image stays while the words are in use.
    pub(super) unsafe fn words<'a>(base: *const u8) -> Option<&'a [usize]> {
        // SAFETY: the segment is mapped whole, and begins with a page, as the image does.
        unsafe {
            let segment = segments(base).find(|segment| segment.kind == LOAD)?;
            let (start, count) = (
                base.add(segment.offset),
                segment.file_bytes / size_of::<usize>(),
            );
            Some(core::slice::from_raw_parts(start.cast(), count))
        }
    }

    /// The program headers.
    ///
    /// # Safety
    ///
    /// The same as for [`words`].
    unsafe fn segments<'a>(base: *const u8) -> impl Iterator<Item = &'a ProgramHeader> {
        // SAFETY: as in `symbol`.
        let header = unsafe { &*base.cast::<FileHeader>() };
        (0..usize::from(header.program_header_count)).map(move |number| {
            let offset = number * usize::from(header.program_header_bytes);
            // SAFETY: as in `symbol`.
            unsafe { &*base.add(header.program_headers + offset).cast() }
        })
    }

    /// # Safety
    ///
    /// The same as for [`symbol`].
    unsafe fn tables(base: *const u8) -> Option<Tables> {
        // SAFETY: as in `symbol`.
        unsafe {
            let (mut start, mut dynamic) = (None, None);
            for segment in segments(base) {
                let address = base.wrapping_add(segment.offset);
                match segment.kind {
                    LOAD if start.is_none() => {
                        start = Some(address.wrapping_sub(segment.virtual_address));
                    }
                    DYNAMIC => dynamic = Some(address.cast::<Dynamic>()),
                    _ => {}
                }
            }
            let (start, mut dynamic) = (start?, dynamic?);
            let (mut hash, mut gnu_hash, mut strings, mut symbols) = (None, None, None, None);
            while (*dynamic).tag != 0 {
                let address = start.wrapping_add((*dynamic).value);
                match (*dynamic).tag {
                    TAG_HASH => hash = Some(address.cast()),
                    TAG_GNU_HASH => gnu_hash = Some(address.cast()),
                    TAG_STRINGS => strings = Some(address),
                    TAG_SYMBOLS => symbols = Some(address.cast()),
                    _ => {}
                }
                dynamic = dynamic.add(1);
            }
            Some(Tables {
                start,
                hash,
                gnu_hash,
                strings: strings?,
                symbols: symbols?,
            })
        }
    }

    /// The number of symbols by the GNU hash table, which does not say it: the end of the last chain.
    ///
    /// # Safety
    ///
    /// `hash` is the table of such an image.
    unsafe fn gnu_count(hash: *const u32) -> usize {
        // SAFETY: the table has this shape: four words, the filter's words of a pointer's size, the buckets, the chains.
        unsafe {
            let [bucket_count, first, filter_words] = [0, 1, 2].map(|at| *hash.add(at) as usize);
            let filter_words = filter_words * size_of::<usize>() / size_of::<u32>();
            let buckets = hash.add(4 + filter_words);
            let chains = buckets.add(bucket_count);
            let last = (0..bucket_count).map(|bucket| *buckets.add(bucket) as usize);
            let Some(mut last) = last.max().filter(|&last| last >= first) else {
                return first;
            };
            // The lowest bit marks the end of a chain.
            while *chains.add(last - first) & 1 == 0 {
                last += 1;
            }
            last + 1
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        fn vdso() -> Option<*const u8> {
            // SAFETY: only looks the value up.
            let base = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) };
            (base != 0).then_some(core::ptr::with_exposed_provenance(base as usize))
        }

        #[test]
        fn the_clock_is_found_in_the_image_and_nonsense_is_not() {
            let names = [
                c"__vdso_clock_gettime",
                c"__kernel_clock_gettime",
                c"__vdso_clock_gettime64",
            ];
            let Some(base) = vdso() else {
                println!("SKIPPED: there is no vDSO here");
                return;
            };
            // SAFETY: the kernel's image.
            unsafe {
                assert!(names.iter().any(|name| symbol(base, name).is_some()));
                assert!(symbol(base, c"__vdso_nonsense").is_none());
            }
        }

        #[test]
        fn both_hash_tables_count_the_same_symbols() {
            // SAFETY: the kernel's image, if there is one.
            let tables = vdso().and_then(|base| unsafe { tables(base) });
            if let Some(Tables {
                hash: Some(hash),
                gnu_hash: Some(gnu_hash),
                ..
            }) = tables
            {
                // SAFETY: its tables.
                unsafe { assert_eq!(gnu_count(gnu_hash), *hash.add(1) as usize) };
            } else {
                println!("SKIPPED: the vDSO has not both tables");
            }
        }
    }
}
