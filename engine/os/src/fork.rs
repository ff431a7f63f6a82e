//! All handlers of fork(3) in this crate, in one order: what wipes a child comes first (`wipe_at_fork`), then the secret that
//! it takes from its parent ([`inheritance`]).
//!
//! They are registered when the library is loaded, before the program registers handlers. fork(3) calls the handlers
//! before the fork in reverse order and the child's in order. So the parent draws for its child after all other handlers,
//! and the child's memory is wiped, and seeded, before all others. libc takes a lock to register handlers, which the
//! caller of a first read in a signal handler may hold: another reason to do it sooner.
//!
//! Until the process has an engine the handlers do nothing.

use crate::memory::MemoryError;
use crate::wipe_at_fork::Handlers;
use crate::{sandbox, wipe_at_fork};
use inheritance::SECRET_BYTES;

/// Sees to it that the handlers are registered: by a constructor, and else here.
fn register() {
    static HANDLERS: Handlers = Handlers::new(Some(before), Some(in_parent), in_child);
    // A child's memory is wiped before its secret is moved there. Where libc has no memory, `seed_children` is without effect.
    if wipe_at_fork::register() {
        HANDLERS.register();
    }
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

/// The constructor. On macOS a first read registers the handlers.
#[cfg(all(unix, not(target_vendor = "apple")))]
extern "C" fn load() {
    register();
}

/// Runs [`load`] when the library is loaded.
#[cfg(all(unix, not(target_vendor = "apple")))]
#[used]
#[cfg_attr(not(miri), unsafe(link_section = ".init_array"))]
static LOAD: extern "C" fn() = load;

extern "C" fn before() {
    inheritance::before_fork();
}

extern "C" fn in_parent() {
    inheritance::in_parent();
}

extern "C" fn in_child() {
    sandbox::in_child();
    inheritance::in_child();
}

pub mod inheritance {
    //! A secret that fork(3) takes from a parent to its child.
    //!
    //! A fork wipes all secrets in the child. A child that gets no random bytes from the system either would have no
    //! secret at all. So the parent draws 32 bytes at each fork(3) and puts them in ordinary memory, which the fork
    //! copies. The child moves them to memory that is wiped in its own children, and the parent erases its copy. Neither
    //! process can compute the other's later draws.
    //!
    //! - A fork holds a lock from the moment it draws the secret until it has erased it. So no two children get the same
    //!   secret, and no child holds another's.
    //! - Signals are blocked for that time, so no handler forks within a fork.
    //! - clone(2), vfork(2) and posix_spawn(3) run none of this code: such a child gets no secret.

    use crate::lock::Lock;
    use crate::memory::{MemoryError, Wiped, Zeroed, erase};
    use crate::os::process_number;
    use crate::shared::OnceBox;
    use crate::signals::SignalsBlocked;
    use crate::{os, sandbox};
    use core::cell::{Cell, UnsafeCell};
    use core::sync::atomic::{AtomicU32, Ordering};

    /// The size of the secret, in bytes.
    pub const SECRET_BYTES: usize = 32;

    /// The number of times that a fork looks whether another thread's fork has ended. After that, about a second, its child
    /// gets no secret.
    const MAX_LOOKS: usize = 10_000;

    /// The time from one look to the next. A fork of a small process takes about 100 microseconds.
    const LOOK_INTERVAL_NS: u32 = 50_000;

    /// A function that writes a fresh secret and returns `true`, or returns `false` if it has none.
    pub(crate) type Draw = fn(&mut [u8; SECRET_BYTES]) -> bool;

    /// The secret that this process got from its parent. Each use replaces it by the next one.
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

    static REGISTERED: OnceBox<Registered> = OnceBox::new();

    /// The lock: the number of this process while one of its threads forks, else 0. The number of another process was
    /// copied by a fork, and counts as 0.
    static FORKING: AtomicU32 = AtomicU32::new(0);

    /// The secret that the next child gets, and the signal mask to restore. Only the thread that holds [`FORKING`] uses it.
    struct OnItsWay {
        secret: UnsafeCell<[u8; SECRET_BYTES]>,
        is_there: Cell<bool>,
        signals: Cell<Option<SignalsBlocked>>,
    }

    // SAFETY: only the thread that holds `FORKING` uses it, and its copy in a child.
    unsafe impl Sync for OnItsWay {}

    static ON_ITS_WAY: OnItsWay = OnItsWay {
        secret: UnsafeCell::new([0; SECRET_BYTES]),
        is_there: Cell::new(false),
        signals: Cell::new(None),
    };

    thread_local! {
        /// Whether this thread holds [`FORKING`].
        static HOLDS: Cell<bool> = const { Cell::new(false) };
    }

    /// Sets what [`before_fork`] draws. Only the first call has an effect.
    pub(crate) fn register(draw: Draw) -> Result<(), MemoryError> {
        // Miri knows no fork.
        if cfg!(miri) || REGISTERED.get().is_some() {
            return Ok(());
        }
        let inherited = Wiped::new(None)?;
        REGISTERED.set(Registered { draw, inherited })?;
        Ok(())
    }

    /// Runs `work` on the secret that this process got from its parent. Returns `None` if it got none.
    ///
    /// `work` must replace the secret by a new one. The new secret must not reveal what `work` made of the
    /// old one.
    pub fn with_secret<R>(work: impl FnOnce(&mut [u8; SECRET_BYTES]) -> R) -> Option<R> {
        let registered = REGISTERED.get()?;
        let signals = SignalsBlocked::new();
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

    /// Takes the lock, [`FORKING`], after the end of another thread's fork. Returns `false` if that did not end in about a
    /// second: then this thread forks without a secret.
    fn hold(forking: &AtomicU32) -> bool {
        // In a sandbox without its number: it is for children that ran no handler.
        let process = if sandbox::is_prepared() {
            u32::MAX
        } else {
            process_number().max(1)
        };
        for _ in 0..MAX_LOOKS {
            let holder = forking.load(Ordering::Relaxed);
            // Two threads may read differently whether the process is in a sandbox: neither takes the other's lock.
            let is_held =
                holder != 0 && (holder == process || holder == u32::MAX || process == u32::MAX);
            if !is_held {
                let taken =
                    forking.compare_exchange(holder, process, Ordering::Acquire, Ordering::Relaxed);
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

    /// Runs before a fork, in the parent: takes the lock and draws the secret.
    pub(crate) fn before_fork() {
        let Some(registered) = REGISTERED.get() else {
            return;
        };
        if HOLDS.get() {
            return; // The handlers were registered twice.
        }
        let signals = SignalsBlocked::new();
        if !hold(&FORKING) {
            return;
        }
        HOLDS.set(true);
        ON_ITS_WAY.signals.set(Some(signals));
        // SAFETY: this thread holds `FORKING`.
        let drawn = (registered.draw)(unsafe { &mut *ON_ITS_WAY.secret.get() });
        ON_ITS_WAY.is_there.set(drawn);
    }

    /// Runs in the parent after a fork, even a failed one: erases the secret and releases the lock.
    pub(crate) fn in_parent() {
        // A write would cost the program a page fault at each fork.
        if HOLDS.get() {
            HOLDS.set(false);
            ON_ITS_WAY.erase();
            end();
        }
    }

    /// Runs in the child after a fork: moves the secret to wiped memory, and erases the copy. A secret that another thread
    /// had drawn for its own child is erased as well.
    pub(crate) fn in_child() {
        if FORKING.load(Ordering::Relaxed) == 0 {
            return;
        }
        let is_ours = HOLDS.replace(false);
        if is_ours
            && ON_ITS_WAY.is_there.get()
            && let Some(registered) = REGISTERED.get()
        {
            registered.inherited.lock_pages();
            let signals = SignalsBlocked::new();
            let mut inherited = registered.inherited.lock(&signals);
            // SAFETY: the child has no other thread.
            inherited.secret = unsafe { *ON_ITS_WAY.secret.get() };
            inherited.is_there = 1;
        }
        ON_ITS_WAY.erase();
        if is_ours {
            end();
        } else {
            // The thread that held the lock does not exist in this process, so its signal mask must not be restored here.
            core::mem::forget(ON_ITS_WAY.signals.take());
            FORKING.store(0, Ordering::Release);
        }
    }

    /// Releases [`FORKING`], which this thread holds, and restores the thread's signal mask.
    fn end() {
        let signals = ON_ITS_WAY.signals.take();
        FORKING.store(0, Ordering::Release);
        drop(signals);
    }

    #[cfg(all(test, unix, not(miri)))]
    mod tests {
        use super::*;
        use testkit::process::in_child;

        #[cfg(target_os = "linux")]
        thread_local! {
            static DRAWS: Cell<u32> = const { Cell::new(0) };
        }

        /// How often this process has waited.
        #[cfg(target_os = "linux")]
        fn waits() -> libc::c_long {
            // SAFETY: of a number of plain fields, which the call fills.
            unsafe {
                let mut usage = core::mem::zeroed::<libc::rusage>();
                libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
                usage.ru_nvcsw
            }
        }

        #[cfg(target_os = "linux")]
        #[test]
        fn handlers_that_were_registered_twice_draw_once_and_the_second_does_not_wait_for_the_first()
         {
            let draw = |secret: &mut [u8; SECRET_BYTES]| {
                DRAWS.set(DRAWS.get() + 1);
                secret.fill(7);
                true
            };
            register(draw).unwrap();
            let code = in_child(|| {
                let (draws, waited) = (DRAWS.get(), waits());
                before_fork();
                before_fork();
                let has_waited = waits() - waited > 1000;
                in_parent();
                in_parent();
                let is_free = !HOLDS.get() && FORKING.load(Ordering::Relaxed) == 0;
                i32::from(has_waited || !is_free || DRAWS.get() != draws + 1)
            });
            assert_eq!(code, 0);
        }

        /// A write to a page costs a program a page fault after each fork. Here it ends the child by a signal.
        #[test]
        fn a_fork_without_a_secret_writes_to_none_of_the_pages_of_this_file() {
            let protect = |protection| {
                // SAFETY: whole pages of this program's variables; nothing else runs in the child.
                unsafe {
                    let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
                    for (address, bytes) in [
                        ((&raw const FORKING).addr(), size_of_val(&FORKING)),
                        ((&raw const ON_ITS_WAY).addr(), size_of_val(&ON_ITS_WAY)),
                    ] {
                        let start = address & !(page - 1);
                        let start = core::ptr::with_exposed_provenance_mut(start);
                        let end = address + bytes;
                        libc::mprotect(start, end - start.addr(), protection);
                    }
                }
            };
            let code = in_child(|| {
                protect(libc::PROT_READ);
                in_parent();
                super::in_child();
                protect(libc::PROT_READ | libc::PROT_WRITE);
                0
            });
            assert_eq!(code, 0);
        }

        #[test]
        fn no_thread_takes_the_lock_of_one_that_reads_the_sandbox_differently() {
            let process = process_number().max(1);
            for (holder, is_taken) in [
                (0, true),
                // Copied by a fork.
                (process + 1, true),
                (process, false),
                (u32::MAX, false),
            ] {
                let forking = AtomicU32::new(holder);
                assert_eq!(hold(&forking), is_taken, "{holder}");
                let after = if is_taken { process } else { holder };
                assert_eq!(forking.into_inner(), after);
            }
        }
    }
}
