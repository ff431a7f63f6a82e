//! Lets a connection in, or refuses it, and counts both.

use crate::connections::ConnectionMeter;
use crate::doors::Door;
use crate::listener::Family;
use crate::meters::{add, subtract};
use crate::state::State;
use crate::users::{Peer, Refusal, UserMeter};
use rustix::net::sockopt;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;
use wellspring_os::trusted_file::other_end;
use wellspring_os::vsock;

/// A connection that was let in. When this is dropped, the connection no longer counts.
pub struct Admission {
    state: Arc<State>,
    /// Its number.
    pub number: u64,
    /// Its counters.
    pub meter: Arc<ConnectionMeter>,
    /// The counters of the user at its other end.
    pub user: Arc<UserMeter>,
}

impl Admission {
    /// Admits a connection. `None`: a limit is reached.
    pub fn admit(
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
            Err(Refusal::TooFewDescriptors)
        };
        let user = match user {
            Ok(user) => user,
            Err(refusal) => {
                add(&door_meter.refused, 1);
                tracing::debug!("{}: user {peer} refused: {refusal:?}", door.name());
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
        tracing::debug!("{}: connection {number} of user {peer}", door.name());
        Some(Self {
            state: state.clone(),
            number,
            meter,
            user,
        })
    }

    /// Counts that the connection is closed because of what came in.
    pub fn note_hostile(&self) {
        let door = self.meter.door;
        add(&self.state.doors.meter(door).hostile, 1);
        let number = self.number;
        tracing::debug!(
            "{}: connection {number} sent what is no request",
            door.name()
        );
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
        subtract(&self.state.doors.meter(self.meter.door).open_now, 1);
        self.state.connections.remove(self.number);
        self.state.users.leave(&self.user);
    }
}
