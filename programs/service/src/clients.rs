//! The connections of one thread: their events, their turns, and their pauses.

use crate::admission::Admission;
use crate::event_loop::{EventLoop, Wake, Wants};
use crate::process::panics::isolated;
use crate::turns::Turns;
use crate::wipe::Scratch;
use rustix::event::epoll::{self, EventData, EventFlags};
use std::collections::HashMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Instant;

/// The work of one turn, in bytes: those that come in, are looked at again, and are sent.
pub(crate) const TURN_BYTES: usize = 64 * 1024;

/// The cost of a request, and of each call of the kernel, besides their bytes.
const CALL_BYTES: usize = 1024;

/// The other end has closed the connection, or it broke.
const GONE: EventFlags = EventFlags::HUP.union(EventFlags::ERR);

/// The number of what is no connection: theirs begin at 1.
pub(crate) const OTHER: u64 = 0;

/// A connection that has turns.
pub(crate) trait Client {
    /// The events that the kernel reports.
    const EVENTS: EventFlags;

    /// Whether it has turns while it is paused.
    const HAS_TURNS_IN_PAUSE: bool;

    fn stream(&self) -> BorrowedFd<'_>;

    fn admission(&self) -> &Admission;

    /// Works until it has to wait, or its turn is over. `since` is the time when the thread learned of the work.
    fn turn(&mut self, scratch: &mut Scratch, since: Instant, turn: &mut Turn) -> Wants;
}

/// The work that a connection may still do before others have their turns. Everything that the other end can make the
/// service do is charged, also what has no answer: a turn ends whatever comes in.
pub(crate) struct Turn {
    left: usize,
}

impl Turn {
    fn new() -> Self {
        // A turn costs something even if the connection can do nothing in it.
        Self {
            left: TURN_BYTES - CALL_BYTES,
        }
    }

    pub(crate) fn charge(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(CALL_BYTES + bytes);
    }

    pub(crate) fn end(&mut self) {
        self.left = 0;
    }

    pub(crate) fn is_over(&self) -> bool {
        self.left == 0
    }

    /// The work that was done. The last step of a turn can be longer than what was left, by one answer.
    fn done(&self) -> usize {
        TURN_BYTES - self.left
    }
}

/// The event that a connection waits for.
#[derive(Clone, Copy)]
enum Waits {
    /// These events.
    For(EventFlags),
    /// The end of a pause.
    Pause,
    /// Its turn, since this time.
    Turn(Instant),
}

struct Slot<C> {
    client: C,
    waits: Waits,
    /// The kernel has reported that the other end is gone. It reports each change once.
    is_gone: bool,
}

/// The connections of one thread, by their numbers.
pub(crate) struct Clients<C> {
    pub(crate) events: EventLoop,
    slots: HashMap<u64, Slot<C>>,
    turns: Turns<u64>,
    pub(crate) scratch: Scratch,
    wakes: Vec<Wake>,
}

impl<C: Client> Clients<C> {
    pub(crate) fn new(events: EventLoop, scratch: Scratch) -> Self {
        Self {
            events,
            slots: HashMap::new(),
            turns: Turns::default(),
            scratch,
            wakes: Vec::new(),
        }
    }

    /// The number of connections.
    pub(crate) fn count(&self) -> usize {
        self.slots.len()
    }

    /// Adds one, and gives it a turn.
    pub(crate) fn add(&mut self, client: C, woke: Instant) -> io::Result<()> {
        let number = client.admission().number;
        let key = EventData::new_u64(self.events.key(number));
        // Each change is reported once: no call is needed when a connection waits for something else, and a part of a
        // message wakes the thread once.
        let events = C::EVENTS | EventFlags::ET;
        epoll::add(&*self.events.epoll, client.stream(), key, events)?;
        let slot = Slot {
            client,
            waits: Waits::For(C::EVENTS),
            is_gone: false,
        };
        self.slots.insert(number, slot);
        self.queue(number, woke);
        Ok(())
    }

    /// Waits, unless turns are due, and learns what has happened. Returns when that was, and what happened to others than
    /// these connections; `None` at the end.
    pub(crate) fn learn(&mut self) -> Option<(Instant, Vec<Wake>)> {
        let mut wakes = core::mem::take(&mut self.wakes);
        let woke = self.events.wait(!self.turns.is_empty(), &mut wakes)?;
        let mut others = Vec::new();
        for wake in wakes.drain(..) {
            match wake {
                Wake::Accept(_) | Wake::Event(OTHER, _) => others.push(wake),
                Wake::Event(number, flags) => self.wake(number, flags, woke),
                Wake::PauseEnd(number) => self.queue(number, woke),
            }
        }
        self.wakes = wakes;
        Some((woke, others))
    }

    /// Gives turns until one turn's work is done. So what happens meanwhile is learned soon, and many short turns cost one
    /// call of the kernel.
    pub(crate) fn give_turns(&mut self) {
        let mut done = 0;
        while done < TURN_BYTES
            && let Some(number) = self.turns.take()
        {
            done += self.serve(number);
        }
    }

    /// Gives a connection its next turn, for which it waits since then.
    fn queue(&mut self, number: u64, since: Instant) {
        if let Some(slot) = self.slots.get_mut(&number)
            && !matches!(slot.waits, Waits::Turn(_))
        {
            slot.waits = Waits::Turn(since);
            self.turns.add(slot.client.admission().meter.peer, number);
        }
    }

    fn wake(&mut self, number: u64, flags: EventFlags, woke: Instant) {
        let Some(slot) = self.slots.get_mut(&number) else {
            return;
        };
        slot.is_gone |= flags.intersects(GONE);
        match slot.waits {
            Waits::For(events) if flags.intersects(events | GONE) => self.queue(number, woke),
            Waits::Pause if slot.is_gone => self.close(number),
            Waits::For(_) | Waits::Pause | Waits::Turn(_) => {}
        }
    }

    /// Gives a connection its turn. Returns the work that was done.
    fn serve(&mut self, number: u64) -> usize {
        let mut turn = Turn::new();
        let Some(slot) = self.slots.get_mut(&number) else {
            return turn.done();
        };
        let Waits::Turn(since) = slot.waits else {
            return turn.done();
        };
        let work = || slot.client.turn(&mut self.scratch, since, &mut turn);
        let Some(wants) = isolated(work) else {
            self.scratch.wipe();
            slot.client.admission().note_panic();
            self.close(number);
            return turn.done();
        };
        slot.waits = Waits::Pause;
        match wants {
            Wants::Event(events) => slot.waits = Waits::For(events),
            Wants::Turn => self.queue(number, Instant::now()),
            // No client waits for the end of this pause.
            Wants::Pause(_) if slot.is_gone => self.close(number),
            Wants::Pause(time) => {
                self.events.pauses.begin(Instant::now() + time, number);
                if C::HAS_TURNS_IN_PAUSE {
                    self.queue(number, Instant::now());
                }
            }
            Wants::End => self.close(number),
            Wants::HostileEnd => {
                slot.client.admission().note_hostile();
                self.close(number);
            }
        }
        turn.done()
    }

    /// Closes a connection, if it is open.
    pub(crate) fn close(&mut self, number: u64) {
        if self.slots.remove(&number).is_some() {
            self.events.pauses.cancel(number);
        }
    }
}
