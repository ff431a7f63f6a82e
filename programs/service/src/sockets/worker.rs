//! A thread that serves sockets. All workers accept from the same listeners; each serves the connections it accepted.

use super::connection::{Connection, SENT_AT_ONCE};
use crate::admission::Admission;
use crate::clients::{Clients, OTHER};
use crate::connections::Closer;
use crate::event_loop::{ACCEPTED_AT_ONCE, EventLoop, Wake};
use crate::heartbeats::Heartbeat;
use crate::listener::Listener;
use crate::state::State;
use crate::wipe::Scratch;
use rustix::event::epoll::{self, EventData, EventFlags};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The pause in which other workers close connections that gave way to those that this one accepts.
const CLOSING_PAUSE: Duration = Duration::from_millis(1);

/// One worker.
pub(super) struct Worker {
    state: Arc<State>,
    clients: Clients<Connection>,
    /// The connections that give way to others, which another worker may have accepted.
    closer: Arc<Closer>,
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
        let closer = Arc::new(Closer::new()?);
        // Edge-triggered: each order wakes the worker once, which need not read the descriptor.
        let (key, flags) = (
            EventData::new_u64(events.key(OTHER)),
            EventFlags::IN | EventFlags::ET,
        );
        epoll::add(&*events.epoll, &closer.told, key, flags)?;
        Ok(Self {
            state,
            clients: Clients::new(events, Scratch::new(SENT_AT_ONCE)),
            closer,
        })
    }

    /// Serves until the end.
    pub(super) fn run(mut self) {
        while self.round().is_some() {}
    }

    /// Learns what has happened, then gives turns. `None` at the end.
    fn round(&mut self) -> Option<()> {
        let (woke, others) = self.clients.learn()?;
        self.close_what_gave_way();
        for wake in others {
            if let Wake::Accept(listener) = wake {
                let mut left = ACCEPTED_AT_ONCE;
                while let Some(stream) = self.clients.events.accept(listener, &mut left, woke) {
                    self.add(listener, stream, woke);
                    if self.state.connections.are_closing() {
                        // The rest waits in the queue, the next for this time at most.
                        self.clients.events.pause_accepting(woke, CLOSING_PAUSE);
                        break;
                    }
                }
            }
        }
        self.clients.give_turns();
        Some(())
    }

    fn add(&mut self, listener: usize, stream: OwnedFd, woke: Instant) {
        let listener = &self.clients.events.listeners[listener];
        let (door, family, closer) = (listener.door, listener.family, self.closer.clone());
        let admission = Admission::admit(&self.state, door, family, &stream, woke, Some(closer));
        if let Some(admission) = admission {
            // Without a place in epoll it is closed.
            let _ = self.clients.add(Connection::new(stream, admission), woke);
        }
        // At once, so that their descriptors are free for the next.
        self.close_what_gave_way();
    }

    fn close_what_gave_way(&mut self) {
        let close = |number| self.clients.close(number);
        self.state.connections.close_with(&self.closer, close);
    }
}

#[cfg(test)]
#[path = "worker_tests.rs"]
mod tests;
