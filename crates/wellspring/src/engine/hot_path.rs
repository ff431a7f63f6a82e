//! The hot path, and the reads that follow when it yields nothing.
//!
//! The hot path takes bytes that are ready in a tap. It yields nothing if too few are ready, if the tap is not current,
//! or if the engine watches words in shared memory that tell of a copy of the machine. Then the caller makes one of the
//! reads below. Each first tries [`take_watching`](Parts::take_watching), then the complete read.

use super::parts::Parts;
use super::taps::{Bytes, Fill, OwnedTap, Take};
use crate::error::Error;
use wellspring_core::tap::SHORT_BYTES;
use wellspring_os::os;
use wellspring_os::thread_state::{CurrentThread, Miss};
use zeroize::Zeroizing;

impl Parts {
    /// Fills `destination`. Waits for the first seed.
    #[inline(always)]
    pub(crate) fn fill(&self, destination: &mut [u8]) {
        if destination.len() > SHORT_BYTES {
            self.fill_long(destination);
        } else if let Err(miss) = self.take(Fill(&mut *destination)) {
            self.read_when_ready(miss, destination);
        }
    }

    /// Not inlined, so that a short read has no call on its hot path, and no registers to keep over one.
    #[inline(never)]
    fn fill_long(&self, destination: &mut [u8]) {
        if let Err(miss) = self.take(Fill(&mut *destination)) {
            self.read_when_ready(miss, destination);
        }
    }

    /// Returns the bytes of a number, in registers. Waits for the first seed.
    #[inline(always)]
    pub(crate) fn number<const N: usize>(&self) -> [u8; N] {
        match self.take(Bytes) {
            Ok(bytes) => bytes,
            Err(miss) => self.number_when_ready(miss),
        }
    }

    /// The hot path: takes ready bytes of the thread's tap. Always a miss if the engine watches words for copies of the
    /// machine: comparing them is left to [`take_watching`](Self::take_watching).
    #[inline(always)]
    pub(crate) fn take<T: Take>(&self, take: T) -> Result<T::Taken, Miss> {
        if self.clones.epoch().is_watching() {
            return Err(Miss::NONE);
        }
        self.taps.take(take)
    }

    /// Like [`take`](Self::take), on a thread that the caller has found.
    #[inline(always)]
    pub(crate) fn take_on<T: Take>(
        &self,
        thread: CurrentThread,
        take: T,
    ) -> Result<T::Taken, Miss> {
        if self.clones.epoch().is_watching() {
            return Err(Miss::NONE);
        }
        self.taps.take_on(thread, take)
    }

    /// Like [`take`](Self::take), from an owned tap.
    #[inline(always)]
    pub(crate) fn take_owned<T: Take>(&self, owned: &mut OwnedTap, take: T) -> Option<T::Taken> {
        if self.clones.epoch().is_watching() {
            return None;
        }
        self.taps.take_owned(owned, take)
    }

    /// Takes ready bytes of the thread's tap if the engine watches words and none of them shows a new copy of the
    /// machine. The words are compared after the bytes were taken: a copy made during the read is noticed too.
    #[inline(always)]
    fn take_watching<T: Take>(&self, take: T) -> Option<T::Taken> {
        let epoch = self.clones.epoch();
        if !epoch.is_watching() {
            return None;
        }
        let handled = epoch.handled();
        match self.taps.take(take) {
            Ok(taken) => (epoch.current() == handled).then_some(taken),
            Err(miss) => {
                self.taps.settle(miss);
                None
            }
        }
    }

    /// Like [`take_watching`](Self::take_watching), from an owned tap.
    #[inline(always)]
    fn take_owned_watching<T: Take>(&self, owned: &mut OwnedTap, take: T) -> Option<T::Taken> {
        let epoch = self.clones.epoch();
        if !epoch.is_watching() {
            return None;
        }
        let handled = epoch.handled();
        let taken = self.taps.take_owned(owned, take);
        taken.filter(|_| epoch.current() == handled)
    }

    /// Makes any read, after a miss. Does not wait for the first seed.
    #[cold]
    #[inline(never)]
    pub(crate) fn read(&self, miss: Miss, destination: &mut [u8]) -> Result<(), Error> {
        self.taps.settle(miss);
        if self.take_watching(Fill(&mut *destination)).is_some() {
            return Ok(());
        }
        self.read_slowly(destination)
    }

    /// Makes any read, after a miss. Waits for the first seed.
    #[cold]
    #[inline(never)]
    pub(crate) fn read_when_ready(&self, miss: Miss, destination: &mut [u8]) {
        self.taps.settle(miss);
        if self.take_watching(Fill(&mut *destination)).is_none() {
            self.read_slowly_when_ready(destination);
        }
    }

    /// Returns the bytes of a number, after a miss. Waits for the first seed.
    #[cold]
    #[inline(never)]
    pub(crate) fn number_when_ready<const N: usize>(&self, miss: Miss) -> [u8; N] {
        self.taps.settle(miss);
        if let Some(bytes) = self.take_watching(Bytes) {
            return bytes;
        }
        let mut bytes = Zeroizing::new([0; N]);
        self.read_slowly_when_ready(&mut *bytes);
        *bytes
    }

    /// Like [`number_when_ready`](Self::number_when_ready), from an owned tap.
    #[cold]
    #[inline(never)]
    pub(crate) fn owned_number_when_ready<const N: usize>(&self, owned: &mut OwnedTap) -> [u8; N] {
        if let Some(bytes) = self.take_owned_watching(owned, Bytes) {
            return bytes;
        }
        let mut bytes = Zeroizing::new([0; N]);
        wait_until_ready(|| self.read_owned_inlined(owned, &mut *bytes));
        *bytes
    }

    /// Makes any read of an owned tap, after a miss. Does not wait for the first seed.
    #[cold]
    #[inline(never)]
    pub(crate) fn read_owned(
        &self,
        owned: &mut OwnedTap,
        destination: &mut [u8],
    ) -> Result<(), Error> {
        let taken = self.take_owned_watching(owned, Fill(&mut *destination));
        if taken.is_some() {
            return Ok(());
        }
        self.read_owned_inlined(owned, destination)
    }

    /// Makes any read of an owned tap, after a miss. Waits for the first seed.
    #[cold]
    #[inline(never)]
    pub(crate) fn read_owned_when_ready(&self, owned: &mut OwnedTap, destination: &mut [u8]) {
        let taken = self.take_owned_watching(owned, Fill(&mut *destination));
        if taken.is_none() {
            wait_until_ready(|| self.read_owned_inlined(owned, destination));
        }
    }
}

impl Parts {
    /// Not inlined: a number of any size is read by it, and each program has it once.
    #[inline(never)]
    fn read_slowly_when_ready(&self, destination: &mut [u8]) {
        wait_until_ready(|| self.read_slowly(destination));
    }
}

/// Repeats a read until the engine is ready.
#[inline(always)]
fn wait_until_ready(mut read: impl FnMut() -> Result<(), Error>) {
    loop {
        match read() {
            Ok(()) => return,
            // Waiting would never end: this thread is the one that must seed the engine.
            Err(error @ Error::SourceReadsEngine) => panic!("wellspring: {error}"),
            Err(_) => os::pause(),
        }
    }
}
