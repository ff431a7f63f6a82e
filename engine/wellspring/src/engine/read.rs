//! A read, from the call to the bytes.
//!
//! ```text
//! read -> read_ready         ready bytes of a current tap: the hot path
//!      -> read_slowly        any other read; again if the machine was copied meanwhile
//!           -> read_once     a step of a harvest if one is due; then the tap, or a node
//! ```
//!
//! A [`TapHandle`] says whose tap: that of a thread, or an owned one. A [`Sink`] says where the bytes go: to memory, or to
//! registers.

use super::inherited;
use super::inline_harvest::HarvestedStep;
use super::inner::EngineInner;
use super::nodes::SeedEngine;
use super::phase::Phase;
use super::sink::Sink;
use super::taps::{OwnedTap, OwnedTapStorage, Taps};
use crate::error::Error;
use crate::mode::Mode;
use wellspring_core::tap::{Refill, SHORT_BYTES};
use wellspring_os::inheritance::SECRET_BYTES;
use wellspring_os::signals::SignalsBlocked;
use wellspring_os::thread_state::CurrentThread;
use wellspring_os::{os, sandbox, stack};

/// A read is repeated if the machine was copied while it ran. After 4 tries it returns its last bytes, even if the
/// machine was copied again.
const MAX_READS: usize = 4;

/// The way of a read while the engine is not seeded with 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unseeded {
    Wait,
    /// Waits for sources that may yield later: the system's generator, early in the boot of a machine. Fails if none of them
    /// can, as where a filter of system calls refuses getrandom(2).
    WaitForSources,
    Fail,
}

/// Whose tap a read takes its bytes from.
pub(crate) trait TapHandle {
    /// Whether its reads are in the mode of the engine. Else they are in [`Mode::PerThread`].
    const FOLLOWS_MODE: bool;

    /// Takes ready bytes. `None` if the tap is not current, or has too few.
    fn serve_ready<S: Sink>(&mut self, taps: &Taps, sink: &mut S) -> Option<S::Taken>;

    /// The sum of the watched words that was handled before the tap was made current.
    fn handled(&self) -> u64;

    /// Whether the last read made the tap current. It may be out of date since.
    fn was_current(&self) -> bool;

    /// Makes any read from the tap, which then is current if there is a sum of the watched words that was `handled` before,
    /// and else not. `None` if there is no tap: the read is
    /// nested deeper than 4 levels, the system has no memory, or the thread is ending.
    fn serve(
        &mut self,
        engine: &EngineInner,
        refill: Refill,
        handled: Option<u64>,
        destination: &mut [u8],
    ) -> Option<Result<(), Error>>;
}

/// The tap of this thread at its present depth. On the hot path the outermost one.
impl TapHandle for CurrentThread {
    const FOLLOWS_MODE: bool = true;

    #[inline(always)]
    fn serve_ready<S: Sink>(&mut self, taps: &Taps, sink: &mut S) -> Option<S::Taken> {
        let mut read = taps.threads.try_current(*self)?;
        let taken = sink.take_from(&mut read.state().0)?;
        read.end().map(|()| taken)
    }

    #[inline(always)]
    fn handled(&self) -> u64 {
        CurrentThread::handled(*self)
    }

    #[inline(always)]
    fn was_current(&self) -> bool {
        CurrentThread::was_current(*self)
    }

    #[inline(always)]
    fn serve(
        &mut self,
        engine: &EngineInner,
        refill: Refill,
        handled: Option<u64>,
        destination: &mut [u8],
    ) -> Option<Result<(), Error>> {
        let taps = &engine.taps;
        let epoch = taps.threads.epoch();
        let fetch_keys = |keys: &mut _, signals: &_| engine.fetch_keys(keys, signals);
        taps.threads.try_with(
            || engine.nodes.local() as u32,
            |state| {
                taps.serve(state, fetch_keys, refill, destination)?;
                match handled {
                    Some(sum) => state.mark_current(epoch, sum),
                    None => state.mark_stale(),
                }
                Ok(())
            },
        )
    }
}

impl TapHandle for &mut OwnedTap {
    const FOLLOWS_MODE: bool = false;

    #[inline(always)]
    fn serve_ready<S: Sink>(&mut self, taps: &Taps, sink: &mut S) -> Option<S::Taken> {
        let mut read = self.try_current(&taps.threads)?;
        let taken = sink.take_from(&mut read.state().0)?;
        read.end().map(|()| taken)
    }

    #[inline(always)]
    fn handled(&self) -> u64 {
        OwnedTap::handled(self)
    }

    #[inline(always)]
    fn was_current(&self) -> bool {
        OwnedTap::was_current(self)
    }

    #[inline(always)]
    fn serve(
        &mut self,
        engine: &EngineInner,
        refill: Refill,
        handled: Option<u64>,
        destination: &mut [u8],
    ) -> Option<Result<(), Error>> {
        let epoch = engine.taps.threads.epoch();
        let fetch_keys = |keys: &mut _, signals: &_| engine.fetch_keys(keys, signals);
        let read = self.with(
            || engine.nodes.local() as u32,
            |tap, vdso| {
                let mut storage = OwnedTapStorage {
                    tap: &mut tap.0,
                    vdso,
                };
                engine
                    .taps
                    .serve(&mut storage, fetch_keys, refill, destination)
            },
        )?;
        match handled.filter(|_| read.is_ok()) {
            Some(sum) => self.mark_current(epoch, sum),
            None => self.mark_stale(),
        }
        Some(read)
    }
}

impl EngineInner {
    /// Reads. Waits for the first seed.
    #[inline(always)]
    pub(crate) fn read<H: TapHandle, S: Sink>(&self, mut handle: H, mut sink: S) -> S::Taken {
        match self.read_ready(&mut handle, &mut sink) {
            Some(taken) => taken,
            None => self.read_when_ready(handle, sink),
        }
    }

    /// Fills `destination`. Waits for the first seed.
    #[inline(always)]
    pub(crate) fn fill<H: TapHandle>(&self, handle: H, destination: &mut [u8]) {
        if destination.len() > SHORT_BYTES {
            self.fill_long(handle, destination);
        } else {
            self.read(handle, destination);
        }
    }

    /// Fills `destination`. Waits for the first seed as long as a source may bring it.
    #[inline(always)]
    pub(crate) fn fill_or_fail<H: TapHandle>(
        &self,
        handle: H,
        destination: &mut [u8],
    ) -> Result<(), Error> {
        if destination.len() > SHORT_BYTES {
            self.fill_long_or_fail(handle, destination)
        } else {
            self.fill_short_or_fail(handle, destination)
        }
    }

    #[inline(always)]
    fn fill_short_or_fail<H: TapHandle>(
        &self,
        mut handle: H,
        destination: &mut [u8],
    ) -> Result<(), Error> {
        match self.read_ready(&mut handle, &mut &mut *destination) {
            Some(()) => Ok(()),
            None => self.read_slowly(handle, destination, Unseeded::WaitForSources),
        }
    }

    /// Apart for the reason that [`fill_long`](Self::fill_long) has.
    #[inline(never)]
    fn fill_long_or_fail<H: TapHandle>(
        &self,
        handle: H,
        destination: &mut [u8],
    ) -> Result<(), Error> {
        self.fill_short_or_fail(handle, destination)
    }

    /// Not inlined, so that a short read has no call on its hot path, and no registers to keep over one.
    #[inline(never)]
    fn fill_long<H: TapHandle>(&self, handle: H, destination: &mut [u8]) {
        self.read(handle, destination);
    }

    /// Fills `destination`. Does not wait for the first seed.
    #[inline(always)]
    pub(crate) fn try_fill<H: TapHandle>(
        &self,
        mut handle: H,
        destination: &mut [u8],
    ) -> Result<(), Error> {
        match self.read_ready(&mut handle, &mut &mut *destination) {
            Some(()) => Ok(()),
            None => self.read_slowly(handle, destination, Unseeded::Fail),
        }
    }

    /// The hot path: takes ready bytes of the tap. `None` if the tap is not current, if it has too few bytes, or if a
    /// watched word tells of a copy of the machine.
    ///
    /// The words are compared after the bytes were taken, with the sum that was handled before the tap was made current: so a
    /// copy that is made during the read is noticed too, also if another thread has handled it by then.
    #[inline(always)]
    pub(crate) fn read_ready<H: TapHandle, S: Sink>(
        &self,
        handle: &mut H,
        sink: &mut S,
    ) -> Option<S::Taken> {
        let taken = handle.serve_ready(&self.taps, sink)?;
        let sum = self.clones.words.watched_sum();
        let is_handled = sum.is_none_or(|sum| sum == handle.handled());
        is_handled.then_some(taken)
    }

    /// Makes any read. Waits for the first seed.
    #[cold]
    #[inline(never)]
    fn read_when_ready<H: TapHandle, S: Sink>(&self, handle: H, sink: S) -> S::Taken {
        sink.fill_by(|destination| {
            if let Err(error) = self.read_slowly(handle, destination, Unseeded::Wait) {
                // Waiting would never end: this thread is the one that must seed the engine.
                panic!("wellspring: {error}");
            }
        })
    }

    /// Makes any read.
    ///
    /// The functions that it calls are inlined, so that few instructions follow the last fork check: a fork in them, by a
    /// signal handler, gives parent and child the same bytes.
    #[cold]
    #[inline(never)]
    pub(crate) fn read_slowly<H: TapHandle>(
        &self,
        mut handle: H,
        destination: &mut [u8],
        unseeded: Unseeded,
    ) -> Result<(), Error> {
        self.unless_copied(|handled| {
            loop {
                match self.read_once(&mut handle, handled, destination) {
                    Err(Error::NotSeeded) if self.waits(unseeded) => os::pause(),
                    result => return result,
                }
            }
        })
    }

    /// Whether a read that found no seed waits for one.
    #[cold]
    fn waits(&self, unseeded: Unseeded) -> bool {
        match unseeded {
            Unseeded::Wait => true,
            Unseeded::WaitForSources => self.collector.may_be_seeded(),
            Unseeded::Fail => false,
        }
    }

    /// A read that node 0 may serve before 128 bits were credited.
    pub(super) fn read_early(&self, destination: &mut [u8]) -> Result<(), Error> {
        if self.nodes.phase() == Phase::Ready {
            return self.try_fill(CurrentThread::find(), destination);
        }
        self.unless_copied(|_| {
            self.nodes
                .generate_reserved(0, Phase::Early, self, destination)
        })
    }

    /// Reads after every known copy was handled, with the sum of the words; and again, if there was a copy meanwhile.
    #[inline(always)]
    fn unless_copied(&self, mut read: impl FnMut(u64) -> Result<(), Error>) -> Result<(), Error> {
        for _ in 0..MAX_READS {
            let handled = self.handle_clones();
            read(handled)?;
            // Where nothing is watched, no word is loaded: fewer instructions follow the last fork check.
            let sum = self.clones.words.watched_sum();
            if sum.is_none_or(|sum| sum == handled) {
                break;
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn read_once<H: TapHandle>(
        &self,
        handle: &mut H,
        handled: u64,
        destination: &mut [u8],
    ) -> Result<(), Error> {
        let step = self.harvest_if_due(handle.was_current());
        let node = match self.mode {
            Mode::Canonical if H::FOLLOWS_MODE => {
                return self.nodes.generate_canonical(self, destination);
            }
            Mode::Concurrent if H::FOLLOWS_MODE => 0,
            Mode::PerNode if H::FOLLOWS_MODE => self.nodes.local(),
            _ => {
                let refill = match step {
                    HarvestedStep::Made => Refill::Short,
                    HarvestedStep::None | HarvestedStep::LeftToNextRead => Refill::Whole,
                };
                let handled = (step != HarvestedStep::LeftToNextRead).then_some(handled);
                let read = handle.serve(self, refill, handled, destination);
                if let Some(result) = read {
                    return result;
                }
                // No tap: a key for this read alone.
                self.nodes.local()
            }
        };
        self.nodes
            .generate_reserved(node, Phase::Ready, self, destination)
    }

    /// Fetches keys for taps from the node of this CPU.
    #[inline(never)]
    fn fetch_keys(&self, keys: &mut [u8], signals: &SignalsBlocked) -> Result<(), Error> {
        let fetched = self
            .nodes
            .fetch_keys(self.nodes.local(), self, keys, signals);
        stack::erase_below();
        fetched
    }

    /// Draws what fork(3) gives to a child.
    pub(crate) fn draw_for_child(&self, secret: &mut [u8; SECRET_BYTES]) -> bool {
        if self.nodes.phase() == Phase::Ready {
            let thread = CurrentThread::find();
            self.read_slowly(thread, secret, Unseeded::Fail).is_ok()
        } else {
            // A child that has drawn nothing yet passes on what it has from its own parent.
            inherited::next_secret(secret)
        }
    }

    /// After this the reads of the calling thread make no system call.
    pub(super) fn prepare_for_sandbox(&self) -> Result<(), Error> {
        let read = || self.read_slowly(CurrentThread::find(), &mut [0], Unseeded::Fail);
        // The second read takes keys of a new generation, for every depth: later each depth takes its own.
        read()?;
        self.taps.announce();
        read()?;
        sandbox::prepare();
        Ok(())
    }
}

impl SeedEngine for EngineInner {
    #[cold]
    #[inline(never)]
    fn seed_engine(&self, need: Phase, signals: &SignalsBlocked) -> Result<(), Error> {
        let seeded = self.collector.seed(need, self.seed_target(), signals);
        stack::erase_below();
        seeded
    }
}
