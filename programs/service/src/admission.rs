//! Lets a connection in, or refuses it, and counts both.

use crate::connections::{Closer, ConnectionMeter, TOO_FEW_DESCRIPTORS};
use crate::doors::Door;
use crate::listener::Family;
use crate::meters::{DoorMeter, add, subtract};
use crate::state::State;
use crate::users::{Peer, UserMeter};
use core::sync::atomic::Ordering::Relaxed;
use rustix::net::sockopt;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;
use wellspring_client::vsock;
use wellspring_os::trusted_file::other_end;

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
    /// Admits a connection. `None`: a limit is reached. `closer` learns of connections that have to give way later to others;
    /// without it this one never does.
    pub(crate) fn admit(
        state: &Arc<State>,
        door: Door,
        family: Family,
        stream: &impl AsFd,
        since: Instant,
        closer: Option<Arc<Closer>>,
    ) -> Option<Self> {
        let door_meter = state.doors.meter(door);
        let (peer, process) = peer_of(door, family, stream);
        let room = state.descriptors.room_for(peer, stream);
        let meter = ConnectionMeter {
            door,
            peer,
            process,
            since,
            bytes: Default::default(),
            requests: Default::default(),
            faulty: Default::default(),
            active_ns: state.now_ns().into(),
            closer,
        };
        let entered = state.connections.enter(&state.users.limits(), room, meter);
        let entered = match entered {
            Ok(entered) => entered,
            Err(refusal) => {
                add(&door_meter.refused, 1);
                if refusal == TOO_FEW_DESCRIPTORS {
                    state.descriptors.log_refusal(state.now_ns());
                }
                log::debug!("{}: user {peer} refused: {refusal}", door.name());
                return None;
            }
        };
        let number = entered.number;
        if let Some(gone) = entered.gave_way {
            add(&state.doors.meter(gone.door).gave_way, 1);
            let (name, user) = (gone.door.name(), gone.peer);
            log::debug!("{name}: a connection of user {user} gives way to one of user {peer}");
        }
        state.descriptors.take(door);
        add(&door_meter.opened, 1);
        add(&door_meter.open_now, 1);
        if family == Family::Tcp {
            let _ = sockopt::set_tcp_nodelay(stream, true);
        }
        log::debug!("{}: connection {number} of user {peer}", door.name());
        Some(Self {
            state: state.clone(),
            number,
            meter: entered.meter,
            user: state.users.enter(peer),
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
        self.note_activity();
        add(&self.meter.requests, 1);
        add(&self.user.requests, 1);
        self.door().latencies.count(since.elapsed());
    }

    /// Counts bytes that were handed out.
    pub(crate) fn count_bytes(&self, bytes: u64) {
        self.note_activity();
        for counter in [&self.meter.bytes, &self.user.bytes, &self.door().bytes] {
            add(counter, bytes);
        }
    }

    /// From now on the connection has been idle for no time.
    fn note_activity(&self) {
        self.meter.active_ns.store(self.state.now_ns(), Relaxed);
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

    /// Notes that the connection is closed because of an error in the service.
    pub(crate) fn note_panic(&self) {
        let (name, number, peer) = (self.meter.door.name(), self.number, self.meter.peer);
        let words = format!(
            "{name}: the service's own work for connection {number} of user {peer} panicked: it is closed"
        );
        self.state.event_log.add(true, words);
    }
}

/// The other end of a connection, and its process where the kernel names one.
fn peer_of(door: Door, family: Family, stream: &impl AsFd) -> (Peer, Option<i32>) {
    match family {
        Family::Unix => match other_end(stream) {
            Ok((user, process)) => (
                Peer::User(user),
                Some(process).filter(|number| *number != 0),
            ),
            Err(_) => (Peer::Loopback, None),
        },
        Family::Tcp if door == Door::Web => (Peer::LoopbackWeb, None),
        Family::Tcp => (Peer::Loopback, None),
        Family::Vsock => match vsock::other_machine(stream) {
            Ok(machine) => (Peer::Machine(machine), None),
            Err(_) => (Peer::Loopback, None),
        },
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.state.descriptors.give_back(self.meter.door);
        subtract(&self.door().open_now, 1);
        self.state.connections.remove(self.number);
        self.state.users.leave(&self.user);
    }
}
