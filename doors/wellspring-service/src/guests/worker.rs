//! The thread that serves all guests, each in its turn.

use super::calls::GuestCalls;
use super::device::Device;
use super::guest::{Guest, Scratch, Wants};
use crate::admission::Admission;
use crate::event_loop::{EventLoop, Wake};
use crate::family::Family;
use crate::listener::Listener;
use crate::process::panics::isolated;
use crate::state::State;
use rustix::event::epoll::{self, EventData, EventFlags};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

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
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    /// The guests that have something to do, in the order of their turns.
    turns: VecDeque<usize>,
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
        let heartbeat = state.heartbeats.watch("guests".into());
        Ok(Self {
            state,
            events: EventLoop::new(listeners.into(), EventFlags::empty(), end, heartbeat)?,
            slots: Vec::new(),
            free: Vec::new(),
            turns: VecDeque::new(),
            scratch: Scratch::new(),
            calls,
        })
    }

    /// Serves until the end.
    pub(super) fn run(mut self) {
        if let Err(error) = self.calls.answer_here() {
            tracing::warn!("calls to guests cannot be interrupted: {error}");
        }
        let mut wakes = Vec::new();
        while let Some(woke) = self.events.wait(!self.turns.is_empty(), &mut wakes) {
            for wake in wakes.drain(..) {
                match wake {
                    Wake::Accept(listener) => self.accept(listener, woke),
                    Wake::Event(place, _) => self.queue(place),
                    Wake::PauseEnd(place, number) => self.resume(place, number),
                }
            }
            // One turn for each guest that has something to do; then new events are looked for.
            for _ in 0..self.turns.len() {
                if let Some(place) = self.turns.pop_front() {
                    self.turn(place, woke);
                }
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

    fn accept(&mut self, listener: usize, woke: Instant) {
        let door = self.events.listeners[listener].door;
        for stream in self.events.accept_some(listener, woke) {
            let admission = Admission::admit(&self.state, door, Family::Unix, &stream, woke);
            let added = admission.map(|admission| self.add(stream, admission));
            if let Some(Err(error)) = added {
                tracing::warn!("a guest cannot be served: {error}");
            }
        }
    }

    fn add(&mut self, stream: OwnedFd, admission: Admission) -> io::Result<()> {
        let place = self.free.last().copied().unwrap_or(self.slots.len());
        let key = self.events.key(place);
        let device = Device::new(self.events.epoll.clone(), key);
        let guest = Guest::new(stream, admission, device)?;
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
            Wants::Event => {}
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
