//! A thread that serves sockets. All workers accept from the same listeners; each serves the connections it accepted.

use super::connection::{Connection, SENT_AT_ONCE};
use crate::admission::Admission;
use crate::clients::Clients;
use crate::event_loop::{EventLoop, Wake};
use crate::heartbeats::Heartbeat;
use crate::listener::Listener;
use crate::state::State;
use crate::wipe::Scratch;
use rustix::event::epoll::EventFlags;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

/// One worker.
pub(super) struct Worker {
    state: Arc<State>,
    clients: Clients<Connection>,
}

impl Worker {
    /// `end` becomes readable when the worker has to end.
    pub(super) fn new(
        state: Arc<State>,
        listeners: Arc<[Listener]>,
        end: &impl AsFd,
        heartbeat: Heartbeat,
    ) -> io::Result<Self> {
        // One of the workers wakes for a new connection, not all.
        let events = EventLoop::new(listeners, EventFlags::EXCLUSIVE, end, heartbeat)?;
        let clients = Clients::new(events, Scratch::new(SENT_AT_ONCE));
        Ok(Self { state, clients })
    }

    /// Serves until the end.
    pub(super) fn run(mut self) {
        while self.round().is_some() {}
    }

    /// Learns what has happened, then gives turns. `None` at the end.
    fn round(&mut self) -> Option<()> {
        let (woke, others) = self.clients.learn()?;
        for wake in others {
            if let Wake::Accept(listener) = wake {
                for stream in self.clients.events.accept_some(listener, woke) {
                    self.add(listener, stream, woke);
                }
            }
        }
        self.clients.give_turns();
        Some(())
    }

    fn add(&mut self, listener: usize, stream: OwnedFd, woke: Instant) {
        let listener = &self.clients.events.listeners[listener];
        let (door, family) = (listener.door, listener.family);
        if let Some(admission) = Admission::admit(&self.state, door, family, &stream, woke) {
            // Without a place in epoll it is closed.
            let _ = self.clients.add(Connection::new(stream, admission), woke);
        }
    }
}

#[cfg(test)]
#[path = "worker_tests.rs"]
mod tests;
