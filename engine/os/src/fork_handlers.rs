//! All handlers of fork(3) in this crate, in one order.
//!
//! They are registered when the library is loaded, before the program registers handlers. fork(3) calls the handlers
//! before the fork in reverse order and the child's in order. So the parent draws for its child after all other handlers,
//! and the child's memory is wiped, and seeded, before all others. libc takes a lock to register handlers, which the
//! caller of a first read in a signal handler may hold: another reason to do it sooner.
//!
//! Until the process has an engine the handlers do nothing.

use crate::inheritance::{self, SECRET_BYTES};
use crate::memory::MemoryError;
use crate::os;
use crate::sandbox;
use crate::system::{fork, pages};
use core::sync::atomic::{AtomicU32, Ordering};

/// The values of [`STATE`].
const ABSENT: u32 = 0;
const REGISTERING: u32 = 1;
const REGISTERED: u32 = 2;

static STATE: AtomicU32 = AtomicU32::new(ABSENT);

/// How long a thread waits while another one registers the handlers, in milliseconds. To register takes a microsecond, but
/// in a child forked meanwhile no thread finishes it.
const MAX_WAIT_MS: u32 = 100;

/// Sees to it that the handlers are registered: by a constructor, and else here. Returns `false` if libc has no memory for
/// that.
pub(crate) fn register() -> bool {
    if cfg!(miri) {
        return true; // It knows no fork.
    }
    for _ in 0..MAX_WAIT_MS {
        let (acquire, order) = (Ordering::Acquire, Ordering::AcqRel);
        match STATE.compare_exchange(ABSENT, REGISTERING, order, acquire) {
            Err(REGISTERED) => return true,
            Err(_) => os::pause(),
            Ok(_) => break,
        }
    }
    let is_done = fork::at_fork(before, in_parent, in_child);
    let state = if is_done { REGISTERED } else { ABSENT };
    STATE.store(state, Ordering::Release);
    is_done
}

/// From now on every fork(3) gives the child a secret that `draw` writes. Only the first call has an effect.
///
/// `draw` returns `false` if it has none. It runs in the parent, on the thread that forks, with signals blocked; it must
/// neither fork nor wait.
///
/// # Errors
///
/// The system has no memory for the secret: a later call tries again. If libc alone has none, for its list of handlers,
/// children get no secret.
#[inline(never)]
pub fn seed_children(draw: fn(&mut [u8; SECRET_BYTES]) -> bool) -> Result<(), MemoryError> {
    inheritance::register(draw)?;
    register();
    Ok(())
}

/// The constructor.
#[cfg_attr(not(all(unix, not(target_vendor = "apple"))), allow(dead_code))]
pub(crate) extern "C" fn load() {
    register();
}

extern "C" fn before() {
    inheritance::before_fork();
}

extern "C" fn in_parent() {
    inheritance::in_parent();
}

extern "C" fn in_child() {
    pages::in_child();
    sandbox::in_child();
    inheritance::in_child();
}
