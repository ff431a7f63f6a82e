//! A read, from the call to the bytes.
//!
//! ```text
//! read -> take               ready bytes of a current tap: the hot path
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
use super::taps::{KeySupply, OwnedTap, OwnedTapStorage, Taps};
use crate::error::Error;
use crate::mode::Mode;
use wellspring_core::tap::{Refill, SHORT_BYTES, Tap};
use wellspring_os::inheritance::SECRET_BYTES;
use wellspring_os::signals::SignalsBlocked;
use wellspring_os::thread_state::{CurrentThread, Epoch};
use wellspring_os::{os, sandbox, stack};
use zeroize::Zeroizing;

/// A read is repeated if the machine was copied while it ran. After 4 tries it returns its last bytes, even if the
/// machine was copied again.
const MAX_READS: usize = 4;

/// The way of a read while the engine is not seeded with 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unseeded {
    Wait,
    Fail,
}

/// Whose tap a read takes its bytes from.
pub(crate) trait TapHandle {
    /// Whether its reads are in the mode of the engine. Else they are in [`Mode::PerThread`].
    const FOLLOWS_MODE: bool;

    /// Takes ready bytes, and says in which epoch the tap is current. `None` if it is not, or has too few.
    fn take<S: Sink>(&mut self, taps: &Taps, sink: &mut S) -> Option<(S::Taken, Epoch)>;

    /// Whether the last read made the tap current. It may be out of date since.
    fn was_current(&self) -> bool;

    /// Makes any read from the tap, which then is current if `stays_current`. `None` if there is no tap: the read is
    /// nested deeper than 4 levels, the system has no memory, or the thread is ending.
    fn read(
        &mut self,
        taps: &Taps,
        supply: &impl KeySupply,
        refill: Refill,
        stays_current: bool,
        destination: &mut [u8],
    ) -> Option<Result<(), Error>>;
}

/// The tap of this thread at its present depth. On the hot path the outermost one.
impl TapHandle for CurrentThread {
    const FOLLOWS_MODE: bool = true;

    #[inline(always)]
    fn take<S: Sink>(&mut self, taps: &Taps, sink: &mut S) -> Option<(S::Taken, Epoch)> {
        let mut read = taps.threads.try_current(*self)?;
        let taken = sink.take_from(&mut read.state().0);
        let epoch = read.end()?;
        Some((taken?, epoch))
    }

    #[inline(always)]
    fn was_current(&self) -> bool {
        CurrentThread::was_current(*self)
    }

    #[inline(always)]
    fn read(
        &mut self,
        taps: &Taps,
        supply: &impl KeySupply,
        refill: Refill,
        stays_current: bool,
        destination: &mut [u8],
    ) -> Option<Result<(), Error>> {
        let epoch = taps.epoch();
        let node = || supply.node();
        taps.threads.try_with(node, |state| {
            taps.read(state, supply, refill, destination)?;
            if stays_current {
                state.mark_current(epoch);
            } else {
                state.mark_stale();
            }
            Ok(())
        })
    }
}

impl TapHandle for &mut OwnedTap {
    const FOLLOWS_MODE: bool = false;

    #[inline(always)]
    fn take<S: Sink>(&mut self, taps: &Taps, sink: &mut S) -> Option<(S::Taken, Epoch)> {
        let mut read = self.try_current(&taps.threads)?;
        let taken = sink.take_from(&mut read.state().0);
        let epoch = read.end()?;
        Some((taken?, epoch))
    }

    #[inline(always)]
    fn was_current(&self) -> bool {
        OwnedTap::was_current(self)
    }

    #[inline(always)]
    fn read(
        &mut self,
        taps: &Taps,
        supply: &impl KeySupply,
        refill: Refill,
        stays_current: bool,
        destination: &mut [u8],
    ) -> Option<Result<(), Error>> {
        let epoch = taps.epoch();
        let node = || supply.node();
        let read = self.with(node, |tap, vdso| {
            let mut storage = OwnedTapStorage {
                tap: &mut tap.0,
                vdso,
            };
            taps.read(&mut storage, supply, refill, destination)
        })?;
        if read.is_ok() && stays_current {
            self.mark_current(epoch);
        } else {
            self.mark_stale();
        }
        Some(read)
    }
}

/// Where a read puts its bytes.
pub(crate) trait Sink {
    type Taken;

    /// Takes ready bytes. `None` if the tap has too few.
    fn take_from<const BUFFER_BYTES: usize>(
        &mut self,
        tap: &mut Tap<BUFFER_BYTES>,
    ) -> Option<Self::Taken>;

    /// Lets `fill` fill all of it.
    fn fill_by(self, fill: impl FnOnce(&mut [u8])) -> Self::Taken;
}

/// The caller's memory.
impl Sink for &mut [u8] {
    type Taken = ();

    #[inline(always)]
    fn take_from<const BUFFER_BYTES: usize>(&mut self, tap: &mut Tap<BUFFER_BYTES>) -> Option<()> {
        tap.take(self).then_some(())
    }

    #[inline(always)]
    fn fill_by(self, fill: impl FnOnce(&mut [u8])) {
        fill(self);
    }
}

/// Registers, for `N` bytes.
pub(crate) struct Registers<const N: usize>;

impl<const N: usize> Sink for Registers<N> {
    type Taken = [u8; N];

    #[inline(always)]
    fn take_from<const BUFFER_BYTES: usize>(
        &mut self,
        tap: &mut Tap<BUFFER_BYTES>,
    ) -> Option<[u8; N]> {
        tap.take_bytes()
    }

    #[inline(always)]
    fn fill_by(self, fill: impl FnOnce(&mut [u8])) -> [u8; N] {
        let mut bytes = Zeroizing::new([0; N]);
        fill(&mut *bytes);
        *bytes
    }
}

impl EngineInner {
    /// Reads. Waits for the first seed.
    #[inline(always)]
    pub(crate) fn read<H: TapHandle, S: Sink>(&self, mut handle: H, mut sink: S) -> S::Taken {
        match self.take(&mut handle, &mut sink) {
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
        match self.take(&mut handle, &mut &mut *destination) {
            Some(()) => Ok(()),
            None => self.read_slowly(handle, destination, Unseeded::Fail),
        }
    }

    /// The hot path: takes ready bytes of the tap. `None` if the tap is not current, if it has too few bytes, or if a
    /// watched word tells of a copy of the machine.
    ///
    /// The words are compared after the bytes were taken: so a copy that is made during the read is noticed too. If
    /// another thread has handled it by then, the taps are in another epoch. Where no word is watched this is all that a
    /// read does for them: it asks whether one is, and keeps no register for that.
    #[inline(always)]
    pub(super) fn take<H: TapHandle, S: Sink>(
        &self,
        handle: &mut H,
        sink: &mut S,
    ) -> Option<S::Taken> {
        let (taken, epoch) = handle.take(&self.taps, sink)?;
        let words = &self.clones.words;
        if words.are_watched() && (words.sum() != words.handled() || !self.taps.is_in(epoch)) {
            return None;
        }
        Some(taken)
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
        self.unless_copied(|| {
            loop {
                match self.read_once(&mut handle, destination) {
                    Err(Error::NotSeeded) if unseeded == Unseeded::Wait => os::pause(),
                    result => return result,
                }
            }
        })
    }

    /// A read that node 0 may serve before 128 bits were credited.
    pub(super) fn read_early(&self, destination: &mut [u8]) -> Result<(), Error> {
        if self.nodes.phase() == Phase::Ready {
            return self.try_fill(CurrentThread::find(), destination);
        }
        self.unless_copied(|| self.nodes.read_reserved(0, Phase::Early, self, destination))
    }

    /// Reads after every known copy was handled; and again, if the machine was copied during the read.
    #[inline(always)]
    fn unless_copied(&self, mut read: impl FnMut() -> Result<(), Error>) -> Result<(), Error> {
        for _ in 0..MAX_READS {
            let handled = self.handle_clones();
            read()?;
            let words = &self.clones.words;
            // Where nothing is watched, no word is loaded again: fewer instructions follow the last fork check.
            if !words.are_watched() || words.sum() == handled {
                break;
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn read_once<H: TapHandle>(&self, handle: &mut H, destination: &mut [u8]) -> Result<(), Error> {
        let step = self.harvest_if_due(handle.was_current());
        let node = match self.mode {
            Mode::Canonical if H::FOLLOWS_MODE => {
                return self.nodes.read_canonical(self, destination);
            }
            Mode::Concurrent if H::FOLLOWS_MODE => 0,
            Mode::PerNode if H::FOLLOWS_MODE => self.nodes.local(),
            _ => {
                let refill = match step {
                    HarvestedStep::Made => Refill::Short,
                    HarvestedStep::None | HarvestedStep::LeftToNextRead => Refill::Whole,
                };
                let stays_current = step != HarvestedStep::LeftToNextRead;
                let read = handle.read(&self.taps, self, refill, stays_current, destination);
                if let Some(result) = read {
                    return result;
                }
                // No tap: a key for this read alone.
                self.nodes.local()
            }
        };
        self.nodes
            .read_reserved(node, Phase::Ready, self, destination)
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

/// Where taps get their keys: the node of this CPU.
impl KeySupply for EngineInner {
    fn node(&self) -> u32 {
        self.nodes.local() as u32
    }

    #[inline(never)]
    fn fetch_keys(&self, keys: &mut [u8], signals: &SignalsBlocked) -> Result<(), Error> {
        let fetched = self
            .nodes
            .fetch_keys(self.nodes.local(), self, keys, signals);
        stack::erase_below();
        fetched
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
