//! Memory that this library wipes in a child, where no kernel does: on macOS, and on a Linux that refuses
//! `MADV_WIPEONFORK` or only says that it obeys (gVisor, a filter of system calls, Linux before 4.14).
//!
//! A handler of fork(3) puts fresh zeroed pages in the place of the old ones. It is registered before the first page is
//! listed, on Linux when the library is loaded. So a child that fork(3) made finds all wiped, except in
//! handlers that other code registered before.
//!
//! A child that ran no handler (a raw system call made it, or it is in such an earlier handler) keeps the parent's bytes
//! until [`look`] finds another process number: before a tap takes a key or fills its buffer, and before any lock. It
//! can repeat the bytes in its parent's buffers, as `SECURITY.md` says.

use crate::system::{pages, signal_mask};
use crate::{os, system_calls};
use core::ptr;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

/// The most mappings at a time; a further one finds no memory. An engine has about five.
const MAX_MAPPINGS: usize = 1 << 14;

/// A mapping to be wiped in a child.
struct Mapping {
    /// Null in an unused entry.
    start: AtomicPtr<u8>,
    bytes: AtomicUsize,
}

static MAPPINGS: [Mapping; MAX_MAPPINGS] = [const {
    Mapping {
        start: AtomicPtr::new(ptr::null_mut()),
        bytes: AtomicUsize::new(0),
    }
}; MAX_MAPPINGS];

/// How many were ever in use at once: the rest is never looked at.
static USED: AtomicUsize = AtomicUsize::new(0);

/// The process that has wiped what its parent left, or listed the first mapping. [`NONE`] where nothing was listed.
static PROCESS: AtomicU32 = AtomicU32::new(NONE);

/// No process has this number.
const NONE: u32 = 0;
/// A thread of this process wipes now. No process has this number either.
const WIPING: u32 = u32::MAX;

/// The number of this process. Where a filter refuses it, the same one for all: then a handler alone wipes.
fn process_number() -> u32 {
    os::process_number().max(1)
}

/// How often a thread looks whether another one has wiped. A fork may have left [`WIPING`] without such a thread.
const MAX_LOOKS: usize = 1 << 20;

/// The place of a mapping whose length is not noted yet.
const RESERVED: *mut u8 = ptr::dangling_mut();

/// Lists a mapping. Returns whether a child will find it wiped.
///
/// # Safety
///
/// The range is a mapping, of this process alone, until [`disarm`].
pub(crate) unsafe fn arm(start: NonNull<u8>, bytes: usize) -> bool {
    if !register() {
        return false;
    }
    // A child that ran no handler must not wipe its own new mapping later.
    look();
    let (null, relaxed) = (ptr::null_mut(), Ordering::Relaxed);
    let _ = PROCESS.compare_exchange(NONE, process_number(), relaxed, relaxed);
    let is_taken = |mapping: &Mapping| {
        mapping
            .start
            .compare_exchange(null, RESERVED, Ordering::Acquire, relaxed)
            .is_ok()
    };
    let Some(number) = MAPPINGS.iter().position(is_taken) else {
        return false;
    };
    let mapping = &MAPPINGS[number];
    mapping.bytes.store(bytes, relaxed);
    USED.fetch_max(number + 1, Ordering::AcqRel);
    mapping.start.store(start.as_ptr(), Ordering::Release);
    true
}

/// A mapping is about to end: its bytes are erased.
pub(crate) fn disarm(start: *mut u8) {
    let mut mappings = mappings().iter();
    if let Some(mapping) = mappings.find(|mapping| mapping.start.load(Ordering::Relaxed) == start) {
        mapping.start.store(ptr::null_mut(), Ordering::Release);
    }
}

fn mappings() -> &'static [Mapping] {
    &MAPPINGS[..USED.load(Ordering::Acquire)]
}

/// Whether any memory of this process is wiped in this way: not where the kernel wipes all.
#[inline(always)]
pub(crate) fn is_in_use() -> bool {
    PROCESS.load(Ordering::Relaxed) != NONE
}

/// The handler of fork(3). It does not compare process numbers: in another PID namespace a child can have its parent's.
extern "C" fn in_child() {
    if is_in_use() {
        wipe();
        if !system_calls::are_forbidden() {
            PROCESS.store(process_number(), Ordering::Release);
        }
    }
}

fn wipe() {
    for mapping in mappings() {
        let start = mapping.start.load(Ordering::Acquire);
        if start.is_null() || start == RESERVED {
            continue;
        }
        let bytes = mapping.bytes.load(Ordering::Relaxed);
        // SAFETY: the range is a mapping of ours, which `disarm` has not removed. Where the system has no memory, or may
        // not be asked, its bytes are overwritten. Other code of this process sees the same as if the kernel had wiped
        // the range.
        unsafe {
            if system_calls::are_forbidden() || !pages::renew(start, bytes) {
                ptr::write_bytes(start, 0, bytes);
            }
        }
    }
}

/// Wipes all if this process is a child that ran no handler. If the kernel wipes, this is one load. Call it before you use a
/// state that was not found current, and before you take a lock.
#[inline(always)]
pub(crate) fn look() {
    if is_in_use() {
        look_at_process();
    }
}

/// getpid(2) is a load on macOS, and a system call on Linux.
#[inline]
fn look_at_process() {
    if cfg!(target_os = "linux") && system_calls::are_forbidden() {
        return;
    }
    let process = process_number();
    if PROCESS.load(Ordering::Acquire) != process {
        wipe_in(process);
    }
}

/// One thread wipes, with its signals blocked if it may, so that no handler reads before the end; others wait.
#[cold]
#[inline(never)]
fn wipe_in(process: u32) {
    let mask = (!system_calls::are_forbidden()).then(signal_mask::block_all);
    if is_to_wipe(process) {
        wipe();
        PROCESS.store(process, Ordering::Release);
    }
    if let Some(mask) = mask {
        signal_mask::restore(mask);
    }
}

/// Whether this thread is to wipe: no other one has.
fn is_to_wipe(process: u32) -> bool {
    for _ in 0..MAX_LOOKS {
        match PROCESS.load(Ordering::Acquire) {
            before if before == process => return false,
            WIPING => core::hint::spin_loop(),
            before => {
                let (order, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
                let taken = PROCESS.compare_exchange(before, WIPING, order, relaxed);
                if taken.is_ok() {
                    return true;
                }
            }
        }
    }
    true
}

/// Sees to it that children are wiped. Returns `false` if libc has no memory for the handler.
pub(crate) fn register() -> bool {
    static HANDLER: Handlers = Handlers::new(None, None, in_child);
    HANDLER.register()
}

/// Functions that fork(3) calls, registered once.
pub(crate) struct Handlers {
    state: AtomicU32,
    before: Option<Handler>,
    in_parent: Option<Handler>,
    in_child: Handler,
}

type Handler = unsafe extern "C" fn();

/// The values of [`Handlers::state`].
const ABSENT: u32 = 0;
const REGISTERING: u32 = 1;
const REGISTERED: u32 = 2;

/// How long a thread waits while another one registers the handlers, in milliseconds. To register takes a microsecond, but
/// in a child forked meanwhile no thread finishes it.
const MAX_WAIT_MS: u32 = 100;

impl Handlers {
    pub(crate) const fn new(
        before: Option<Handler>,
        in_parent: Option<Handler>,
        in_child: Handler,
    ) -> Self {
        Self {
            state: AtomicU32::new(ABSENT),
            before,
            in_parent,
            in_child,
        }
    }

    /// From now on fork(3) calls the functions, in any thread. Returns `false` if libc has no memory for that.
    pub(crate) fn register(&self) -> bool {
        if cfg!(any(miri, windows)) {
            return true; // They know no fork.
        }
        for _ in 0..MAX_WAIT_MS {
            let (acquire, order) = (Ordering::Acquire, Ordering::AcqRel);
            match self
                .state
                .compare_exchange(ABSENT, REGISTERING, order, acquire)
            {
                Err(REGISTERED) => return true,
                Err(_) => os::pause(),
                Ok(_) => break,
            }
        }
        let is_done = at_fork(self.before, self.in_parent, Some(self.in_child));
        let state = if is_done { REGISTERED } else { ABSENT };
        self.state.store(state, Ordering::Release);
        is_done
    }
}

#[cfg(unix)]
fn at_fork(before: Option<Handler>, in_parent: Option<Handler>, in_child: Option<Handler>) -> bool {
    // SAFETY: any thread that forks may call the functions. Unloading this library removes them.
    unsafe { libc::pthread_atfork(before, in_parent, in_child) == 0 }
}

/// There is no fork.
#[cfg(windows)]
fn at_fork(_: Option<Handler>, _: Option<Handler>, _: Option<Handler>) -> bool {
    true
}
