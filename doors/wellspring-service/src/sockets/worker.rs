//! A thread that serves sockets. All workers accept from the same listeners; each serves the connections it accepted.

use super::connection::{Connection, Scratch, Wants};
use crate::admission::Admission;
use crate::event_loop::{EventLoop, Wake};
use crate::listener::Listener;
use crate::process::panics::isolated;
use crate::state::State;
use rustix::event::epoll::{self, EventData, EventFlags};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

struct Slot {
    connection: Connection,
    number: u64,
    key: u64,
    interest: EventFlags,
}

/// One worker.
pub(super) struct Worker {
    state: Arc<State>,
    events: EventLoop,
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    scratch: Scratch,
}

impl Worker {
    /// `end` becomes readable when the worker has to end.
    pub(super) fn new(
        state: Arc<State>,
        listeners: Arc<[Listener]>,
        end: &impl AsFd,
    ) -> io::Result<Self> {
        Ok(Self {
            state,
            // One of the workers wakes for a new connection, not all.
            events: EventLoop::new(listeners, EventFlags::EXCLUSIVE, end)?,
            slots: Vec::new(),
            free: Vec::new(),
            scratch: Scratch::new(),
        })
    }

    /// Serves until the end.
    pub(super) fn run(mut self) {
        let mut wakes = Vec::new();
        while let Some(woke) = self.events.wait(false, &mut wakes) {
            for wake in wakes.drain(..) {
                match wake {
                    Wake::Accept(listener) => self.accept(listener, woke),
                    Wake::Event(place, flags) => self.wake(place, flags, woke),
                    Wake::PauseEnd(place, number) => self.resume(place, number, woke),
                }
            }
        }
    }

    fn resume(&mut self, place: usize, number: u64, woke: Instant) {
        let is_same = |slot: &Option<Slot>| slot.as_ref().is_some_and(|slot| slot.number == number);
        if self.slots.get(place).is_some_and(is_same) {
            self.serve(place, woke);
        }
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
        let slot = self.free.pop().unwrap_or(self.slots.len());
        let key = self.events.key(slot);
        let interest = EventFlags::IN;
        if epoll::add(
            &*self.events.epoll,
            &stream,
            EventData::new_u64(key),
            interest,
        )
        .is_err()
        {
            self.free.push(slot);
            return;
        }
        if slot == self.slots.len() {
            self.slots.push(None);
        }
        let number = admission.number;
        self.slots[slot] = Some(Slot {
            connection: Connection::new(stream, admission),
            number,
            key,
            interest,
        });
        self.serve(slot, woke);
    }

    fn wake(&mut self, place: usize, flags: EventFlags, woke: Instant) {
        let is_paused = |slot: &Slot| slot.interest.is_empty();
        if self
            .slots
            .get(place)
            .and_then(Option::as_ref)
            .is_some_and(is_paused)
        {
            // The other end has closed it. The kernel would report that again and again until the pause ends.
            if flags.intersects(EventFlags::HUP | EventFlags::ERR) {
                self.remove(place, false);
            }
            return;
        }
        self.serve(place, woke);
    }

    fn serve(&mut self, place: usize, woke: Instant) {
        let Some(slot) = self.slots.get_mut(place).and_then(Option::as_mut) else {
            return;
        };
        let work = || slot.connection.work(&self.state, &mut self.scratch, woke);
        let wants = isolated(work).unwrap_or_else(|| {
            self.scratch.wipe();
            Wants::HostileEnd
        });
        let interest = match wants {
            Wants::Input => EventFlags::IN,
            Wants::Room => EventFlags::OUT,
            Wants::Pause(time) => {
                self.events.pause(woke + time, place, slot.number);
                // Errors and the end of the connection are reported all the same.
                EventFlags::empty()
            }
            Wants::End => return self.remove(place, false),
            Wants::HostileEnd => return self.remove(place, true),
        };
        if interest != slot.interest {
            slot.interest = interest;
            let data = EventData::new_u64(slot.key);
            if epoll::modify(&*self.events.epoll, &slot.connection.stream, data, interest).is_err()
            {
                self.remove(place, false);
            }
        }
    }

    fn remove(&mut self, place: usize, is_hostile: bool) {
        let Some(slot) = self.slots[place].take() else {
            return;
        };
        if is_hostile {
            slot.connection.admission.note_hostile();
        }
        self.free.push(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Address, LimitsSection};
    use crate::doors::{Door, Doors};
    use crate::meters::get;
    use crate::users::Users;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use wellspring::Engine;

    /// A request for 8 bytes by the protocol of EGD.
    const REQUEST: [u8; 2] = [2, 8];

    fn worker() -> Worker {
        let engine = Engine::builder().sources([]).seed(&[7; 32]);
        let users = Users::new(&LimitsSection::default());
        let state = State::new(engine.build().unwrap(), Doors::default(), users);
        let address = Address::Tcp(([127, 0, 0, 1], 0).into());
        let listener = Listener::open(Door::Egd, &address, 0).unwrap();
        let end = rustix::event::eventfd(0, rustix::event::EventfdFlags::empty()).unwrap();
        Worker::new(Arc::new(state), [listener].into(), &end).unwrap()
    }

    #[test]
    fn a_panic_in_the_work_for_a_connection_ends_that_connection_alone() {
        let mut worker = worker();
        let (mut other, theirs) = UnixStream::pair().unwrap();
        worker.add(0, theirs.into(), Instant::now());
        let (mut client, theirs) = UnixStream::pair().unwrap();
        client.write_all(&REQUEST).unwrap();
        // Any answer is longer than this buffer.
        let scratch = std::mem::take(&mut worker.scratch.0);
        worker.add(0, theirs.into(), Instant::now());
        worker.scratch.0 = scratch;
        assert_eq!(client.read(&mut [0; 8]).unwrap(), 0, "it is closed");
        assert_eq!(get(&worker.state.doors.meter(Door::Egd).open_now), 1);

        other.write_all(&REQUEST).unwrap();
        worker.wake(0, EventFlags::IN, Instant::now());
        other.read_exact(&mut [0; 8]).unwrap();
    }
}
