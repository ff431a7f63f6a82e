//! The thread that serves the guests of one user, each in its turn.

use super::device::Device;
use super::guest::Guest;
use super::inbox::{Arrival, Inbox};
use super::notify::GuestCalls;
use super::request::MAX_REQUEST_BYTES;
use crate::clients::{Clients, OTHER};
use crate::event_loop::EventLoop;
use crate::heartbeats::Heartbeat;
use crate::wipe::Scratch;
use rustix::event::epoll::{self, EventData, EventFlags};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

pub(super) struct Worker {
    clients: Clients<Guest>,
    inbox: Arc<Inbox>,
    calls: Arc<GuestCalls>,
}

impl Worker {
    /// `end` becomes readable when the worker has to end.
    pub(super) fn new(
        end: &impl AsFd,
        inbox: Arc<Inbox>,
        calls: Arc<GuestCalls>,
    ) -> io::Result<Self> {
        // The watchdog does not look at this thread, which a hostile front end may keep waiting: `Threads` frees it.
        let unwatched = Heartbeat::default();
        let events = EventLoop::new(Arc::new([]), EventFlags::empty(), end, unwatched)?;
        // Edge-triggered: each arrival wakes the thread once, which need not read the descriptor.
        let (key, flags) = (events.key(OTHER), EventFlags::IN | EventFlags::ET);
        epoll::add(
            &*events.epoll,
            &inbox.arrived,
            EventData::new_u64(key),
            flags,
        )?;
        Ok(Self {
            clients: Clients::new(events, Scratch::new(MAX_REQUEST_BYTES)),
            inbox,
            calls,
        })
    }

    /// Serves until the end, or until the last guest has gone.
    pub(super) fn run(mut self) {
        if let Err(error) = self.calls.answer_here() {
            log::warn!("calls to guests cannot be interrupted: {error}");
        }
        while let Some((woke, _)) = self.clients.learn() {
            for arrival in self.inbox.take() {
                if let Err(error) = self.add(arrival, woke) {
                    log::warn!("a guest cannot be served: {error}");
                }
            }
            self.clients.give_turns();
            if self.clients.count() == 0 && self.inbox.close_if_empty() {
                return;
            }
        }
    }

    fn add(&mut self, arrival: Arrival, woke: Instant) -> io::Result<()> {
        let events = &self.clients.events;
        let (epoll, key) = (events.epoll.clone(), events.key(arrival.admission.number));
        let device = Device::new(epoll, key, arrival.pass);
        let (stream, calls) = (arrival.stream, self.calls.clone());
        let guest = Guest::new(stream, arrival.admission, device, calls)?;
        self.clients.add(guest, woke)
    }
}
