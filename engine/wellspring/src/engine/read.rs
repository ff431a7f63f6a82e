//! A read, from the call to the bytes.
//!
//! ```text
//! fill, bytes -> read_ready       ready bytes of a current tap: the hot path
//!             -> read_slowly      any other read; again if the machine was copied meanwhile
//!                  -> read_once   a step of a harvest if one is due; then the tap, or a node
//!                       -> read_from_thread, read_from_owned   a new key if the tap is of another generation; Taps::serve
//!                       -> read_from_node                      bytes of the node's key
//! ```
//!
//! A [`Reader`] names the tap: a thread's, or an owned one. A [`Sink`] says where ready bytes go: to memory, or to
//! registers.
//!
//! # Why one comparison is enough on the hot path
//!
//! The hot path compares one number, the generation of [`ThreadStates`](wellspring_os::thread_state::ThreadStates), with the
//! generation that the last read marked its tap with. If they are equal the tap is *current*, and the hot path takes from a
//! current tap only.
//!
//! - **A reseed, by the engine, after a copy of the machine or by an operator**: each ends with [`Taps::announce`], which
//!   bumps the generation when the new seed can be seen. A read off the hot path uses the opposite order: it loads the
//!   generation, then fetches a key, and marks its tap with the generation that it loaded. So a current tap has a key that
//!   was drawn after every seed announced so far (`engine/os/tests/loom.rs`).
//! - **A fork**: the child's tap is wiped and has no bytes. A fork during the read, by a signal handler, changes the
//!   serial of the slot, which the read compares after it took the bytes.
//! - **A nested read**, in a signal handler: during a read the thread's taps are marked with a number that no generation
//!   has.
//! - **Another engine**: no two engines ever have the same generation.
//! - **Another mode**: its reads put no bytes into a tap.
//!
//! Only a copy of the machine during the read needs a second comparison, after the bytes were taken: the sum of the watched
//! words has changed since it was handled, before the tap was made current.
//!
//! [`Taps::announce`]: super::nodes::Taps::announce

use super::collector::HarvestedStep;
use super::collector::next_secret;
use super::inner::{EngineInner, Mode};
use super::nodes::{NestedTap, OutermostTap, OwnedTap, Phase, tap_of};
use crate::error::Error;
use wellspring_core::generator::Reservation;
use wellspring_core::tap::{NO_GENERATION, Refill, SHORT_BYTES, Tap, TapFields};
use wellspring_core::{KEY_BYTES, wipe};
use wellspring_os::inheritance::SECRET_BYTES;
use wellspring_os::signals::SignalsBlocked;
use wellspring_os::thread_state::{CurrentThread, DEPTHS, ThreadRead};
use wellspring_os::{memory, os, sandbox};
use zeroize::Zeroizing;

/// A read is repeated if the machine was copied while it ran. After 4 tries it returns its last bytes, even if the
/// machine was copied again.
const MAX_READS: usize = 4;

/// The way of a read while the engine is not seeded with 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unseeded {
    Wait,
    /// Waits for sources that may yield later: the system's generator, early in the boot of a machine. Fails if no source
    /// can, for example if a filter of system calls refuses getrandom(2).
    WaitForSources,
    Fail,
}

/// Whose tap a read takes its bytes from.
pub(crate) enum Reader<'a> {
    /// The thread's, at its present depth; on the hot path the outermost one. It reads in the mode of the engine.
    Thread(CurrentThread),
    /// It reads in [`Mode::PerThread`].
    Owned(&'a mut OwnedTap),
}

impl Reader<'_> {
    /// Whether the last read made the tap current. It may be out of date since.
    #[inline(always)]
    fn was_current(&self) -> bool {
        match self {
            Self::Thread(thread) => thread.was_current(),
            Self::Owned(tap) => tap.was_current(),
        }
    }
}

/// A place for ready bytes.
pub(crate) trait Sink {
    type Taken;

    /// Takes them. `None` if the tap has too few.
    fn take_from<const BUFFER_BYTES: usize>(
        &mut self,
        tap: &mut Tap<BUFFER_BYTES>,
    ) -> Option<Self::Taken>;
}

/// The caller's memory.
impl Sink for &mut [u8] {
    type Taken = ();

    #[inline(always)]
    fn take_from<const BUFFER_BYTES: usize>(&mut self, tap: &mut Tap<BUFFER_BYTES>) -> Option<()> {
        tap.take(self).then_some(())
    }
}

/// Registers, for `N` bytes.
pub(super) struct Registers<const N: usize>;

impl<const N: usize> Sink for Registers<N> {
    type Taken = [u8; N];

    #[inline(always)]
    fn take_from<const BUFFER_BYTES: usize>(
        &mut self,
        tap: &mut Tap<BUFFER_BYTES>,
    ) -> Option<[u8; N]> {
        tap.take_bytes()
    }
}

/// Two registers, for 16 bytes: as an array they would go through the stack four times.
struct TwoRegisters;

impl Sink for TwoRegisters {
    type Taken = (u64, u64);

    #[inline(always)]
    fn take_from<const BUFFER_BYTES: usize>(
        &mut self,
        tap: &mut Tap<BUFFER_BYTES>,
    ) -> Option<(u64, u64)> {
        tap.take_bytes().map(words)
    }
}

#[inline(always)]
fn words(bytes: [u8; 16]) -> (u64, u64) {
    let number = u128::from_le_bytes(bytes);
    (number as u64, (number >> 64) as u64)
}

/// The reads of the public interface.
impl EngineInner {
    /// Fills `destination`. Waits for the first seed.
    #[inline(always)]
    pub(crate) fn fill(&self, reader: Reader<'_>, destination: &mut [u8]) {
        if destination.len() <= SHORT_BYTES {
            return self.fill_any(reader, destination);
        }
        match reader {
            Reader::Thread(thread) => self.fill_long(thread, destination),
            Reader::Owned(tap) => self.fill_long_owned(tap, destination),
        }
    }

    /// Not inlined, so that a short read has no call on its hot path, and no registers to keep over one.
    #[inline(never)]
    fn fill_long(&self, thread: CurrentThread, destination: &mut [u8]) {
        self.fill_any(Reader::Thread(thread), destination);
    }

    #[inline(never)]
    fn fill_long_owned(&self, tap: &mut OwnedTap, destination: &mut [u8]) {
        self.fill_any(Reader::Owned(tap), destination);
    }

    #[inline(always)]
    fn fill_any(&self, mut reader: Reader<'_>, destination: &mut [u8]) {
        match self.read_ready(&mut reader, &mut &mut *destination) {
            Some(()) => {}
            None => self.read_when_ready(reader, destination),
        }
    }

    /// Fills `destination`. Waits for the first seed as long as a source may bring it.
    #[inline(always)]
    pub(crate) fn fill_or_fail(
        &self,
        reader: Reader<'_>,
        destination: &mut [u8],
    ) -> Result<(), Error> {
        if destination.len() <= SHORT_BYTES {
            return self.try_fill_any(reader, destination, Unseeded::WaitForSources);
        }
        match reader {
            Reader::Thread(thread) => self.fill_long_or_fail(thread, destination),
            Reader::Owned(tap) => self.fill_long_owned_or_fail(tap, destination),
        }
    }

    /// Apart for the reason that [`fill_long`](Self::fill_long) has.
    #[inline(never)]
    fn fill_long_or_fail(
        &self,
        thread: CurrentThread,
        destination: &mut [u8],
    ) -> Result<(), Error> {
        self.try_fill_any(
            Reader::Thread(thread),
            destination,
            Unseeded::WaitForSources,
        )
    }

    #[inline(never)]
    fn fill_long_owned_or_fail(
        &self,
        tap: &mut OwnedTap,
        destination: &mut [u8],
    ) -> Result<(), Error> {
        self.try_fill_any(Reader::Owned(tap), destination, Unseeded::WaitForSources)
    }

    /// Fills `destination`. Does not wait for the first seed.
    #[inline(always)]
    pub(crate) fn try_fill(&self, reader: Reader<'_>, destination: &mut [u8]) -> Result<(), Error> {
        self.try_fill_any(reader, destination, Unseeded::Fail)
    }

    #[inline(always)]
    fn try_fill_any(
        &self,
        mut reader: Reader<'_>,
        destination: &mut [u8],
        unseeded: Unseeded,
    ) -> Result<(), Error> {
        match self.read_ready(&mut reader, &mut &mut *destination) {
            Some(()) => Ok(()),
            None => self.read_slowly(reader, destination, unseeded),
        }
    }

    /// Ready bytes in registers: the hot path alone.
    #[inline(always)]
    pub(crate) fn ready_bytes<const N: usize>(&self, mut reader: Reader<'_>) -> Option<[u8; N]> {
        self.read_ready(&mut reader, &mut Registers)
    }

    /// Bytes in registers. Waits for the first seed.
    #[inline(always)]
    pub(crate) fn bytes<const N: usize>(&self, mut reader: Reader<'_>) -> [u8; N] {
        match self.read_ready(&mut reader, &mut Registers) {
            Some(bytes) => bytes,
            None => self.bytes_slowly(reader),
        }
    }

    /// 16 bytes in two registers. Waits for the first seed.
    #[inline(always)]
    pub(crate) fn two_words(&self, mut reader: Reader<'_>) -> (u64, u64) {
        match self.read_ready(&mut reader, &mut TwoRegisters) {
            Some(words) => words,
            None => words(self.bytes_slowly(reader)),
        }
    }

    #[cold]
    #[inline(never)]
    fn bytes_slowly<const N: usize>(&self, reader: Reader<'_>) -> [u8; N] {
        let mut bytes = Zeroizing::new([0; N]);
        self.read_when_ready(reader, &mut *bytes);
        *bytes
    }
}

/// The way of a read.
impl EngineInner {
    /// The hot path: takes ready bytes of the tap. `None` if the tap is not current, if it has too few bytes, or if a
    /// watched word tells of a copy of the machine.
    ///
    /// The words are compared after the bytes were taken, with the sum that was handled before the tap was made current: so a
    /// copy during the read is noticed too, even if another thread has handled it by then. That sum is loaded before the read
    /// ends: a signal handler behind the end may read itself, handle the copy and make the tap current anew.
    #[inline(always)]
    pub(crate) fn read_ready<S: Sink>(
        &self,
        reader: &mut Reader<'_>,
        sink: &mut S,
    ) -> Option<S::Taken> {
        let threads = &self.taps.threads;
        let (taken, handled) = match reader {
            Reader::Thread(thread) => {
                let mut read = threads.try_current(*thread)?;
                let taken = sink.take_from(&mut read.state().0)?;
                let handled = thread.handled();
                read.end().map(|()| (taken, handled))
            }
            Reader::Owned(tap) => {
                let handled = tap.handled();
                let mut read = tap.try_current(threads)?;
                let taken = sink.take_from(&mut read.state().0)?;
                read.end().map(|()| (taken, handled))
            }
        }?;
        let sum = self.clones.words.watched_sum();
        let is_handled = sum.is_none_or(|sum| sum == handled);
        is_handled.then_some(taken)
    }

    /// Makes any read. Waits for the first seed.
    #[cold]
    #[inline(never)]
    fn read_when_ready(&self, reader: Reader<'_>, destination: &mut [u8]) {
        if let Err(error) = self.read_slowly(reader, destination, Unseeded::Wait) {
            // Waiting would never end: this thread itself must seed the engine.
            panic!("wellspring: {error}");
        }
    }

    /// Makes any read: after every known copy was handled, and again if there was a copy meanwhile.
    ///
    /// The functions that it calls are inlined, so that few instructions follow the last fork check: a fork in them, by a
    /// signal handler, gives parent and child the same bytes.
    #[cold]
    #[inline(never)]
    pub(crate) fn read_slowly(
        &self,
        mut reader: Reader<'_>,
        destination: &mut [u8],
        unseeded: Unseeded,
    ) -> Result<(), Error> {
        for _ in 0..MAX_READS {
            let handled = self.handle_clones();
            loop {
                match self.read_once(&mut reader, handled, destination) {
                    Err(Error::NotSeeded) if self.waits(unseeded) => os::pause(),
                    Err(error) => return Err(error),
                    Ok(()) => break,
                }
            }
            if self.is_handled(handled) {
                break;
            }
        }
        Ok(())
    }

    /// Whether the watched words still have the sum that was handled. Where nothing is watched, no word is loaded: fewer
    /// instructions follow the last fork check.
    #[inline(always)]
    fn is_handled(&self, handled: u64) -> bool {
        let sum = self.clones.words.watched_sum();
        sum.is_none_or(|sum| sum == handled)
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
            return self.try_fill(Reader::Thread(CurrentThread::find()), destination);
        }
        for _ in 0..MAX_READS {
            let handled = self.handle_clones();
            self.read_from_node(0, Phase::Early, destination)?;
            if self.is_handled(handled) {
                break;
            }
        }
        Ok(())
    }

    /// A read off the hot path. `handled` is the sum of the watched words that was handled before.
    #[inline(always)]
    fn read_once(
        &self,
        reader: &mut Reader<'_>,
        handled: u64,
        destination: &mut [u8],
    ) -> Result<(), Error> {
        let step = self.harvest_if_due(reader.was_current());
        let refill = match step {
            HarvestedStep::Made => Refill::Short,
            HarvestedStep::None | HarvestedStep::LeftToNextRead => Refill::Whole,
        };
        let handled = (step != HarvestedStep::LeftToNextRead).then_some(handled);
        let read = match (reader, self.mode) {
            (Reader::Owned(tap), _) => self.read_from_owned(tap, refill, handled, destination),
            (Reader::Thread(_), Mode::PerThread) => {
                self.read_from_thread(refill, handled, destination)
            }
            (Reader::Thread(_), Mode::PerNode) => None,
            (Reader::Thread(_), Mode::Concurrent) => {
                return self.read_from_node(0, Phase::Ready, destination);
            }
            (Reader::Thread(_), Mode::Canonical) => return self.read_canonically(destination),
        };
        match read {
            Some(result) => result,
            // No tap: a key for this read alone.
            None => self.read_from_node(self.nodes.local(), Phase::Ready, destination),
        }
    }

    /// Reads from the thread's tap, which then is current if there is a sum of the watched words that was `handled` before,
    /// and else not. `None` if there is no tap: the read is nested deeper than 4 levels, the system has no memory, or the
    /// thread is ending.
    #[inline(always)]
    fn read_from_thread(
        &self,
        refill: Refill,
        handled: Option<u64>,
        destination: &mut [u8],
    ) -> Option<Result<(), Error>> {
        let threads = &self.taps.threads;
        loop {
            // Loaded before the fetch: after a bump during the fetch the tap has the older number, and fetches again.
            let generation = threads.generation();
            let mut read = match threads.begin() {
                Some(read) => read,
                None => threads.begin_first(self.nodes.local() as u32)?,
            };
            let mut result = Ok(refill);
            if !tap_of(read.state()).is_of(generation.number()) {
                result = self.rekey_thread(&mut read, generation.number());
            }
            if let Ok(refill) = result {
                let (state, vdso) = read.state_and_vdso();
                self.taps.serve(tap_of(state), vdso, refill, destination);
                match handled {
                    Some(sum) => read.mark_current(generation, sum),
                    None => read.mark_stale(),
                }
            }
            if read.end() {
                return Some(result.map(|_| ()));
            }
        }
    }

    /// The same from an owned tap. `None`: the system has no memory.
    #[inline(always)]
    fn read_from_owned(
        &self,
        tap: &mut OwnedTap,
        refill: Refill,
        handled: Option<u64>,
        destination: &mut [u8],
    ) -> Option<Result<(), Error>> {
        loop {
            let generation = self.taps.threads.generation();
            let mut read = match tap.begin() {
                Some(read) => read,
                None => tap.begin_first(self.nodes.local() as u32)?,
            };
            let mut result = Ok(refill);
            if !read.state().0.fields().is_of(generation.number()) {
                result = self.rekey_owned(read.state().0.fields(), generation.number());
            }
            if let Ok(refill) = result {
                let (state, vdso) = read.state_and_vdso();
                self.taps.serve(state.0.fields(), vdso, refill, destination);
            }
            match handled.filter(|_| result.is_ok()) {
                Some(sum) => read.mark_current(generation, sum),
                None => read.mark_stale(),
            }
            if read.end() {
                return Some(result.map(|_| ()));
            }
        }
    }

    /// Fetches keys for this depth and all deeper ones, so that the tap of a signal handler has a key. The read is late then,
    /// and refills shortly.
    ///
    /// Signals are blocked: no handler may find a tap half rekeyed, or fork while keys are on the stack.
    #[cold]
    #[inline(never)]
    fn rekey_thread(
        &self,
        read: &mut ThreadRead<'_, OutermostTap, NestedTap>,
        generation: u64,
    ) -> Result<Refill, Error> {
        let Some(signals) = SignalsBlocked::try_first() else {
            return keep_key(&tap_of(read.state()));
        };
        let mut keys = [[0; KEY_BYTES]; DEPTHS];
        let wanted = &mut keys[..read.depths_from_here()];
        let fetched = self.fetch_keys(wanted.as_flattened_mut(), &signals);
        if fetched.is_ok() {
            let mut states = read.states_from_here(&signals);
            let mut unused = &*wanted;
            if let (Some(tap), Some((key, rest))) = (&mut states.outermost, unused.split_first()) {
                tap.0.fields().rekey(key, generation);
                unused = rest;
            }
            for (tap, key) in states.nested.iter_mut().zip(unused) {
                tap.0.fields().rekey(key, generation);
            }
        }
        keys.iter_mut().for_each(wipe);
        fetched.map(|()| Refill::Short)
    }

    /// The same for an owned tap.
    #[cold]
    #[inline(never)]
    fn rekey_owned(&self, mut tap: TapFields<'_>, generation: u64) -> Result<Refill, Error> {
        let Some(signals) = SignalsBlocked::try_first() else {
            return keep_key(&tap);
        };
        let mut key = [0; KEY_BYTES];
        let fetched = self.fetch_keys(&mut key, &signals);
        if fetched.is_ok() {
            tap.rekey(&key, generation);
        }
        wipe(&mut key);
        fetched.map(|()| Refill::Short)
    }

    /// Fetches keys for taps from the node of this CPU.
    #[inline(never)]
    fn fetch_keys(&self, keys: &mut [u8], signals: &SignalsBlocked) -> Result<(), Error> {
        let fetched = self.fetch_keys_of(self.nodes.local(), keys, signals);
        memory::erase_below();
        fetched
    }

    /// Fills `destination` like random(4) with concurrent_read=1, on one node: the lock is held to set the output aside, not
    /// to make it.
    #[inline]
    fn read_from_node(
        &self,
        node: usize,
        need: Phase,
        destination: &mut [u8],
    ) -> Result<(), Error> {
        loop {
            let stamp = {
                // Wiped in place at the end of this block: `drop` would move it and leave the key here.
                let mut reservation = Reservation::ZERO;
                let stamp = {
                    let signals = SignalsBlocked::new();
                    let bytes = destination.len();
                    self.reserve(node, need, bytes, &signals, &mut reservation)?
                };
                reservation.generate(self.nodes.backend(), destination);
                stamp
            };
            // The last fork check: a fork between it and the return to the caller would repeat these bytes.
            if self.nodes.fork_stamp().is(stamp) {
                return Ok(());
            }
        }
    }

    /// Fills `destination` like random(4) with concurrent_read=0: the lock of node 0 is held while a chunk of at most 4096
    /// bytes is made.
    #[inline]
    fn read_canonically(&self, destination: &mut [u8]) -> Result<(), Error> {
        'from_the_start: loop {
            let mut first_stamp = None;
            let mut rest = &mut *destination;
            loop {
                let signals = SignalsBlocked::new();
                let Some(stamp) = self.nodes.make_chunk(&mut rest, &signals) else {
                    self.seed(Phase::Ready, &signals)?;
                    continue;
                };
                if *first_stamp.get_or_insert(stamp) != stamp {
                    continue 'from_the_start;
                }
                if rest.is_empty() {
                    break;
                }
            }
            if first_stamp.is_some_and(|stamp| self.nodes.fork_stamp().is(stamp)) {
                return Ok(());
            }
        }
    }

    /// Draws what fork(3) gives to a child.
    pub(crate) fn draw_for_child(&self, secret: &mut [u8; SECRET_BYTES]) -> bool {
        if self.nodes.phase() == Phase::Ready {
            let thread = Reader::Thread(CurrentThread::find());
            self.read_slowly(thread, secret, Unseeded::Fail).is_ok()
        } else {
            // A child that has drawn nothing yet passes on the secret from its own parent.
            next_secret(secret)
        }
    }

    /// After this the reads of the calling thread make no system call.
    pub(super) fn prepare_for_sandbox(&self) -> Result<(), Error> {
        let thread = || Reader::Thread(CurrentThread::find());
        let read = || self.read_slowly(thread(), &mut [0], Unseeded::Fail);
        // The second read takes keys of a new generation, for every depth: later each depth takes its own.
        read()?;
        self.taps.announce();
        read()?;
        sandbox::prepare();
        Ok(())
    }
}

/// This is a signal handler in a process without system calls, and the interrupted code may hold the lock of the node. So
/// the read goes on with the key that the tap has.
fn keep_key(tap: &TapFields<'_>) -> Result<Refill, Error> {
    if tap.is_of(NO_GENERATION) {
        Err(Error::NotSeeded)
    } else {
        Ok(Refill::Short)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::clone_detection::GenerationPage;
    use crate::engine::Engine;
    use wellspring_core::tap::Tap;
    use wellspring_os::thread_state::CurrentThread;

    /// Eight bytes in registers, and an event after they were taken.
    struct WithEvent<'a>(&'a dyn Fn());

    impl Sink for WithEvent<'_> {
        type Taken = [u8; 8];

        fn take_from<const BUFFER_BYTES: usize>(
            &mut self,
            tap: &mut Tap<BUFFER_BYTES>,
        ) -> Option<[u8; 8]> {
            let taken = Registers.take_from(tap);
            (self.0)();
            taken
        }
    }

    fn assert_notices(engine: &Engine, page: &GenerationPage, mut reader: Reader<'_>) {
        let inner = &engine.inner;
        for _ in 0..4 {
            let read = inner.read_slowly(again(&mut reader), &mut [0; 8], Unseeded::Fail);
            assert_eq!(read, Ok(()));
        }
        let ready = inner.read_ready(&mut reader, &mut WithEvent(&|| ()));
        assert!(ready.is_some(), "the bytes are ready");
        let copy = || {
            page.bump();
            std::thread::scope(|scope| scope.spawn(|| engine.fill(&mut [0; 8])).join()).unwrap();
            assert_eq!(inner.clones.words.sum(), inner.clones.words.handled());
        };
        assert!(
            inner
                .read_ready(&mut reader, &mut WithEvent(&copy))
                .is_none(),
            "bytes of before the copy"
        );
    }

    fn again<'a>(reader: &'a mut Reader<'_>) -> Reader<'a> {
        match reader {
            Reader::Thread(thread) => Reader::Thread(*thread),
            Reader::Owned(tap) => Reader::Owned(tap),
        }
    }

    #[test]
    fn a_copy_that_another_thread_has_handled_during_a_read_is_noticed() {
        let path = std::env::temp_dir().join(format!("wellspring-copy-{}", std::process::id()));
        let page = GenerationPage::create(&path).unwrap();
        let builder = Engine::builder().sources([]).seed(&[7; 32]);
        let engine = builder.generation_page(&path).vmclock("/none").build();
        let engine = engine.unwrap();
        std::thread::scope(|scope| {
            // Its first engine: only that has a hot path on a thread.
            let read = || assert_notices(&engine, &page, Reader::Thread(CurrentThread::find()));
            scope.spawn(read).join().unwrap();
        });
        let mut tap = engine.inner.new_owned_tap();
        assert_notices(&engine, &page, Reader::Owned(&mut tap));
        std::fs::remove_file(&path).unwrap();
    }
}
