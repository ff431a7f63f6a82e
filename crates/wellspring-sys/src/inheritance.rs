//! A secret that fork(3) takes from a parent to its child.
//!
//! A fork wipes all secrets in the child. A child that the system refuses random bytes would have none. So the parent
//! draws 32 bytes at each fork(3) and puts them in ordinary memory, which the fork copies. The child moves them to memory
//! that its own children find wiped, and the parent erases them. Neither can compute what the other draws later.
//!
//! - A fork holds a lock from the drawing to the erasing, so no two children get the same secret, and no child has the
//!   secret of another one.
//! - Signals are blocked for that time, so no handler forks within a fork.
//! - clone(2), vfork and posix_spawn run none of this: such a child has nothing.

use crate::lock::Lock;
use crate::memory::{Wiped, erase};
use crate::os;
use crate::sandbox;
use crate::signals::Blocked;
use crate::slots::process_number;
use crate::zeroed::Zeroed;
use core::cell::{Cell, UnsafeCell};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::OnceLock;

/// The size of the secret.
pub const SECRET_BYTES: usize = 32;

/// How often a fork looks for the end of another one before it goes without a secret: for about a second.
const MAX_LOOKS: usize = 10_000;

/// The time from one look to the next. A fork of a small process takes about 100 microseconds.
const LOOK_INTERVAL_NS: u32 = 50_000;

/// What draws the secret: writes it, or returns `false`.
type Draw = fn(&mut [u8; SECRET_BYTES]) -> bool;

/// What a child has from its parent.
#[repr(C)]
struct Inherited {
    /// 1 if there is a secret.
    is_there: u32,
    _reserved: [u32; 7],
    secret: [u8; SECRET_BYTES],
}

impl Zeroed for Inherited {
    const ZERO: Self = Self {
        is_there: 0,
        _reserved: [0; 7],
        secret: [0; SECRET_BYTES],
    };
}

struct Registered {
    draw: Draw,
    inherited: Wiped<Lock<Inherited>>,
}

static REGISTERED: OnceLock<Registered> = OnceLock::new();
static IS_REGISTERING: AtomicBool = AtomicBool::new(false);

/// The process of which a thread forks now; 0 for none. Another number than that of this process was left by a fork.
static FORKING: AtomicU32 = AtomicU32::new(0);

/// What is on its way to the child. Belongs to the thread that holds [`FORKING`].
struct OnItsWay {
    secret: UnsafeCell<[u8; SECRET_BYTES]>,
    is_there: Cell<bool>,
    signals: Cell<Option<Blocked>>,
}

// SAFETY: only the thread that holds `FORKING` uses it, and its copy in a child.
unsafe impl Sync for OnItsWay {}

static ON_ITS_WAY: OnItsWay = OnItsWay {
    secret: UnsafeCell::new([0; SECRET_BYTES]),
    is_there: Cell::new(false),
    signals: Cell::new(None),
};

thread_local! {
    /// Whether this thread holds `FORKING`.
    static HOLDS: Cell<bool> = const { Cell::new(false) };
}

/// Has every fork(3) from now on give the child a secret that `draw` makes. Only the first call counts.
///
/// `draw` runs in the parent, on the thread that forks, with signals blocked; it must neither fork nor wait. Where the
/// system has no memory for this, children inherit nothing.
#[inline(never)]
pub fn register(draw: Draw) {
    if IS_REGISTERING.swap(true, Ordering::Relaxed) {
        return;
    }
    let Ok(inherited) = Wiped::new(None) else {
        return;
    };
    let _ = REGISTERED.set(Registered { draw, inherited });
    // SAFETY: the three functions may be called by any thread that forks. Unloading this library removes them.
    unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
}

/// Runs `work` on the secret that this process has from its parent. `None` if it has none.
///
/// `work` must replace the secret by another one, from which what it made of the old one cannot be computed.
pub fn with_secret<R>(work: impl FnOnce(&mut [u8; SECRET_BYTES]) -> R) -> Option<R> {
    let registered = REGISTERED.get()?;
    let signals = Blocked::new();
    let mut inherited = registered.inherited.lock(&signals);
    (inherited.is_there == 1).then(|| work(&mut inherited.secret))
}

impl OnItsWay {
    fn erase(&self) {
        self.is_there.set(false);
        // SAFETY: 32 bytes of ours, and no other thread uses them: see `OnItsWay`.
        unsafe { erase(self.secret.get().cast(), SECRET_BYTES) };
    }
}

/// Waits for the end of another thread's fork. Says whether this thread may fork with a secret.
fn hold() -> bool {
    let process = process_number();
    for _ in 0..MAX_LOOKS {
        let holder = FORKING.load(Ordering::Relaxed);
        if holder != process {
            let taken =
                FORKING.compare_exchange(holder, process, Ordering::Acquire, Ordering::Relaxed);
            if taken.is_ok() {
                return true;
            }
        }
        if sandbox::is_prepared() {
            core::hint::spin_loop();
        } else {
            os::sleep_ns(LOOK_INTERVAL_NS);
        }
    }
    false
}

/// Before a fork, in the parent.
extern "C" fn before() {
    let signals = Blocked::new();
    if !hold() {
        return;
    }
    HOLDS.set(true);
    ON_ITS_WAY.signals.set(Some(signals));
    if let Some(registered) = REGISTERED.get() {
        // SAFETY: this thread holds `FORKING`.
        let drawn = (registered.draw)(unsafe { &mut *ON_ITS_WAY.secret.get() });
        ON_ITS_WAY.is_there.set(drawn);
    }
}

/// After a fork, or after one that failed, in the parent.
extern "C" fn in_parent() {
    if HOLDS.replace(false) {
        ON_ITS_WAY.erase();
        end();
    }
}

/// After a fork, in the child. What another thread's fork had on its way is erased as well.
extern "C" fn in_child() {
    let is_ours = HOLDS.replace(false);
    if is_ours
        && ON_ITS_WAY.is_there.get()
        && let Some(registered) = REGISTERED.get()
    {
        registered.inherited.lock_pages();
        let signals = Blocked::new();
        let mut inherited = registered.inherited.lock(&signals);
        // SAFETY: this thread is alone.
        inherited.secret = unsafe { *ON_ITS_WAY.secret.get() };
        inherited.is_there = 1;
    }
    ON_ITS_WAY.erase();
    if is_ours {
        end();
    } else {
        // Its thread is not in this process.
        core::mem::forget(ON_ITS_WAY.signals.take());
        FORKING.store(0, Ordering::Release);
    }
}

/// Ends a fork that this thread holds, and restores its signals.
fn end() {
    let signals = ON_ITS_WAY.signals.take();
    FORKING.store(0, Ordering::Release);
    drop(signals);
}
