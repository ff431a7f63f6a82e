//! The thread that accepts connections. It gives each to the thread of its user.

use super::inbox::Arrival;
use super::limits::GuestLimits;
use super::threads::Threads;
use crate::admission::Admission;
use crate::doors::Door;
use crate::event_loop::{EventLoop, Wake};
use crate::listener::{Family, Listener, take_descriptors};
use crate::meters::add;
use crate::state::State;
use rustix::event::epoll::EventFlags;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

pub(super) struct Acceptor {
    pub(super) state: Arc<State>,
    pub(super) limits: Arc<GuestLimits>,
    pub(super) threads: Arc<Threads>,
}

impl Acceptor {
    /// Accepts connections until `end` becomes readable.
    pub(super) fn run(self, listeners: Vec<Listener>, end: &impl AsFd) {
        let heartbeat = self.state.heartbeats.watch("guests".into());
        let events = EventLoop::new(listeners.into(), EventFlags::empty(), end, heartbeat);
        let mut events = match events {
            Ok(events) => events,
            Err(error) => return tracing::error!("no guest can be served: {error}"),
        };
        let mut wakes = Vec::new();
        while let Some(woke) = events.wait(false, &mut wakes) {
            for wake in wakes.drain(..) {
                if let Wake::Accept(listener) = wake {
                    for stream in events.accept_some(listener, woke) {
                        self.admit(stream, woke);
                    }
                }
            }
        }
    }

    fn admit(&self, stream: OwnedFd, woke: Instant) {
        let door = Door::VhostUser;
        let admission = Admission::admit(&self.state, door, Family::Unix, &stream, woke);
        let Some(admission) = admission else {
            return;
        };
        let peer = admission.meter.peer;
        let given = match self.limits.enter(peer) {
            Some(pass) => {
                // Not before: this thread closes the others, and must not wait for a descriptor that is in them.
                take_descriptors(&stream, true);
                self.threads.give(Arrival {
                    stream,
                    admission,
                    pass,
                })
            }
            None => Err(std::io::ErrorKind::QuotaExceeded.into()),
        };
        if let Err(error) = given {
            add(&self.state.doors.meter(door).refused, 1);
            tracing::debug!("a guest of user {peer} is refused: {error}");
        }
    }
}
