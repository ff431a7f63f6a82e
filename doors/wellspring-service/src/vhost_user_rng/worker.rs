//! The thread that serves the guests of one user, each in its turn.

use super::device::Device;
use super::guest::Guest;
use super::inbox::{Arrival, Inbox};
use super::notify::GuestCalls;
use super::request::MAX_REQUEST_BYTES;
use crate::event_loop::{EventLoop, Wake, Wants};
use crate::heartbeats::Heartbeat;
use crate::process::panics::isolated;
use crate::state::State;
use crate::wipe::Scratch;
use rustix::event::epoll::{self, EventData, EventFlags};
use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

/// The place of the inbox among those of the guests.
const INBOX: usize = 0;

struct Slot {
    guest: Guest,
    /// Whether it is among those that wait for their turn.
    is_queued: bool,
    /// Whether requests wait for the end of a pause.
    is_paused: bool,
}

pub(super) struct Worker {
    state: Arc<State>,
    events: EventLoop,
    /// The guests by their places; none is at that of the inbox.
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    inbox: Arc<Inbox>,
    /// The guests that have something to do, in the order of their turns.
    turns: VecDeque<usize>,
    scratch: Scratch,
    calls: Arc<GuestCalls>,
}

impl Worker {
    /// `end` becomes readable when the worker has to end.
    pub(super) fn new(
        state: Arc<State>,
        end: &impl AsFd,
        inbox: Arc<Inbox>,
        calls: Arc<GuestCalls>,
    ) -> io::Result<Self> {
        // The watchdog does not look at this thread, which a hostile front end may keep waiting: `Threads` frees it.
        let unwatched = Heartbeat::default();
        let events = EventLoop::new(Arc::new([]), EventFlags::empty(), end, unwatched)?;
        // Edge-triggered: each arrival wakes the thread once, which need not read the descriptor.
        let (key, flags) = (events.key(INBOX), EventFlags::IN | EventFlags::ET);
        epoll::add(&*events.epoll, &*inbox, EventData::new_u64(key), flags)?;
        Ok(Self {
            state,
            events,
            slots: vec![None],
            free: Vec::new(),
            inbox,
            turns: VecDeque::new(),
            scratch: Scratch::new(MAX_REQUEST_BYTES),
            calls,
        })
    }

    /// Serves until the end, or until the last guest has gone.
    pub(super) fn run(mut self) {
        if let Err(error) = self.calls.answer_here() {
            tracing::warn!("calls to guests cannot be interrupted: {error}");
        }
        let mut wakes = Vec::new();
        while let Some(woke) = self.events.wait(!self.turns.is_empty(), &mut wakes) {
            for wake in wakes.drain(..) {
                match wake {
                    Wake::Event(INBOX, _) => self.welcome(),
                    Wake::Event(place, _) => self.queue(place),
                    Wake::PauseEnd(place, number) => self.resume(place, number),
                    Wake::Accept(_) => {}
                }
            }
            // One turn for each guest that has something to do; then new events are looked for.
            for _ in 0..self.turns.len() {
                if let Some(place) = self.turns.pop_front() {
                    self.turn(place, woke);
                }
            }
            if self.slots.len() == 1 + self.free.len() && self.inbox.close_if_empty() {
                return;
            }
        }
    }

    fn resume(&mut self, place: usize, number: u64) {
        let slot = self.slots.get_mut(place).and_then(Option::as_mut);
        if let Some(slot) = slot.filter(|slot| slot.guest.admission.number == number) {
            slot.is_paused = false;
            self.queue(place);
        }
    }

    fn queue(&mut self, place: usize) {
        let slot = self.slots.get_mut(place).and_then(Option::as_mut);
        if let Some(slot) = slot.filter(|slot| !slot.is_queued) {
            slot.is_queued = true;
            self.turns.push_back(place);
        }
    }

    fn welcome(&mut self) {
        for arrival in self.inbox.take() {
            if let Err(error) = self.add(arrival) {
                tracing::warn!("a guest cannot be served: {error}");
            }
        }
    }

    fn add(&mut self, arrival: Arrival) -> io::Result<()> {
        let place = self.free.last().copied().unwrap_or(self.slots.len());
        let key = self.events.key(place);
        let device = Device::new(self.events.epoll.clone(), key, Arc::new(arrival.pass));
        let guest = Guest::new(arrival.stream, arrival.admission, device)?;
        // Edge-triggered: a part of a message wakes the worker once, not again and again.
        let flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(
            &*self.events.epoll,
            guest.stream(),
            EventData::new_u64(key),
            flags,
        )?;
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
        let wants = isolated(turn).unwrap_or_else(|| {
            self.scratch.wipe();
            Wants::HostileEnd
        });
        match wants {
            Wants::Event(_) => {}
            Wants::Turn => self.queue(place),
            Wants::Pause(time) => {
                let at = Instant::now() + time;
                slot.is_paused = true;
                let number = slot.guest.admission.number;
                self.events.pause(at, place, number);
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
            self.events.end_pause(place);
            self.free.push(place);
        }
    }
}
