//! The thread that serves all guests, each in its turn.

use super::calls::GuestCalls;
use super::device::Device;
use super::guest::{Guest, Scratch, Wants};
use crate::admission::Admission;
use crate::sockets::{Family, Listener};
use crate::state::State;
use core::cmp::Reverse;
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The key of the descriptor that ends the worker; listeners and guests have the keys after it.
const END_KEY: u64 = 0;

/// The time for which the worker accepts no guest after a failure, such as a lack of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

struct Slot {
    guest: Guest,
    /// Whether it is among those that wait for their turn.
    is_queued: bool,
    /// Whether requests wait for the end of a pause.
    is_paused: bool,
}

pub(super) struct Worker {
    state: Arc<State>,
    listeners: Vec<Listener>,
    epoll: Arc<OwnedFd>,
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    /// The guests that have something to do, in the order of their turns.
    turns: VecDeque<usize>,
    /// When pauses end, the slot, and the number of the connection.
    paused: BinaryHeap<Reverse<(Instant, usize, u64)>>,
    accepts_from: Option<Instant>,
    scratch: Scratch,
    calls: Arc<GuestCalls>,
}

impl Worker {
    /// `end` becomes readable when the worker has to end.
    pub(super) fn new(
        state: Arc<State>,
        listeners: Vec<Listener>,
        end: &impl AsFd,
        calls: Arc<GuestCalls>,
    ) -> io::Result<Self> {
        let epoll = Arc::new(epoll::create(epoll::CreateFlags::CLOEXEC)?);
        epoll::add(&*epoll, end, EventData::new_u64(END_KEY), EventFlags::IN)?;
        let worker = Self {
            state,
            listeners,
            epoll,
            slots: Vec::new(),
            free: Vec::new(),
            turns: VecDeque::new(),
            paused: BinaryHeap::new(),
            accepts_from: None,
            scratch: Scratch::new(),
            calls,
        };
        worker.listen()?;
        Ok(worker)
    }

    fn listen(&self) -> io::Result<()> {
        for (key, listener) in (1..).zip(&self.listeners) {
            epoll::add(
                &*self.epoll,
                listener,
                EventData::new_u64(key),
                EventFlags::IN,
            )?;
        }
        Ok(())
    }

    /// Serves until the end.
    pub(super) fn run(mut self) {
        if let Err(error) = self.calls.answer_here() {
            tracing::warn!("calls to guests cannot be interrupted: {error}");
        }
        let mut events = Vec::with_capacity(256);
        loop {
            let timeout = self.next_timeout();
            events.clear();
            let waited = epoll::wait(
                &*self.epoll,
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
                    self.queue((key - first) as usize);
                }
            }
            self.resume(woke);
            // One turn for each guest that has something to do; then new events are looked for.
            for _ in 0..self.turns.len() {
                if let Some(place) = self.turns.pop_front() {
                    self.turn(place, woke);
                }
            }
        }
    }

    /// The time to the next pause that ends; no time while a guest waits for its turn.
    fn next_timeout(&self) -> Option<Timespec> {
        if !self.turns.is_empty() {
            return Some(Timespec::default());
        }
        let next = self.paused.peek().map(|Reverse((at, ..))| *at);
        let next = [next, self.accepts_from].into_iter().flatten().min()?;
        let time = next.saturating_duration_since(Instant::now());
        Timespec::try_from(time + Duration::from_micros(50)).ok()
    }

    fn resume(&mut self, now: Instant) {
        if self.accepts_from.is_some_and(|at| at <= now) {
            self.accepts_from = None;
            let _ = self.listen();
        }
        while let Some(Reverse((at, place, number))) = self.paused.peek().copied()
            && at <= now
        {
            self.paused.pop();
            let slot = self.slots.get_mut(place).and_then(Option::as_mut);
            if let Some(slot) = slot.filter(|slot| slot.guest.admission.number == number) {
                slot.is_paused = false;
                self.queue(place);
            }
        }
    }

    fn queue(&mut self, place: usize) {
        let slot = self.slots.get_mut(place).and_then(Option::as_mut);
        if let Some(slot) = slot.filter(|slot| !slot.is_queued) {
            slot.is_queued = true;
            self.turns.push_back(place);
        }
    }

    fn accept(&mut self, place: usize, woke: Instant) {
        // At most 16 at once, so that a flood of new connections does not starve the open ones.
        for _ in 0..16 {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            match accept_with(&self.listeners[place], flags) {
                Ok(stream) => {
                    let door = self.listeners[place].door;
                    let admission =
                        Admission::admit(&self.state, door, Family::Unix, &stream, woke);
                    if let Some(admission) = admission {
                        let added = self.add(stream, admission);
                        if let Err(error) = added {
                            tracing::warn!("a guest cannot be served: {error}");
                        }
                    }
                }
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(Errno::AGAIN) => return,
                Err(error) => {
                    tracing::warn!("no guest can be accepted: {error}");
                    for listener in &self.listeners {
                        let _ = epoll::delete(&*self.epoll, listener);
                    }
                    self.accepts_from = Some(woke + ACCEPT_PAUSE);
                    return;
                }
            }
        }
    }

    fn add(&mut self, stream: OwnedFd, admission: Admission) -> io::Result<()> {
        let place = self.free.last().copied().unwrap_or(self.slots.len());
        let key = 1 + (self.listeners.len() + place) as u64;
        let device = Device::new(self.epoll.clone(), key);
        let guest = Guest::new(stream, admission, device)?;
        // Edge-triggered: a part of a message wakes the worker once, not again and again.
        let flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(&*self.epoll, guest.stream(), EventData::new_u64(key), flags)?;
        if self.free.pop().is_none() {
            self.slots.push(None);
        }
        self.slots[place] = Some(Slot {
            guest,
            is_queued: false,
            is_paused: false,
        });
        Ok(())
    }

    fn turn(&mut self, place: usize, woke: Instant) {
        let Some(slot) = self.slots.get_mut(place).and_then(Option::as_mut) else {
            return;
        };
        slot.is_queued = false;
        let is_paused = slot.is_paused;
        let (state, scratch, calls) = (&*self.state, &mut self.scratch, &*self.calls);
        let turn = || slot.guest.turn(state, scratch, calls, woke, is_paused);
        // A fault in the code of this guest ends this guest, and no other.
        match catch_unwind(AssertUnwindSafe(turn)).unwrap_or(Wants::HostileEnd) {
            Wants::Event => {}
            Wants::Turn => self.queue(place),
            Wants::Pause(time) => {
                let at = Instant::now() + time;
                slot.is_paused = true;
                let number = slot.guest.admission.number;
                self.paused.push(Reverse((at, place, number)));
                // There may be messages left that the turn has not read.
                self.queue(place);
            }
            Wants::End => self.remove(place, false),
            Wants::HostileEnd => self.remove(place, true),
        }
    }

    fn remove(&mut self, place: usize, is_hostile: bool) {
        if let Some(slot) = self.slots[place].take() {
            if is_hostile {
                slot.guest.admission.note_hostile();
            }
            self.free.push(place);
        }
    }
}
