//! The engine of the process, as the functions here read from it: errno stays as it was. And children that use their parent's
//! memory, which must not change the parent's engine.

use crate::system::{self, KeptErrno, Next, call};
use core::ffi::c_uint;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use wellspring::{Engine, Error};
use wellspring_interpose::repeat;
use wellspring_os::sandbox;

/// The engine, after the first read. Of this library alone, so that it is found with one load.
static ENGINE: AtomicPtr<Engine> = AtomicPtr::new(ptr::null_mut());

/// The reads that found no engine and made none.
static READS_WITHOUT: AtomicU32 = AtomicU32::new(0);

/// The engine of the process, if there is one.
#[inline(always)]
fn engine() -> Option<&'static Engine> {
    // SAFETY: null, or the engine of the process, which is never dropped.
    unsafe { ENGINE.load(Ordering::Acquire).as_ref() }
}

/// Fills `bytes`, of any length, without waiting.
///
/// Ready bytes are taken without any call that could change errno. All other reads may change it, and it is restored
/// there: to do so around every read would take two calls of the C library.
#[inline(always)]
pub(crate) fn try_fill(bytes: &mut [u8]) -> Result<(), Error> {
    match engine() {
        Some(engine) => engine.try_fill_guarded(bytes, KeptErrno::new),
        None => try_fill_first(bytes),
    }
}

#[cold]
#[inline(never)]
fn try_fill_first(bytes: &mut [u8]) -> Result<(), Error> {
    let _errno = KeptErrno::new();
    // Where a program is to draw the same bytes in every run, all its reads come here.
    if fill_repeated(bytes) {
        return Ok(());
    }
    fill_by(make()?, bytes)
}

/// These three are not inlined: the first read may be on a signal stack of 8 KiB, and then uses the stack of one of them, not
/// of all.
#[inline(never)]
fn fill_repeated(bytes: &mut [u8]) -> bool {
    repeat::fill(bytes)
}

#[inline(never)]
fn fill_by(engine: &Engine, bytes: &mut [u8]) -> Result<(), Error> {
    engine.try_fill(bytes)
}

/// Makes the engine, if there is memory; not in a sandbox. The 1st, 2nd, 4th, 8th .. read tries it, so that a program without
/// memory does not pay for it at each read.
#[inline(never)]
pub(crate) fn make() -> Result<&'static Engine, Error> {
    if let Some(engine) = engine() {
        return Ok(engine);
    }
    // Counted after the try: threads that draw while one makes the engine wait for it.
    let reads = READS_WITHOUT.load(Ordering::Relaxed).wrapping_add(1);
    let may_try = reads.is_power_of_two() && !sandbox::is_prepared() && system::reserve();
    let made = if may_try {
        Engine::try_process()
    } else {
        Err(Error::Memory)
    };
    let engine = made.inspect_err(|_| {
        READS_WITHOUT.fetch_add(1, Ordering::Relaxed);
    })?;
    if !is_child() {
        let _ = sandbox::owns_memory();
    }
    ENGINE.store(ptr::from_ref(engine).cast_mut(), Ordering::Release);
    Ok(engine)
}

// ---- children of vfork ----
// Distinguishes a child of vfork(2), which uses its parent's memory until its exec, from a process with its own memory. The
// library must not record in that memory what such a child does, such as installing a filter, as the parent's.
//
// In a child with its parent's memory, and in no other child, the kernel forgets which restartable sequences (rseq(2)) the C
// library has registered. So a process is such a child if the kernel accepts another registration, though the C library made
// one. Linux has rseq(2) since 4.18 and forgets since 5.5; glibc registers since 2.35. Elsewhere only `sandbox::owns_memory`
// decides.

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
