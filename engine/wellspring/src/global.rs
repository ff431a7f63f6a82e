//! The engine of the process, and the functions that read from it.

use crate::engine::{Engine, EngineInner, Harvester, Reader, Stats};
use crate::error::Error;
use core::mem::MaybeUninit;
use wellspring_os::fork;
use wellspring_os::inheritance::SECRET_BYTES;
use wellspring_os::memory::zeroed_bytes;
use wellspring_os::shared::{OnceBox, OnceRef};
use wellspring_os::thread_state::CurrentThread;

static ENGINE: OnceBox<Engine> = OnceBox::new();

/// The same without its handle, after the first read: the hot path loads one address less.
static INNER: OnceRef<EngineInner> = OnceRef::new();

#[cold]
fn first_inner() -> &'static EngineInner {
    let inner = &*Engine::process().inner;
    INNER.set(inner);
    inner
}

/// The reads of this module take from the tap of the calling thread.
#[inline(always)]
fn thread() -> Reader<'static> {
    Reader::Thread(CurrentThread::find())
}

/// Draws the secret that a child gets from this process. `false` if there is no seed to draw from.
fn draw_for_child(secret: &mut [u8; SECRET_BYTES]) -> bool {
    ENGINE
        .get()
        .is_some_and(|engine| engine.inner.draw_for_child(secret))
}

impl Engine {
    /// The engine of the process, made with the defaults by the first caller. The functions of the crate's root read from it.
    ///
    /// # Panics
    ///
    /// If the system has no memory for it. All functions that read from the engine panic in the same case.
    #[must_use]
    #[inline(always)]
    pub fn process() -> &'static Engine {
        /// Apart, for the sake of programs that have many reads.
        #[cold]
        #[inline(never)]
        fn refused(error: Error) -> ! {
            panic!("wellspring: {error}")
        }

        Self::try_process().unwrap_or_else(|error| refused(error))
    }

    /// The engine of the process, like [`process`](Self::process), for callers who must not panic.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`] if the system has no memory for it. A later call tries again.
    #[inline(always)]
    pub fn try_process() -> Result<&'static Engine, Error> {
        ENGINE.get_or_try_init(|| {
            fork::seed_children(draw_for_child)?;
            Engine::builder().build()
        })
    }
}

/// Fills `destination`, of any length, with random bytes fit for keys. Waits until the engine is seeded with 128 bits.
/// This works early in the boot of a machine, too.
#[inline]
pub fn fill(destination: &mut [u8]) {
    /// Apart, so that the hot path has no call before it.
    #[cold]
    #[inline(never)]
    fn fill_first(destination: &mut [u8]) {
        first_inner().fill(thread(), destination);
    }

    match INNER.get() {
        Some(inner) => inner.fill(thread(), destination),
        None => fill_first(destination),
    }
}

/// Like [`fill`], for memory without a value yet, as a buffer of `Vec::spare_capacity_mut` has. Returns it as bytes.
///
/// The memory is zeroed first: this costs what memset(3) costs.
///
/// ```
/// let mut key = [core::mem::MaybeUninit::uninit(); 32];
/// let key: &mut [u8] = wellspring::fill_uninit(&mut key);
/// assert_eq!(key.len(), 32);
/// ```
#[inline]
pub fn fill_uninit(destination: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    let destination = zeroed_bytes(destination);
    fill(destination);
    destination
}

/// A number, in a register: as [`fill`].
#[inline(always)]
pub(crate) fn number<const N: usize>() -> [u8; N] {
    /// As `fill_first`.
    #[cold]
    #[inline(never)]
    fn first_number<const N: usize>() -> [u8; N] {
        first_inner().bytes(thread())
    }

    match INNER.get() {
        Some(inner) => inner.bytes(thread()),
        None => first_number(),
    }
}

/// 16 bytes in registers: as [`fill`].
#[inline(always)]
pub(crate) fn wide() -> u128 {
    #[cold]
    #[inline(never)]
    fn first() -> (u64, u64) {
        first_inner().two_words(thread())
    }

    let (low, high) = match INNER.get() {
        Some(inner) => inner.two_words(thread()),
        None => first(),
    };
    u128::from(high) << 64 | u128::from(low)
}

/// Fills `destination`, of any length. Does not wait.
///
/// # Errors
///
/// [`Error::NotSeeded`]; `destination` is then untouched.
#[inline]
pub fn try_fill(destination: &mut [u8]) -> Result<(), Error> {
    Engine::process().try_fill(destination)
}

/// `N` random bytes, as good as the bytes of [`fill`].
#[must_use]
#[inline]
pub fn bytes<const N: usize>() -> [u8; N] {
    Engine::process().bytes()
}

/// Reseeds every node of the process's engine and moves every tap to a fresh key: see [`Engine::reseed`].
///
/// # Errors
///
/// [`Error::NotSeeded`] if the sources yielded nothing to reseed with.
pub fn reseed() -> Result<u64, Error> {
    Engine::process().reseed()
}

/// Starts a [harvester](crate::EngineBuilder::harvester) for the process's engine, which lasts as long as the process. Has
/// no effect while one runs.
///
/// For programs, not for libraries: the program decides whether it wants one more thread, and without one the engine
/// keeps itself fresh on its readers' calls. A child process made by `fork` has none until it starts its own.
///
/// # Errors
///
/// [`Error::Thread`] if the system has no thread for it.
pub fn start_harvester(harvester: Harvester) -> Result<(), Error> {
    Engine::process().start_harvester(harvester)
}

/// Separates the process's engine from all copies of it: see [`Engine::diverge_from_clones`].
pub fn diverge_from_clones() -> u64 {
    Engine::process().diverge_from_clones()
}

/// The generation of the process's engine: see [`Engine::generation`].
#[must_use]
pub fn generation() -> u64 {
    Engine::process().generation()
}

/// Statistics of the process's engine. They contain no secret. Allocates.
#[must_use]
pub fn stats() -> Stats {
    Engine::process().stats()
}
