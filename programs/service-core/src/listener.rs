//! Sockets that accept connections: systemd opened them, or the configuration names them.

use crate::config::Address;
use crate::doors::Door;
use rustix::fs::{FileType, Mode, OFlags, fchmod, fstat, open};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with, sockopt,
};
use rustix::process::geteuid;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use wellspring_client::unix_socket::connect_within;
use wellspring_client::vsock;

/// The connections that wait in the queue of a socket. Root waits behind all of them, and a flood fills the queue, however
/// large it is. The unit of the socket says the same number.
const BACKLOG: i32 = 128;

/// `SO_PASSRIGHTS` of asm-generic/socket.h.
pub const PASS_RIGHTS: libc::c_int = 83;

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
    pub fn of(socket: &OwnedFd) -> io::Result<Self> {
        match sockopt::socket_domain(socket)? {
            AddressFamily::UNIX => Ok(Self::Unix),
            AddressFamily::VSOCK => Ok(Self::Vsock),
            _ => Ok(Self::Tcp),
        }
    }

    /// Refuses a family that does not fit the door.
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

/// A socket that accepts connections for a door.
#[derive(Debug)]
pub struct Listener {
    socket: OwnedFd,
    /// The door that its connections come by.
    pub door: Door,
    /// The family of the socket.
    pub family: Family,
    /// The file of a Unix socket that this process made, and its inode.
    made: Option<(PathBuf, u64)>,
}

impl Listener {
    /// A socket that systemd opened.
    pub fn activated(door: Door, socket: OwnedFd) -> io::Result<Self> {
        if !sockopt::socket_acceptconn(&socket)? {
            return Err(io::Error::new(
                ErrorKind::InvalidInput,
                "the socket does not listen",
            ));
        }
        rustix::io::ioctl_fionbio(&socket, true)?;
        take_descriptors(&socket, false);
        let family = Family::of(&socket)?;
        family.check(door)?;
        Ok(Self::new(socket, door, family))
    }

    fn new(socket: OwnedFd, door: Door, family: Family) -> Self {
        Self {
            socket,
            door,
            family,
            made: None,
        }
    }

    /// Opens a socket. A file that a dead process left behind is replaced, a socket in use and another file are not.
    pub fn open(door: Door, address: &Address, mode: u32) -> io::Result<Self> {
        match address {
            Address::Unix(path) => open_unix(door, path, mode),
            Address::Tcp(address) => {
                Family::Tcp.check(door)?;
                let listener = std::net::TcpListener::bind(address)?;
                listener.set_nonblocking(true)?;
                Ok(Self::new(listener.into(), door, Family::Tcp))
            }
            Address::Vsock { machine, port } => {
                Family::Vsock.check(door)?;
                let machine = machine.unwrap_or(vsock::EVERY_MACHINE);
                let socket = vsock::listen(machine, *port)?;
                Ok(Self::new(socket, door, Family::Vsock))
            }
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some((path, inode)) = &self.made
            && fs::symlink_metadata(path).is_ok_and(|found| found.ino() == *inode)
        {
            let _ = fs::remove_file(path);
        }
    }
}

/// Lets the other end of a Unix socket send descriptors, or forbids it, from Linux 6.16 on. Sockets that a listener accepts
/// begin as the listener is. Without this, the thread that reads the bytes closes the descriptors beside them: a file system
/// of the other end (FUSE) can keep it waiting.
pub fn take_descriptors(socket: &impl AsFd, may: bool) {
    let value = libc::c_int::from(may);
    // SAFETY: the descriptor is open, and the value is one int. Older kernels and other families refuse the call.
    let _ = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            PASS_RIGHTS,
            (&raw const value).cast(),
            size_of_val(&value) as libc::socklen_t,
        )
    };
}

fn open_unix(door: Door, path: &Path, mode: u32) -> io::Result<Listener> {
    remove_stale(path)?;
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // The file gets this mode when it is made, so that it is never open to more users than it should be.
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    // The file itself, whatever has its name later: the owner of the folder could put a link there.
    let file = open(
        path,
        OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let found = fstat(&file)?;
    let is_socket = FileType::from_raw_mode(found.st_mode) == FileType::Socket;
    if !is_socket || found.st_uid != geteuid().as_raw() {
        return Err(io::Error::new(
            ErrorKind::PermissionDenied,
            "another user has replaced the socket",
        ));
    }
    let inode = found.st_ino;
    let listener = Listener {
        socket,
        door,
        family: Family::Unix,
        made: Some((path.into(), inode)),
    };
    take_descriptors(&listener.socket, false);
    listen(&listener.socket, BACKLOG)?;
    let of_file = format!("/proc/self/fd/{}", file.as_raw_fd());
    fs::set_permissions(of_file, fs::Permissions::from_mode(mode))?;
    Ok(listener)
}

/// Removes the file of a socket on which no process listens.
fn remove_stale(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
        Ok(found) if !found.file_type().is_socket() => {
            return Err(io::Error::new(
                ErrorKind::AlreadyExists,
                "a file that is no socket is there",
            ));
        }
        Ok(_) => {}
    }
    match connect_within(path, Duration::from_secs(1)) {
        Ok(_) => Err(io::Error::new(
            ErrorKind::AddrInUse,
            "another process listens there",
        )),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;
    use rustix::net::connect;

    /// Connections that their other ends have closed stay in the queue.
    #[test]
    fn the_queue_of_a_socket_that_systemd_does_not_open_has_the_room_that_is_promised() {
        let path = std::env::temp_dir().join(format!("wellspring-queue-{}", std::process::id()));
        let listener = Listener::open(Door::Egd, &Address::Unix(path.clone()), 0o600).unwrap();
        let address = SocketAddrUnix::new(&path).unwrap();
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let connects = || {
            let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
            connect(&socket, &address)
        };
        let room = (0..10_000).take_while(|_| connects().is_ok()).count();
        assert_eq!((room, connects()), (129, Err(Errno::AGAIN)));
        drop(listener);
    }

    #[test]
    fn a_socket_left_behind_is_replaced_and_one_in_use_or_a_file_is_not() {
        let path =
            std::env::temp_dir().join(format!("wellspring-listener-{}.sock", std::process::id()));
        let address = Address::Unix(path.clone());
        let first = Listener::open(Door::Egd, &address, 0o640).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
        let taken = Listener::open(Door::Egd, &address, 0o600).unwrap_err();
        assert_eq!(taken.kind(), ErrorKind::AddrInUse);
        // As if the process had been killed.
        let Listener { .. } = &first;
        let mut first = first;
        first.made = None;
        drop(first);
        let second = Listener::open(Door::Egd, &address, 0o600).unwrap();
        drop(second);
        assert!(!path.exists());
        fs::write(&path, "a file").unwrap();
        let refused = Listener::open(Door::Egd, &address, 0o600).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"a file");
        fs::remove_file(&path).unwrap();
    }
}
