//! Lets a connection in, or refuses it, and counts both.

use crate::connections::ConnectionMeter;
use crate::doors::Door;
use crate::listener::Family;
use crate::meters::{DoorMeter, add, subtract};
use crate::state::State;
use crate::users::{Peer, UserMeter};
use rustix::net::sockopt;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;
use wellspring_os::trusted_file::other_end;
use wellspring_os::vsock;

/// A connection that was let in. When this is dropped, the connection no longer counts.
pub(crate) struct Admission {
    pub(crate) state: Arc<State>,
    /// Its number.
    pub(crate) number: u64,
    /// Its counters.
    pub(crate) meter: Arc<ConnectionMeter>,
    /// The counters of the user at its other end.
    pub(crate) user: Arc<UserMeter>,
}

impl Admission {
    /// Admits a connection. `None`: a limit is reached.
    pub(crate) fn admit(
        state: &Arc<State>,
        door: Door,
        family: Family,
        stream: &impl AsFd,
        since: Instant,
    ) -> Option<Self> {
        let door_meter = state.doors.meter(door);
        let (peer, process) = peer_of(family, stream);
        let user = if state.descriptors.are_left_for(peer, stream) {
            state.users.enter(peer)
        } else {
            state.descriptors.log_refusal(state.now_ns());
            Err("too few descriptors are left")
        };
        let user = match user {
            Ok(user) => user,
            Err(refusal) => {
                add(&door_meter.refused, 1);
                log::debug!("{}: user {peer} refused: {refusal}", door.name());
                return None;
            }
        };
        let meter = Arc::new(ConnectionMeter {
            door,
            peer,
            process,
            since,
            bytes: Default::default(),
            requests: Default::default(),
            faulty: Default::default(),
        });
        add(&door_meter.opened, 1);
        add(&door_meter.open_now, 1);
        let number = state.connections.add(meter.clone());
        log::debug!("{}: connection {number} of user {peer}", door.name());
        Some(Self {
            state: state.clone(),
            number,
            meter,
            user,
        })
    }

    /// Takes `bytes` from the share of the user. Returns the time to wait first, in nanoseconds. If that is not 0, nothing was
    /// taken.
    #[must_use]
    pub(crate) fn reserve(&self, bytes: u64) -> u64 {
        let users = &self.state.users;
        users.reserve(self.meter.peer, &self.user, bytes, self.state.now_ns())
    }

    /// Counts a request, of which the thread learned at this time.
    pub(crate) fn count_request(&self, since: Instant) {
        add(&self.meter.requests, 1);
        add(&self.user.requests, 1);
        self.door().latencies.count(since.elapsed());
    }

    /// Counts bytes that were handed out.
    pub(crate) fn count_bytes(&self, bytes: u64) {
        for counter in [&self.meter.bytes, &self.user.bytes, &self.door().bytes] {
            add(counter, bytes);
        }
    }

    /// The counters of its door.
    pub(crate) fn door(&self) -> &DoorMeter {
        self.state.doors.meter(self.meter.door)
    }

    /// Counts that the connection is closed because of what came in.
    pub(crate) fn note_hostile(&self) {
        add(&self.door().hostile, 1);
        let (name, number) = (self.meter.door.name(), self.number);
        log::debug!("{name}: connection {number} sent what is no request");
    }
}

/// The other end of a connection, and its process where the kernel names one.
fn peer_of(family: Family, stream: &impl AsFd) -> (Peer, Option<i32>) {
    match family {
        Family::Unix => match other_end(stream) {
            Ok((user, process)) => (
                Peer::User(user),
                Some(process).filter(|number| *number != 0),
            ),
            Err(_) => (Peer::Loopback, None),
        },
        Family::Tcp => {
            let _ = sockopt::set_tcp_nodelay(stream, true);
            (Peer::Loopback, None)
        }
        Family::Vsock => match vsock::other_machine(stream) {
            Ok(machine) => (Peer::Machine(machine), None),
            Err(_) => (Peer::Loopback, None),
        },
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        subtract(&self.door().open_now, 1);
        self.state.connections.remove(self.number);
        self.state.users.leave(&self.user);
    }
}
