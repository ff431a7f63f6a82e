//! A state for every thread at every nesting depth; and below, a state that a value owns.
//!
//! A read that interrupts a read on the same thread (in a signal handler) is one level deeper and has a state of its
//! own, so that the interrupted read's state never changes under it. A read takes its depth before it looks at a state,
//! and gives it back after its last change to the state. So depths are right at every instruction boundary. A handler
//! that is left by siglongjmp leaves the depth of the read it interrupted taken: that state is never used again.

use crate::memory::{Zeroed, assert_zeroed};
use crate::signals::SignalsBlocked;
pub use crate::slots::DEPTHS;
use crate::slots::{Header, Kind, Request, Slot, SlotRef};
pub use crate::thread::{CurrentThread, Generation};
use crate::thread::{DeeperGuard, DepthGuard, ENTRIES, Entry, HotGuard, STALE, ThreadData, local};
use crate::vdso::VdsoRandom;
use crate::{memory, slots, thread_exit, wipe_at_fork};
use core::marker::PhantomData;
use core::ptr;
#[cfg(not(loom))]
use core::sync::atomic::AtomicU64 as AtomicGeneration;
use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};
#[cfg(loom)]
use loom::sync::atomic::AtomicU64 as AtomicGeneration;

/// States for every thread: an `O` for the outermost depth, an `I` for each deeper one.
///
/// `ZERO` is a state that was never used: what a thread starts with, and what it finds in a child process.
///
/// # The hot path
///
/// [`try_current`](Self::try_current) begins a read of an outermost state that an earlier read has made *current*, by
/// [`ThreadRead::mark_current`], in the [`Generation`] that the states are still in. Every event that must send a read the
/// long way [bumps](Self::bump) the generation: a reseed, a notice of a clone. The read compares the thread's generation
/// with the generation of the states, once. No two states share a number, so the comparison also fails on a thread whose
/// first entry belongs to other states. On a thread that is in a read already it fails too: no generation has the number
/// that the thread has then.
///
/// It does not notice a fork. In a child the state is wiped: `O::ZERO`, which must have nothing to give. A fork under
/// the read (in a signal handler) is noticed at its end, by the slot's serial.
///
/// # The types of states
///
/// A reference that was put into a state must live as long as the type says:
///
/// ```compile_fail,E0308
/// use wellspring_os::thread_state::ThreadStates;
/// use wellspring_os::memory::Zeroed;
/// struct Kept<'a>(Option<&'a u64>);
/// impl Zeroed for Kept<'_> {
///     const ZERO: Self = Self(None);
/// }
/// fn shorter<'a>(states: &'a ThreadStates<Kept<'static>, u64>) -> &'a ThreadStates<Kept<'a>, u64> {
///     states
/// }
/// ```
#[derive(Debug)]
pub struct ThreadStates<O, I> {
    /// In ordinary memory: a child goes on with its parent's number, which its wiped states do not have.
    generation: AtomicGeneration,
    owner: u64,
    /// Threads share no state: so it may be of any type.
    states: PhantomData<Exactly<(O, I)>>,
}

/// Stands for a type that reads take and replace: in place of its lifetimes neither longer nor shorter ones will do.
type Exactly<T> = fn(T) -> T;

impl<O: Zeroed, I: Zeroed> ThreadStates<O, I> {
    /// New states, zero on every thread.
    #[must_use]
    pub fn new() -> Self {
        const {
            assert_zeroed::<O>();
            assert_zeroed::<I>();
            assert!(
                size_of::<States<O, I>>() <= Kind::Thread.states_bytes(),
                "a thread's states fit into a slot"
            );
            assert!(align_of::<States<O, I>>() <= align_of::<Header>());
        };
        static NEXT_OWNER: AtomicU64 = AtomicU64::new(1);
        thread_exit::prepare();
        Self {
            generation: AtomicGeneration::new(Generation::next_number()),
            owner: NEXT_OWNER.fetch_add(1, Ordering::Relaxed),
            states: PhantomData,
        }
    }

    /// The present generation. To be asked before what makes a state current, see
    /// [`mark_current`](ThreadRead::mark_current).
    #[must_use]
    #[inline(always)]
    pub fn generation(&self) -> Generation {
        Generation::new(self.generation.load(Ordering::Acquire), self.owner)
    }

    /// Its number, for a hot path, which only compares it.
    #[inline(always)]
    pub(crate) fn number_to_compare(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// Begins the next generation: no state is current any more. To be called after what makes the states out of date, such
    /// as a new seed, can be seen.
    ///
    /// A swap, not a store: where two threads do so at the same time, a reader that sees the generation of the later one
    /// also sees what made the states out of date for the other.
    pub fn bump(&self) {
        self.generation
            .swap(Generation::next_number(), Ordering::AcqRel);
    }

    /// The hot path: begins a read of the outermost state of `thread`. `None` if that is not current, or if a read is at
    /// work on this thread.
    #[inline(always)]
    pub fn try_current(&self, thread: CurrentThread) -> Option<CurrentRead<'_, O, I>> {
        let local = thread.local();
        let generation = self.number_to_compare();
        if local.generation.get() != generation {
            return None;
        }
        let guard = HotGuard::new(local, generation);
        // The first entry belongs to these states: no handler gives it to others while they live, not even between
        // the comparison and the guard. A handler in a forked child may take the slot again under another serial;
        // so the serial is loaded before the state is looked at.
        // SAFETY: it has a slot, since it was made current.
        let slot = unsafe { local.entries[0].slot.get().some_ref() };
        compiler_fence(Ordering::SeqCst);
        Some(CurrentRead {
            guard,
            slot,
            states: PhantomData,
        })
    }

    /// Begins any read of this thread's state at its present depth.
    ///
    /// `None`: the thread has no state yet (see [`begin_first`](Self::begin_first)), or is [`DEPTHS`] deep already.
    ///
    /// Reads of a thread end in the opposite order of their beginning, as nested signal handlers do.
    ///
    /// Inlined, so that few instructions follow the last check for a fork.
    #[inline(always)]
    pub fn begin(&self) -> Option<ThreadRead<'_, O, I>> {
        wipe_at_fork::look();
        let local = local();
        let guard = DepthGuard::next(local, DEPTHS)?;
        let slot = slot_of(local, self.owner)?;
        Some(self.read(local, guard, slot))
    }

    /// The same for a thread that has no state: it gets one, if there is room in the memory of that NUMA node or another.
    ///
    /// `None`: the thread is [`DEPTHS`] deep already, or is ending, or the system has no memory.
    #[cold]
    #[inline(never)]
    pub fn begin_first(&self, node: u32) -> Option<ThreadRead<'_, O, I>> {
        wipe_at_fork::look();
        let local = local();
        let guard = DepthGuard::next(local, DEPTHS)?;
        let slot = self
            .slots()
            .acquire(local, &guard, Some(node), Slot::NONE)?;
        Some(self.read(local, guard, slot))
    }

    #[inline(always)]
    fn read<'a>(
        &'a self,
        local: &'a ThreadData,
        guard: DepthGuard<'a>,
        slot: Slot,
    ) -> ThreadRead<'a, O, I> {
        let mut read = ThreadRead {
            local,
            guard,
            slot,
            slots: self.slots(),
            states: PhantomData,
        };
        if read.guard.follows_fork() {
            read.erase_after_fork();
        }
        if !local.exit_is_armed.get() {
            thread_exit::arm(local, read.guard.depth);
        }
        read
    }

    fn slots(&self) -> StateSlots {
        StateSlots {
            owner: self.owner,
            used_bytes: size_of::<States<O, I>>(),
        }
    }

    /// Returns the number that marks the slots of these states as theirs.
    pub(crate) fn owner(&self) -> u64 {
        self.owner
    }

    /// How many threads have states. Asks the system which threads are still there: a system call for each.
    #[must_use]
    pub fn count(&self) -> usize {
        let _signals = SignalsBlocked::new();
        slots::reclaim(local().address());
        slots::count(self.owner)
    }

    /// Sees to it that `threads` more threads find memory of that node for their states without a system call. `false`:
    /// the system has none.
    pub fn reserve(&self, node: u32, threads: usize) -> bool {
        let _signals = SignalsBlocked::new();
        slots::reserve(Kind::Thread, node, threads)
    }
}

/// A read of a current outermost state, until it ends, by a panic too: meanwhile no other read on this thread finds that
/// state.
///
/// A value and not a closure, since the compiler decides by its size whether to inline a closure.
pub struct CurrentRead<'a, O, I> {
    guard: HotGuard<'a>,
    slot: SlotRef,
    states: PhantomData<&'a mut (O, I)>,
}

impl<O, I> CurrentRead<'_, O, I> {
    /// The state. In a child that was forked under the read (in a signal handler) it may be `O::ZERO`, from which nothing
    /// must be taken.
    #[inline(always)]
    pub fn state(&mut self) -> &mut O {
        // SAFETY: in bounds and aligned, as `ThreadStates::new` asserts; the state starts as zeros, and zeros are an `O`. No
        // other code uses it: the slot is this thread's, and its depth is taken.
        unsafe { &mut (*self.slot.states::<States<O, I>>()).outermost }
    }

    /// Ends the read.
    ///
    /// `None` if the process forked under the read (in a signal handler). Make the read again by
    /// [`begin`](ThreadStates::begin), which erases what this read wrote.
    #[inline(always)]
    pub fn end(self) -> Option<()> {
        compiler_fence(Ordering::SeqCst);
        if !self.slot.is_ours() {
            self.guard.end_after_fork();
            return None;
        }
        Some(())
    }
}

/// A read of a thread's state at a depth, until it ends, by a panic too.
///
/// If the process forks under it (in a signal handler), the child finds the state wiped. So [`end`](Self::end) checks last
/// whether a fork took it.
pub struct ThreadRead<'a, O, I> {
    local: &'a ThreadData,
    guard: DepthGuard<'a>,
    slot: Slot,
    slots: StateSlots,
    states: PhantomData<&'a mut (O, I)>,
}

/// The state of a depth.
pub enum State<'a, O, I> {
    /// The state of a read that interrupts no other read.
    Outermost(&'a mut O),
    /// The state of a read that interrupts another.
    Nested(&'a mut I),
}

/// The states of a depth and of all deeper ones. Until this is dropped, no read finds them.
pub struct StatesFromHere<'a, O, I> {
    /// The outermost state, if the read is at its depth.
    pub outermost: Option<&'a mut O>,
    /// The nested ones from the depth of the read on.
    pub nested: &'a mut [I],
    _deeper: Option<DeeperGuard<'a>>,
}

impl<O: Zeroed, I: Zeroed> ThreadRead<'_, O, I> {
    /// The state.
    #[inline(always)]
    pub fn state(&mut self) -> State<'_, O, I> {
        let states = self.slot.states::<States<O, I>>();
        // SAFETY: in bounds and aligned, as `ThreadStates::new` asserts; the states start as zeros, and zeros are a
        // state. No other code uses them: the slot is this thread's, and its depth is taken until this read ends.
        unsafe {
            match self.guard.depth {
                0 => State::Outermost(&mut (*states).outermost),
                deeper => State::Nested(&mut (*states).nested[deeper - 1]),
            }
        }
    }

    /// The state, and the operating system's output to be mixed into it.
    #[inline(always)]
    pub fn state_and_vdso(&mut self) -> (State<'_, O, I>, VdsoRandom<'_>) {
        let vdso = VdsoRandom::new(slots::vdso_state(&self.slot, self.guard.depth));
        (self.state(), vdso)
    }

    /// The number of depths from this depth on.
    #[must_use]
    pub fn depths_from_here(&self) -> usize {
        DEPTHS - self.guard.depth
    }

    /// The states of this depth and all deeper ones.
    ///
    /// Only the state of this depth where a deeper one may be in use: after
    /// [`sandbox::prepare`](crate::sandbox::prepare), since handlers run then, and in a read within this one.
    pub fn states_from_here(&mut self, signals: &SignalsBlocked) -> StatesFromHere<'_, O, I> {
        let states = self.slot.states::<States<O, I>>();
        let depth = self.guard.depth;
        let deeper = if signals.stops_handlers() {
            DeeperGuard::new(self.local, depth)
        } else {
            None
        };
        let end = if deeper.is_some() { DEPTHS - 1 } else { depth };
        let first = depth.saturating_sub(1);
        // SAFETY: as above, for the depths up to `end` too: no read is at one of them, and none begins while `deeper`
        // lives. References to no others: shallower states are in use.
        let (outermost, nested) = unsafe {
            let nested = (&raw mut (*states).nested).cast::<I>().add(first);
            let nested = core::slice::from_raw_parts_mut(nested, end - first);
            let outermost = (depth == 0).then(|| &mut (*states).outermost);
            (outermost, nested)
        };
        StatesFromHere {
            outermost,
            nested,
            _deeper: deeper,
        }
    }

    /// Says that the outermost state is current in a generation, once this read has ended: it is ready for
    /// [`try_current`](ThreadStates::try_current) until the next one begins. Ask for the generation before what makes the
    /// state current. At other depths, and with a generation of other states, this does nothing. `handled` is the sum of the
    /// [watched words](crate::clone_words::CloneWords) that was handled before this read.
    #[inline(always)]
    pub fn mark_current(&mut self, generation: Generation, handled: u64) {
        if let Some(number) = generation.of(self.slots.owner)
            && self.is_first_and_outermost()
        {
            self.local.handled.set(handled);
            self.guard.end_in(number);
        }
    }

    /// Says that the next read is to take the long way, even if the outermost state was current before.
    #[inline(always)]
    pub fn mark_stale(&mut self) {
        if self.is_first_and_outermost() {
            self.guard.end_in(STALE);
        }
    }

    /// Whether the state is the outermost one of the thread's first entry, which the hot path reads.
    #[inline(always)]
    fn is_first_and_outermost(&self) -> bool {
        let first = self.local.entries[0].slot.get();
        self.guard.depth == 0 && first.is_same_place(&self.slot)
    }

    /// Ends the read. Returns `false` if the process forked under it (in a signal handler), and this is the child: make the
    /// read again, which overwrites all that it did before.
    #[must_use]
    #[inline(always)]
    pub fn end(self) -> bool {
        // Last: a fork after this check is a fork after the read.
        compiler_fence(Ordering::SeqCst);
        let is_ours = self.slot.is_ours();
        if !is_ours {
            self.end_after_fork();
        }
        is_ours
    }

    /// In a child that was forked under this read: erases the state. The read went on with values from before and may have
    /// written them to the state after the wipe; they could give the parent's future output.
    #[cold]
    #[inline(never)]
    fn end_after_fork(mut self) {
        if let Some(slot) = self.slots.find_again(self.local, self.slot, &self.guard) {
            self.slot = slot;
            self.erase();
        }
    }

    /// In a child that was forked under a read on the hot path: erases what that read wrote, if it was one of these
    /// states. A handler may have acquired the slot before, and so erased it, while that read still went on.
    #[cold]
    #[inline(never)]
    fn erase_after_fork(&mut self) {
        if self.local.entries[0].slot.get().is_same_place(&self.slot) {
            self.erase();
            self.guard.end_in(STALE);
        }
    }

    /// Resets the state to `ZERO`.
    fn erase(&mut self) {
        match self.state() {
            State::Outermost(state) => *state = O::ZERO,
            State::Nested(state) => *state = I::ZERO,
        }
        compiler_fence(Ordering::SeqCst);
    }
}

impl<O: Zeroed, I: Zeroed> Default for ThreadStates<O, I> {
    fn default() -> Self {
        Self::new()
    }
}

impl<O, I> Drop for ThreadStates<O, I> {
    /// Erases every thread's states.
    fn drop(&mut self) {
        let _signals = SignalsBlocked::new();
        slots::release_all(self.owner);
    }
}

/// The states of a thread: one for the outermost depth, where almost all reads are, and smaller ones for the
/// depths of signal handlers.
#[repr(C)]
struct States<O, I> {
    outermost: O,
    nested: [I; DEPTHS - 1],
}

/// This thread's slot for the states of `owner`.
///
/// Inlined: a slot that a call returns in memory is loaded at once, in another width than it was stored in, which costs
/// 5 ns. The first entry belongs to the engine that the thread read first, usually the only engine.
#[inline(always)]
fn slot_of(local: &ThreadData, owner: u64) -> Option<Slot> {
    let first = &local.entries[0];
    match first.slot() {
        Some(slot) if first.owner.get() == owner => Some(slot),
        _ => other_entry_of(local, owner)?.slot(),
    }
}

/// An entry but the first that has a slot for the states of `owner`.
#[inline(never)]
fn other_entry_of(local: &ThreadData, owner: u64) -> Option<&Entry> {
    // The slot before the owner: no handler replaces the entry of a slot that was found to be ours.
    let is_of_owner = |entry: &&Entry| entry.slot().is_some() && entry.owner.get() == owner;
    local.entries.iter().skip(1).find(is_of_owner)
}

/// The owner of slots for states, and what of a slot they use.
#[derive(Clone, Copy)]
struct StateSlots {
    owner: u64,
    used_bytes: usize,
}

impl StateSlots {
    /// Takes the slot again that a fork took, in the child. `None` if it is lost for good: then it is released.
    fn find_again(self, local: &ThreadData, before: Slot, guard: &DepthGuard<'_>) -> Option<Slot> {
        guard.end_in(STALE);
        // A handler in the child may have taken the slot again, under another serial. Else it is still lost, and
        // only this read takes it: all of it is erased then.
        let found = self.find(local);
        let found = found.or_else(|| self.acquire(local, guard, None, before));
        let found = found.filter(|found| found.is_same_place(&before));
        if found.is_none() {
            let _signals = SignalsBlocked::new();
            slots::release(before);
        }
        found
    }

    /// This thread's slot, off the hot path.
    #[inline(never)]
    fn find(self, local: &ThreadData) -> Option<Slot> {
        slot_of(local, self.owner)
    }

    /// Acquires a slot: `lost` again, if a fork took it from this thread. Without a node, only `lost`.
    #[cold]
    #[inline(never)]
    fn acquire(
        self,
        local: &ThreadData,
        guard: &DepthGuard<'_>,
        node: Option<u32>,
        lost: Slot,
    ) -> Option<Slot> {
        // A handler must not see an entry half written.
        let _signals = SignalsBlocked::try_new()?;
        // A handler that ran before may have acquired what we want.
        if let Some(slot) = self.find(local) {
            return Some(slot);
        }
        if local.is_leaving.get() {
            return None;
        }
        let entry = self.entry(local, guard.depth)?;
        if ptr::eq(entry, &local.entries[0]) {
            guard.end_in(STALE);
        }
        let before = entry.slot.get();
        let lost = if entry.owner.get() == self.owner {
            before
        } else {
            slots::release(before);
            lost
        };
        let request = Request {
            owner: self.owner,
            kind: Kind::Thread,
            node,
            used_bytes: self.used_bytes,
            thread: local.address(),
        };
        let slot = slots::acquire(&request, lost);
        entry.slot.set(slot.unwrap_or(Slot::NONE));
        entry.owner.set(slot.map_or(0, |_| self.owner));
        slot
    }

    /// The entry for a slot that is about to be acquired: the entry of these states, or a free one.
    fn entry(self, local: &ThreadData, depth: usize) -> Option<&Entry> {
        let entries = || local.entries.iter();
        let is_own = |entry: &&Entry| entry.owner.get() == self.owner;
        // An entry whose slot a fork took is not free: a read that a handler interrupted may still use it.
        let is_free = |entry: &&Entry| !entry.slot.get().is_ours_or_lost();
        let found = entries().find(is_own).or_else(|| entries().find(is_free));
        // At the outermost depth no read that has marked itself is interrupted. A read on the hot path may be about
        // to do so: the first entry stays with its states.
        let another = || &local.entries[1 + self.owner as usize % (ENTRIES - 1)];
        found.or_else(|| (depth == 0).then(another))
    }
}

/// How many bytes of secret memory in use may reach a swap device, because they are beyond an eighth of `RLIMIT_MEMLOCK`,
/// usually 1 MiB of 8 MiB, or because the system refused to lock them.
#[must_use]
pub fn unlocked_bytes() -> usize {
    memory::unlocked_bytes() + slots::unlocked_bytes()
}

// A state that a value owns.

/// A state that this value owns: not tied to a thread, not shared, wiped on fork as well.
#[derive(Debug)]
pub struct OwnedState<T> {
    slot: Slot,
    /// The number of the generation in which the state was made current.
    current: u64,
    /// The sum of the watched words that was handled before.
    handled: u64,
    owner: u64,
    state: PhantomData<T>,
}

/// A read of a current state that a value owns.
pub struct OwnedRead<'a, T> {
    slot: SlotRef,
    state: PhantomData<&'a mut T>,
}

impl<T> OwnedRead<'_, T> {
    /// The state. In a child that was forked since the last read it may be `T::ZERO`, from which nothing must be taken.
    #[inline(always)]
    pub fn state(&mut self) -> &mut T {
        // SAFETY: in bounds and aligned, as `OwnedState::new` asserts; the state starts as zeros, a fork wipes it to zeros,
        // and zeros are a `T`. No other code uses it: only its owner takes its slot again or releases it, and the owner is
        // borrowed.
        unsafe { &mut *self.slot.states::<T>() }
    }

    /// Ends the read. `None` if the process forked under it.
    #[inline(always)]
    pub fn end(self) -> Option<()> {
        compiler_fence(Ordering::SeqCst);
        self.slot.is_ours().then_some(())
    }
}

impl<T: Zeroed> OwnedState<T> {
    /// A new state beside the states of `threads`; it may outlive them. Its first use takes 4 KiB of memory.
    #[must_use]
    pub fn new<O: Zeroed, I: Zeroed>(threads: &ThreadStates<O, I>) -> Self {
        const {
            assert_zeroed::<T>();
            assert!(
                size_of::<T>() <= Kind::Owned.states_bytes(),
                "the state fits into a slot"
            );
            assert!(align_of::<T>() <= align_of::<Header>());
        };
        Self {
            owner: threads.owner(),
            slot: Slot::NONE,
            current: STALE,
            handled: 0,
            state: PhantomData,
        }
    }

    /// A hot path, like [`ThreadStates::try_current`]: begins a read of the state, if that was made current in the generation
    /// that `threads` are in.
    #[inline(always)]
    pub fn try_current<O: Zeroed, I: Zeroed>(
        &mut self,
        threads: &ThreadStates<O, I>,
    ) -> Option<OwnedRead<'_, T>> {
        // The numbers are unique: if they are equal, `new` got the same `threads`.
        let generation = threads.number_to_compare();
        (generation == self.current).then(|| OwnedRead {
            // SAFETY: it has a slot, since `mark_current` marks only states that have one, and it keeps the slot.
            slot: unsafe { self.slot.some_ref() },
            state: PhantomData,
        })
    }

    /// The sum of the watched words that was handled before the last [`mark_current`](OwnedLongRead::mark_current).
    #[must_use]
    #[inline(always)]
    pub fn handled(&self) -> u64 {
        self.handled
    }

    /// Whether the last read made the state current. It may be out of date since.
    #[must_use]
    #[inline(always)]
    pub fn was_current(&self) -> bool {
        self.current != STALE
    }

    /// Begins any read of the state. `None`: it has none yet, or a fork took it, see [`begin_first`](Self::begin_first).
    #[inline(always)]
    pub fn begin(&mut self) -> Option<OwnedLongRead<'_, T>> {
        wipe_at_fork::look();
        let place = Some(self.slot.place()).filter(|place| place.is_ours())?;
        Some(OwnedLongRead { place, owned: self })
    }

    /// The same with a state that was never used. `None`: the system has no memory.
    #[cold]
    #[inline(never)]
    pub fn begin_first(&mut self, node: u32) -> Option<OwnedLongRead<'_, T>> {
        self.acquire(node)?;
        let place = self.slot.place();
        Some(OwnedLongRead { place, owned: self })
    }
}

/// Any read of a state that a value owns.
pub struct OwnedLongRead<'a, T> {
    owned: &'a mut OwnedState<T>,
    place: SlotRef,
}

impl<T: Zeroed> OwnedLongRead<'_, T> {
    /// The state, and the operating system's output to be mixed into it.
    #[inline(always)]
    pub fn state_and_vdso(&mut self) -> (&mut T, VdsoRandom<'_>) {
        let vdso = VdsoRandom::new(slots::vdso_state(&self.owned.slot, 0));
        // SAFETY: as in `OwnedRead::state`; `place` is a slot, since it is or was ours.
        (unsafe { &mut *self.place.states::<T>() }, vdso)
    }

    /// The state.
    #[inline(always)]
    pub fn state(&mut self) -> &mut T {
        self.state_and_vdso().0
    }

    /// Says that the state is current in a generation, as
    /// [`ThreadRead::mark_current`](crate::thread_state::ThreadRead::mark_current) does. If a fork takes the slot later, the
    /// child's state is zeros, from which nothing is taken.
    #[inline(always)]
    pub fn mark_current(&mut self, generation: Generation, handled: u64) {
        self.owned.handled = handled;
        self.owned.current = generation.of(self.owned.owner).unwrap_or(STALE);
    }

    /// Makes the next read take the long way.
    #[inline(always)]
    pub fn mark_stale(&mut self) {
        self.owned.current = STALE;
    }

    /// Ends the read. Returns `false` if the process forked under it, and this is the child: make the read again.
    #[must_use]
    #[inline(always)]
    pub fn end(self) -> bool {
        compiler_fence(Ordering::SeqCst);
        let is_ours = self.place.is_ours();
        if !is_ours {
            self.owned.current = STALE;
        }
        is_ours
    }
}

impl<T> OwnedState<T> {
    /// Acquires a slot for a state that has none, or the same slot again, erased, if a fork took it.
    #[cold]
    fn acquire(&mut self, node: u32) -> Option<()> {
        let _signals = SignalsBlocked::new();
        let request = Request {
            owner: self.owner,
            kind: Kind::Owned,
            node: Some(node),
            used_bytes: size_of::<T>(),
            thread: 0,
        };
        self.current = STALE;
        self.slot = slots::acquire(&request, self.slot)?;
        Some(())
    }

    /// Sees to it that `count` more states find memory of that node without a system call. `false`: the system has
    /// none.
    pub fn reserve(node: u32, count: usize) -> bool {
        let _signals = SignalsBlocked::new();
        slots::reserve(Kind::Owned, node, count)
    }
}

impl<T> Drop for OwnedState<T> {
    fn drop(&mut self) {
        if self.slot.is_ours_or_lost() {
            let _signals = SignalsBlocked::new();
            slots::release(self.slot);
        }
    }
}

// SAFETY: an `OwnedState<T>` is the only way to its state, as a `Box<T>` is.
unsafe impl<T: Send> Send for OwnedState<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(threads: &ThreadStates<u64, u64>) -> Option<ThreadRead<'_, u64, u64>> {
        threads.begin().or_else(|| threads.begin_first(0))
    }

    fn value<'a>(read: &'a mut ThreadRead<'_, u64, u64>) -> &'a mut u64 {
        match read.state() {
            State::Outermost(value) | State::Nested(value) => value,
        }
    }

    fn next(threads: &ThreadStates<u64, u64>) -> Option<u64> {
        let mut read = begin(threads)?;
        *value(&mut read) += 1;
        let next = *value(&mut read);
        read.end().then_some(next)
    }

    #[test]
    fn every_thread_starts_from_zero_and_keeps_its_state() {
        let threads = ThreadStates::<u64, u64>::new();
        assert_eq!((next(&threads), next(&threads)), (Some(1), Some(2)));
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!((next(&threads), next(&threads)), (Some(1), Some(2))));
        });
        assert_eq!(next(&threads), Some(3));
    }

    #[test]
    fn a_nested_use_never_sees_the_state_it_interrupts() {
        let threads = ThreadStates::<u64, u64>::new();
        fn descend(threads: &ThreadStates<u64, u64>, depth: usize) -> usize {
            let Some(mut read) = begin(threads) else {
                return depth;
            };
            assert_eq!(*value(&mut read), 0);
            *value(&mut read) = 1;
            let below = descend(threads, depth + 1);
            assert_eq!(*value(&mut read), 1);
            assert!(read.end());
            below
        }
        assert_eq!(descend(&threads, 0), DEPTHS, "the fifth level is refused");
    }

    #[test]
    fn a_panic_costs_no_depth() {
        let threads = ThreadStates::<u64, u64>::new();
        for _ in 0..2 * DEPTHS {
            let panics = std::panic::AssertUnwindSafe(|| {
                let _read = begin(&threads).unwrap();
                panic!("in a read")
            });
            assert!(std::panic::catch_unwind(panics).is_err());
        }
        assert_eq!(next(&threads), Some(1));
    }

    #[test]
    fn more_states_than_a_thread_keeps_are_lost_and_nothing_else() {
        let all: [ThreadStates<u64, u64>; 3 * ENTRIES] =
            core::array::from_fn(|_| ThreadStates::new());
        for _ in 0..3 {
            for threads in &all {
                assert!(next(threads).is_some());
            }
        }
        assert!(all.iter().map(ThreadStates::count).sum::<usize>() <= ENTRIES);
    }

    #[test]
    fn slots_of_ended_threads_and_dropped_states_are_used_again() {
        let threads = ThreadStates::<u64, u64>::new();
        for _ in 0..200 {
            std::thread::scope(|scope| {
                let first = scope.spawn(|| next(&threads)).join().unwrap();
                assert_eq!(first, Some(1), "a slot comes back erased");
            });
        }
        assert_eq!(threads.count(), 0);
        next(&threads);
        let owner = threads.owner;
        assert_eq!(slots::count(owner), 1);
        drop(threads);
        assert_eq!(slots::count(owner), 0);
    }

    #[test]
    fn an_owned_state_moves_between_threads() {
        let threads = ThreadStates::<u64, u64>::new();
        let mut owned = OwnedState::<u64>::new(&threads);
        let mut next = move || {
            let mut read = match owned.begin() {
                Some(read) => read,
                None => owned.begin_first(0)?,
            };
            *read.state() += 1;
            let value = *read.state();
            read.end().then_some(value)
        };
        assert_eq!(next(), Some(1));
        let mut next = std::thread::spawn(move || {
            assert_eq!(next(), Some(2));
            next
        })
        .join()
        .unwrap();
        assert_eq!(next(), Some(3));
    }
}
