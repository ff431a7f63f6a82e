//! A thread that serves sockets. All workers accept from the same listeners; each serves the connections it accepted.

use super::connection::{Connection, Scratch, Wants};
use super::listener::Listener;
use crate::admission::Admission;
use crate::state::State;
use core::cmp::Reverse;
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The key of the descriptor that ends the worker; listeners and connections have the keys after it.
const END_KEY: u64 = 0;

/// The time for which a worker accepts nothing after a failure, such as a lack of descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

struct Slot {
    connection: Connection,
    number: u64,
    key: u64,
    interest: EventFlags,
}

/// One worker.
pub(super) struct Worker {
    state: Arc<State>,
    listeners: Arc<[Listener]>,
    epoll: OwnedFd,
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    /// Connections that wait for a time: when, the slot, and the number of the connection.
    paused: BinaryHeap<Reverse<(Instant, usize, u64)>>,
    /// The time from which the worker accepts again. `None` while it accepts.
    accepts_from: Option<Instant>,
    scratch: Scratch,
}

impl Worker {
    /// `end` becomes readable when the worker has to end.
    pub(super) fn new(
        state: Arc<State>,
        listeners: Arc<[Listener]>,
        end: &impl AsFd,
    ) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, end, EventData::new_u64(END_KEY), EventFlags::IN)?;
        let worker = Self {
            state,
            listeners,
            epoll,
            slots: Vec::new(),
            free: Vec::new(),
            paused: BinaryHeap::new(),
            accepts_from: None,
            scratch: Scratch::new(),
        };
        worker.listen()?;
        Ok(worker)
    }

    fn listen(&self) -> io::Result<()> {
        for (key, listener) in (1..).zip(self.listeners.iter()) {
            // One of the workers wakes for a new connection, not all.
            let flags = EventFlags::IN | EventFlags::EXCLUSIVE;
            epoll::add(&self.epoll, listener, EventData::new_u64(key), flags)?;
        }
        Ok(())
    }

    /// Serves until the end.
    pub(super) fn run(mut self) {
        let mut events = Vec::with_capacity(256);
        loop {
            let timeout = self.next_timeout();
            events.clear();
            let waited = epoll::wait(
                &self.epoll,
                rustix::buffer::spare_capacity(&mut events),
                timeout.as_ref(),
            );
            if waited.is_err_and(|error| error != Errno::INTR) {
                return;
            }
            let woke = Instant::now();
            for event in &events {
                let event: &epoll::Event = event;
                let key = event.data.u64();
                let first = 1 + self.listeners.len() as u64;
                if key == END_KEY {
                    return;
                } else if key < first {
                    self.accept(key as usize - 1, woke);
                } else {
                    self.wake((key - first) as usize, event.flags, woke);
                }
            }
            self.resume(woke);
        }
    }

    /// The time to the next pause that ends.
    fn next_timeout(&self) -> Option<Timespec> {
        let next = self.paused.peek().map(|Reverse((at, ..))| *at);
        let next = [next, self.accepts_from].into_iter().flatten().min()?;
        let time = next.saturating_duration_since(Instant::now());
        // 50 us more, since a worker that wakes a moment too early has to wait a second time.
        let time = time + Duration::from_micros(50);
        Timespec::try_from(time).ok()
    }

    fn resume(&mut self, now: Instant) {
        if self.accepts_from.is_some_and(|at| at <= now) {
            self.accepts_from = None;
            let _ = self.listen();
        }
        while self
            .paused
            .peek()
            .is_some_and(|Reverse((at, ..))| *at <= now)
        {
            let Some(Reverse((_, place, number))) = self.paused.pop() else {
                return;
            };
            let is_same =
                |slot: &Option<Slot>| slot.as_ref().is_some_and(|slot| slot.number == number);
            if self.slots.get(place).is_some_and(is_same) {
                self.serve(place, now);
            }
        }
    }

    fn accept(&mut self, place: usize, woke: Instant) {
        // At most 16 at once, so that a flood of new connections does not starve the open ones.
        for _ in 0..16 {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            match accept_with(&self.listeners[place], flags) {
                Ok(stream) => self.add(place, stream, woke),
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(Errno::AGAIN) => return,
                Err(error) => {
                    tracing::warn!("no connection can be accepted: {error}");
                    for listener in self.listeners.iter() {
                        let _ = epoll::delete(&self.epoll, listener);
                    }
                    self.accepts_from = Some(woke + ACCEPT_PAUSE);
                    return;
                }
            }
        }
    }

    fn add(&mut self, place: usize, stream: OwnedFd, woke: Instant) {
        let listener = &self.listeners[place];
        let (door, family) = (listener.door, listener.family);
        let admission = Admission::admit(&self.state, door, family, &stream, woke);
        let Some(admission) = admission else {
            return;
        };
        let slot = self.free.pop().unwrap_or(self.slots.len());
        let key = 1 + (self.listeners.len() + slot) as u64;
        let interest = EventFlags::IN;
        if epoll::add(&self.epoll, &stream, EventData::new_u64(key), interest).is_err() {
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
        let wants = slot.connection.work(&self.state, &mut self.scratch, woke);
        let interest = match wants {
            Wants::Input => EventFlags::IN,
            Wants::Room => EventFlags::OUT,
            Wants::Pause(time) => {
                self.paused.push(Reverse((woke + time, place, slot.number)));
                // Errors and the end of the connection are reported all the same.
                EventFlags::empty()
            }
            Wants::End => return self.remove(place, false),
            Wants::HostileEnd => return self.remove(place, true),
        };
        if interest != slot.interest {
            slot.interest = interest;
            let data = EventData::new_u64(slot.key);
            if epoll::modify(&self.epoll, &slot.connection.stream, data, interest).is_err() {
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
