//! An engine: sources, pools, nodes and the threads' taps.
//!
//! ```text
//! builder    the settings of an engine, and how it is built
//! read       every read, from the call to the bytes
//! harvester  a thread that gathers noise, so that no reader has to
//! inner      the engine itself: the parts below, all work that needs more than one of them, modes and statistics
//! collector  the pools, mixed data, the seeds for the nodes, and the steps of harvests on readers' calls
//! samples    from a source to the pools
//! nodes      one generator for each NUMA node, how far they are seeded, and the taps of threads and owners
//! ```
//!
//! Each part has its own state and knows only parts below it. [`inner::EngineInner`] has all of them.

mod builder;
mod collector;
mod harvester;
mod inner;
mod nodes;
#[cfg(test)]
mod noise_tests;
mod read;
mod samples;

pub use builder::EngineBuilder;
pub use harvester::Harvester;
pub(crate) use inner::EngineInner;
pub use inner::{HarvesterStats, Mode, Stats, Totals, UnknownMode};
pub(crate) use nodes::OwnedTap;
pub use nodes::{NodeStats, Phase};
pub(crate) use read::Reader;
pub use samples::{PoolStats, SourceStats};

use crate::error::Error;
use crate::numbers::numbers;
use crate::seed_file::SeedFileError;
use core::fmt;
use harvester::{HarvesterHandle, Running};
use read::Unseeded;
use wellspring_core::{Backend, Prf};
use wellspring_os::shared::Shared;
use wellspring_os::thread_state::CurrentThread;

/// An engine. Its clones share it.
///
/// Most programs need none: the functions of the crate's root read from the engine of the process. Build another one for
/// another [`Mode`], [`Prf`] or [`Topology`](crate::Topology), for your own sources, or for a test.
///
/// ```
/// use wellspring::{Engine, Mode, Prf};
/// let engine = Engine::builder().mode(Mode::Concurrent).prf(Prf::ChaCha20).build()?;
/// let mut key = [0u8; 32];
/// engine.try_fill(&mut key)?;
/// # Ok::<(), wellspring::Error>(())
/// ```
///
/// In optimised code no read takes more than 4 KiB of stack: up to 3.1 KiB if it reseeds or is the first in a child
/// process, and 3.4 KiB if it is the first of the process, which makes the engine (measured on x86-64 with AES-256 and
/// ChaCha20 on AVX-512). [`Backend::Aes256Portable`], which is used only where it is asked for, takes more, and so do the
/// sources that you add.
///
/// Every method may be called from any thread, and in a child process after a fork. No read ever repeats bytes that
/// another read returned.
///
/// In a signal handler call only the reads ([`fill`](Self::fill), [`try_fill`](Self::try_fill),
/// [`fill_early`](Self::fill_early), [`bytes`](Self::bytes) and the numbers), [`mix`](Self::mix),
/// [`generation`](Self::generation), [`mode`](Self::mode), [`prf`](Self::prf) and [`backend`](Self::backend). They
/// allocate nothing after the first read of the process, with the default sources. [`builder`](Self::builder),
/// [`stats`](Self::stats) and [`save_seed`](Self::save_seed) allocate, and `save_seed` writes a file: do not call them
/// in a handler.
///
/// A handler may leave a read or a `mix` that it interrupted by `siglongjmp`. No lock or queue stays taken, and no bytes come
/// twice. A read that is left costs its thread one of four depths: the later reads of the thread are slower, and beyond
/// four they take a key for each. A [`LocalRng`](crate::LocalRng) loses the bytes of that read. A handler that
/// interrupts any other method must return.
#[derive(Clone)]
pub struct Engine {
    /// Declared first: its drop joins the thread before `inner` is dropped.
    _harvester: Option<Running>,
    pub(crate) inner: Shared<EngineInner>,
}

impl Engine {
    /// Starts a harvester that lasts as long as the process, unless one runs.
    pub(crate) fn start_harvester(&self, harvester: Harvester) -> Result<(), Error> {
        HarvesterHandle::start(&self.inner, harvester).map(core::mem::forget)
    }

    /// Fills `destination`, of any length. Waits until the engine is seeded with 128 bits.
    ///
    /// An engine without a seed and without a source that yields credited noise never returns; see
    /// [`try_fill`](Self::try_fill).
    ///
    /// # Panics
    ///
    /// If a fast [`Source`](crate::Source) of this engine calls it before the engine is seeded with 128 bits: it would wait
    /// for itself. The engine counts that as an error of the source. Afterwards it is served like any other reader.
    #[inline(always)]
    pub fn fill(&self, destination: &mut [u8]) {
        self.inner
            .fill(Reader::Thread(CurrentThread::find()), destination);
    }

    /// Fills `destination`, of any length. Does not wait.
    ///
    /// # Errors
    ///
    /// [`Error::NotSeeded`] before the engine is seeded with 128 bits; [`Error::SourceReadsEngine`]. `destination` is
    /// then untouched.
    #[inline(always)]
    pub fn try_fill(&self, destination: &mut [u8]) -> Result<(), Error> {
        self.try_fill_with_thread(CurrentThread::find(), destination)
    }

    /// Like [`fill`](Self::fill), on a thread that the caller has found: for the C library, which finds its thread sooner
    /// than `thread_local!` does in a shared library. It waits for the first seed only as long as a source may bring it.
    /// If getrandom(2) is forbidden, a child of a raw clone(2) has no such source, and the call fails.
    ///
    /// # Errors
    ///
    /// [`Error::NotSeeded`]; `destination` is then untouched.
    #[doc(hidden)]
    #[inline(always)]
    pub fn fill_or_fail_with_thread(
        &self,
        thread: CurrentThread,
        destination: &mut [u8],
    ) -> Result<(), Error> {
        self.inner.fill_or_fail(Reader::Thread(thread), destination)
    }

    /// `N` ready bytes of the thread's tap, in registers: the hot path alone. If that fails, the caller takes
    /// [`fill_or_fail_with_thread`](Self::fill_or_fail_with_thread).
    #[doc(hidden)]
    #[must_use]
    #[inline(always)]
    pub fn ready_bytes<const N: usize>(&self, thread: CurrentThread) -> Option<[u8; N]> {
        self.inner.ready_bytes(Reader::Thread(thread))
    }

    /// Like [`try_fill`](Self::try_fill), on a thread that the caller has found.
    ///
    /// # Errors
    ///
    /// Like [`try_fill`](Self::try_fill).
    #[doc(hidden)]
    #[inline(always)]
    pub fn try_fill_with_thread(
        &self,
        thread: CurrentThread,
        destination: &mut [u8],
    ) -> Result<(), Error> {
        self.inner.try_fill(Reader::Thread(thread), destination)
    }

    /// `N` bytes as [`fill`](Self::fill) gives them, in registers, on a thread that the caller has found.
    #[inline(always)]
    pub(crate) fn bytes_with_thread<const N: usize>(&self, thread: CurrentThread) -> [u8; N] {
        self.inner.bytes(Reader::Thread(thread))
    }

    /// Like [`try_fill`](Self::try_fill), but makes a guard, and drops it at the end, unless the bytes are ready in memory.
    ///
    /// For a caller that must leave errno as it was: to take ready bytes makes no system call and does not change errno.
    ///
    /// # Errors
    ///
    /// Like [`try_fill`](Self::try_fill).
    #[inline(always)]
    pub fn try_fill_guarded<G>(
        &self,
        destination: &mut [u8],
        guard: impl FnOnce() -> G,
    ) -> Result<(), Error> {
        /// Apart, so that the hot path keeps no register for the guard.
        #[cold]
        #[inline(never)]
        fn read_guarded<G>(
            engine: &EngineInner,
            reader: Reader<'_>,
            destination: &mut [u8],
            guard: impl FnOnce() -> G,
        ) -> Result<(), Error> {
            let _guard = guard();
            engine.read_slowly(reader, destination, Unseeded::Fail)
        }

        let mut reader = Reader::Thread(CurrentThread::find());
        match self.inner.read_ready(&mut reader, &mut &mut *destination) {
            Some(()) => Ok(()),
            None => read_guarded(&self.inner, reader, destination, guard),
        }
    }

    /// Fills `destination` even before the engine is seeded with 128 bits: in [`Phase::Early`], from node 0. The output
    /// may then be guessed by an attacker who knows the sources. It corresponds to getrandom(2) with `GRND_INSECURE`.
    ///
    /// # Errors
    ///
    /// [`Error::NotSeeded`] in [`Phase::Empty`]; [`Error::SourceReadsEngine`]. `destination` is then untouched.
    pub fn fill_early(&self, destination: &mut [u8]) -> Result<(), Error> {
        self.inner.read_early(destination)
    }

    numbers!([&self,] => &mut &*self, "as good as those of [`fill`](Self::fill)");

    /// `N` random bytes, as secure as from [`fill`](Self::fill). Waits and panics like `fill`.
    #[must_use]
    #[inline]
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    /// Hashes `data` into the pools, without credit. Data from an attacker does no harm: it never causes a reseed, and never
    /// takes the place of a sample of a source.
    ///
    /// It takes effect with a later reseed; with the next one if that is ordered by [`reseed`](Self::reseed). Data of more
    /// than 32 bytes is hashed first, and counts as one call. Up to 64 calls wait for the pools, which take 64 of them
    /// every 100 ms (every 10 ms if 32 or more wait) with a harvester, and else 4 of them every 100 ms of reading. It never
    /// waits: further data is dropped, and so is data that comes while another thread is in the middle of this call;
    /// [`Stats::mixes_dropped`](crate::Stats::mixes_dropped) counts that.
    pub fn mix(&self, data: &[u8]) {
        self.inner.collector.mix(data);
    }

    /// Draws on all fast sources, reseeds every node, and moves every tap to a fresh key at its next read. Returns the new
    /// generation. For an operator who has a reason: the engine reseeds itself.
    ///
    /// After it returned, no read of this engine, on any thread and in any mode, gives a byte that does not depend on the
    /// new seed. The seed depends on all data that [`mix`](Self::mix) took before.
    ///
    /// # Errors
    ///
    /// [`Error::NotSeeded`] if the sources yielded nothing to reseed with: 64 bytes in the first pool; before the engine is
    /// ready, 128 bits of credit in all pools, where less stays for a later seed. Data from [`mix`](Self::mix) does not
    /// count, but every node has taken it in. The generation has still moved, and taps take fresh keys from the present
    /// nodes.
    ///
    /// [`Error::SourceReadsEngine`] if a fast source of this engine calls it. The generation has moved.
    pub fn reseed(&self) -> Result<u64, Error> {
        self.inner.reseed()
    }

    /// Separates this process from all copies of it and of its machine: reseeds every node with the output of the
    /// system, the processor and the clocks at this moment, and moves every tap to a fresh key at its next read.
    /// Returns the new generation.
    ///
    /// Call it in a program that restores a snapshot or a checkpoint and knows it first. An engine does so by itself when
    /// the [generation page](crate::clone_detection) or the hypervisor's clock changes, after a suspend, when the clock
    /// goes back, and with a harvester when the kernel sends its notice. After
    /// this call a deterministic engine is no longer deterministic.
    pub fn diverge_from_clones(&self) -> u64 {
        self.inner.diverge(&[])
    }

    /// The same, with a secret that no copy has: 32 bytes or more that the restoring system made for this copy alone.
    /// Without RDRAND or RNDR and without a notice to the kernel, two copies differ in nothing else but their clocks.
    /// It earns no credit, and is not lost as data of [`mix`](Self::mix) may be.
    pub fn diverge_with(&self, nonce: &[u8]) -> u64 {
        self.inner.diverge(nonce)
    }

    /// Prepares this process for a sandbox that forbids system calls, as strict seccomp(2) does. Afterwards, and in all
    /// children, no read from any engine makes one, on any thread, and neither does a harvest or a reseed that happens on
    /// a reader's call. There is no way back. Call it before you install the filter, and on each thread that will read.
    ///
    /// - Sources that [make system calls](crate::Source::makes_system_calls) are not drawn on: the processor's
    ///   instructions remain. Reseeds go on from them, and take in what [`mix`](Self::mix) gets. So an attacker who reads
    ///   all memory is locked out again only if the attacker does not know the processor's output or the mixed data.
    ///   Without the instructions no reseed becomes due; [`reseed`](Self::reseed) still takes in mixed data.
    /// - Keys of taps take in the processor's output (RDRAND, RNDR) in place of the system's and of the cycle counter: strict
    ///   seccomp(2) makes the instruction that reads the counter end the process. Without RDRAND, on x86, they take in the
    ///   clock's milliseconds.
    /// - The clock is read by the kernel's vDSO, which makes no system call for it. Where the kernel gives a process no
    ///   vDSO, time stands still: reads go on and take fresh keys from their node, but no reseed becomes due.
    /// - Suspends, and generation pages that appear later, are not noticed. A page that is watched already stays watched.
    /// - A thread that has not read before gets a tap only if memory for one is mapped already: up to 8 threads share the
    ///   first mapping. Others, and a [`LocalRng`](crate::LocalRng) that has not read before, may be served by their
    ///   node, without a system call but more slowly.
    /// - Threads that wait for a lock spin.
    /// - A signal handler may read in [`Mode::PerThread`] up to 4 levels deep, and not in other modes. It must not be left
    ///   by `siglongjmp`.
    /// - A child process that is made afterwards has no credited source. The parent seeds a child of fork(3); a child of
    ///   a raw clone(2) is not seeded.
    /// - A harvester is a thread that makes system calls: use a filter for the reading threads alone, or no harvester.
    ///
    /// # Errors
    ///
    /// [`Error::NotSeeded`]; nothing is changed then.
    pub fn prepare_for_sandbox(&self) -> Result<(), Error> {
        self.inner.prepare_for_sandbox()
    }

    /// Writes the [seed file](crate::seed_file) now, from fresh output of every node. An engine does so by itself when
    /// its last handle is dropped, and every ten minutes if it has a harvester.
    ///
    /// # Errors
    ///
    /// The reason why the file was not written. The old file is unchanged.
    pub fn save_seed(&self) -> Result<(), SeedFileError> {
        self.inner.save_seed()
    }

    /// Runs the [self-tests](crate::SelfTest) with the backend of this engine: known answers of SHA-256, of the function and of
    /// Fortuna, and noise that the health tests must refuse. No read runs them: call it where rules ask for it, at the start
    /// and at intervals. It takes no lock and makes no system call.
    ///
    /// # Errors
    ///
    /// [`Error::SelfTest`] if one failed. The engine then no longer writes its seed file. Its reads cannot fail for that
    /// reason: end the process, or hand out nothing more, as the host service does.
    pub fn self_test(&self) -> Result<(), Error> {
        self.inner.self_test()
    }

    /// The generation: 1 at first. Each reseed and each divergence from clones adds 1, and so does a call of
    /// [`reseed`](Self::reseed) that failed because the sources yielded nothing.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.inner.taps.generation()
    }

    /// Starts a source again that its health tests quarantined or disabled: its next 1024 samples are a start-up test.
    /// For an operator who knows what was wrong. Returns whether a source has this name.
    pub fn restart_source(&self, name: &str) -> bool {
        self.inner.collector.restart_source(name)
    }

    /// The read mode.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.inner.mode
    }

    /// The pseudo-random function.
    #[must_use]
    pub fn prf(&self) -> Prf {
        self.backend().prf()
    }

    /// The implementation of the function that this engine runs.
    #[must_use]
    pub fn backend(&self) -> Backend {
        self.inner.nodes.backend()
    }

    /// How far the engine is seeded. It draws nothing.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.inner.nodes.phase()
    }

    /// Statistics of the engine. They contain no secret. Allocates.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.inner.stats()
    }

    /// Sums of the statistics, for the C library: allocates nothing.
    #[doc(hidden)]
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.inner.totals()
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("mode", &self.mode())
            .field("backend", &self.backend())
            .finish_non_exhaustive()
    }
}
