//! A thread that serves sockets. All workers accept from the same listeners; each serves the connections it accepted.

use super::connection::{Connection, SCRATCH_BYTES, TURN_BYTES, Turn};
use crate::admission::Admission;
use crate::event_loop::{EventLoop, Wake, Wants};
use crate::heartbeats::Heartbeat;
use crate::listener::Listener;
use crate::process::panics::isolated;
use crate::state::State;
use crate::turns::Turns;
use crate::wipe::Scratch;
use rustix::event::epoll::{self, EventData, EventFlags};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

/// The other end has closed the connection, or it broke.
const GONE: EventFlags = EventFlags::HUP.union(EventFlags::ERR);

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

struct Slot {
    connection: Connection,
    waits: Waits,
    /// The kernel has reported that the other end is gone. It reports each change once.
    is_gone: bool,
}

/// One worker.
pub(super) struct Worker {
    state: Arc<State>,
    events: EventLoop,
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    turns: Turns<usize>,
    scratch: Scratch,
}

impl Worker {
    /// `end` becomes readable when the worker has to end.
    pub(super) fn new(
        state: Arc<State>,
        listeners: Arc<[Listener]>,
        end: &impl AsFd,
        heartbeat: Heartbeat,
    ) -> io::Result<Self> {
        Ok(Self {
            state,
            // One of the workers wakes for a new connection, not all.
            events: EventLoop::new(listeners, EventFlags::EXCLUSIVE, end, heartbeat)?,
            slots: Vec::new(),
            free: Vec::new(),
            turns: Turns::default(),
            scratch: Scratch::new(SCRATCH_BYTES),
        })
    }

    /// Serves until the end.
    pub(super) fn run(mut self) {
        let mut wakes = Vec::new();
        while self.round(&mut wakes).is_some() {}
    }

    /// Learns what has happened, then gives turns until one turn's work is done. So what happens meanwhile is learned
    /// soon, and many short turns cost one call of the kernel. `None` at the end.
    fn round(&mut self, wakes: &mut Vec<Wake>) -> Option<()> {
        let woke = self.events.wait(!self.turns.is_empty(), wakes)?;
        for wake in wakes.drain(..) {
            match wake {
                Wake::Accept(listener) => self.accept(listener, woke),
                Wake::Event(place, flags) => self.wake(place, flags, woke),
                Wake::PauseEnd(place, number) => self.resume(place, number, woke),
            }
        }
        let mut done = 0;
        while done < TURN_BYTES
            && let Some(place) = self.turns.take()
        {
            done += self.serve(place);
        }
        Some(())
    }

    fn accept(&mut self, listener: usize, woke: Instant) {
        for stream in self.events.accept_some(listener, woke) {
            self.add(listener, stream, woke);
        }
    }

    fn add(&mut self, listener: usize, stream: OwnedFd, woke: Instant) {
        let listener = &self.events.listeners[listener];
        let (door, family) = (listener.door, listener.family);
        let admission = Admission::admit(&self.state, door, family, &stream, woke);
        let Some(admission) = admission else {
            return;
        };
        let place = self.free.pop().unwrap_or(self.slots.len());
        let key = EventData::new_u64(self.events.key(place));
        // Each change is reported once, and no call is needed when a connection waits for something else.
        let changes = EventFlags::IN | EventFlags::OUT | EventFlags::ET;
        if epoll::add(&*self.events.epoll, &stream, key, changes).is_err() {
            self.free.push(place);
            return;
        }
        if place == self.slots.len() {
            self.slots.push(None);
        }
        self.slots[place] = Some(Slot {
            connection: Connection::new(stream, admission),
            waits: Waits::For(EventFlags::IN),
            is_gone: false,
        });
        self.queue(place, woke);
    }

    /// Gives the connection at this place its next turn, for which it waits since then.
    fn queue(&mut self, place: usize, since: Instant) {
        if let Some(slot) = self.slots.get_mut(place).and_then(Option::as_mut) {
            slot.waits = Waits::Turn(since);
            let peer = slot.connection.admission.meter.peer;
            self.turns.add(peer, place);
        }
    }

    fn wake(&mut self, place: usize, flags: EventFlags, woke: Instant) {
        let Some(slot) = self.slots.get_mut(place).and_then(Option::as_mut) else {
            return;
        };
        slot.is_gone |= flags.intersects(GONE);
        match slot.waits {
            Waits::For(events) if flags.intersects(events | GONE) => self.queue(place, woke),
            Waits::Pause if slot.is_gone => self.remove(place, false),
            Waits::For(_) | Waits::Pause | Waits::Turn(_) => {}
        }
    }

    fn resume(&mut self, place: usize, number: u64, woke: Instant) {
        let slot = self.slots.get(place).and_then(Option::as_ref);
        let is_same = |slot: &Slot| slot.connection.admission.number == number;
        if slot.is_some_and(|slot| is_same(slot) && matches!(slot.waits, Waits::Pause)) {
            self.queue(place, woke);
        }
    }

    /// Gives a connection its turn. Returns the work that was done.
    fn serve(&mut self, place: usize) -> usize {
        let mut turn = Turn::new();
        let Some(slot) = self.slots.get_mut(place).and_then(Option::as_mut) else {
            return turn.done();
        };
        let Waits::Turn(since) = slot.waits else {
            return turn.done();
        };
        let (state, scratch) = (&self.state, &mut self.scratch);
        let work = || slot.connection.work(state, scratch, since, &mut turn);
        let wants = isolated(work).unwrap_or_else(|| {
            self.scratch.wipe();
            Wants::HostileEnd
        });
        match wants {
            Wants::Event(events) => slot.waits = Waits::For(events),
            Wants::Turn => self.queue(place, Instant::now()),
            // No client waits for the end of this pause.
            Wants::Pause(_) if slot.is_gone => self.remove(place, false),
            Wants::Pause(time) => {
                slot.waits = Waits::Pause;
                let number = slot.connection.admission.number;
                self.events.pause(Instant::now() + time, place, number);
            }
            Wants::End => self.remove(place, false),
            Wants::HostileEnd => self.remove(place, true),
        }
        turn.done()
    }

    fn remove(&mut self, place: usize, is_hostile: bool) {
        let Some(slot) = self.slots[place].take() else {
            return;
        };
        if is_hostile {
            slot.connection.admission.note_hostile();
        }
        self.events.end_pause(place);
        self.free.push(place);
    }
}

#[cfg(test)]
#[path = "worker_tests.rs"]
mod tests;
