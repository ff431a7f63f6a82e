//! The families of sockets.

use crate::doors::Door;
use rustix::net::{AddressFamily, sockopt};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;

/// The family of a socket, which decides how the other end is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// The kernel names the user at the other end.
    Unix,
    /// TCP on a loopback address: the kernel does not name the other end.
    Tcp,
    /// The kernel names the machine at the other end.
    Vsock,
}

impl Family {
    /// The family of a socket.
    ///
    /// # Errors
    ///
    /// Those of getsockopt(2).
    pub fn of(socket: &OwnedFd) -> io::Result<Self> {
        match sockopt::socket_domain(socket)? {
            AddressFamily::UNIX => Ok(Self::Unix),
            AddressFamily::VSOCK => Ok(Self::Vsock),
            _ => Ok(Self::Tcp),
        }
    }

    /// Refuses a family that does not fit the door.
    ///
    /// # Errors
    ///
    /// `InvalidInput`, with the reason.
    pub fn check(self, door: Door) -> io::Result<()> {
        let reason = match (door, self) {
            (Door::VhostUser, Self::Tcp | Self::Vsock) => {
                "guests need a Unix socket, which carries descriptors"
            }
            (Door::Web, Self::Vsock) => {
                "other machines must not see the status, which names users of this one"
            }
            _ => return Ok(()),
        };
        Err(io::Error::new(ErrorKind::InvalidInput, reason))
    }
}
