//! Stream sockets between a virtual machine and its host: vsock(7).

use core::mem::zeroed;
use core::time::Duration;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use wellspring_os::os_error::OsError;

/// As the machine of a listener: it accepts connections of every machine.
pub const EVERY_MACHINE: u32 = libc::VMADDR_CID_ANY;

/// The number of this machine, for connections to itself.
pub const THIS_MACHINE: u32 = libc::VMADDR_CID_LOCAL;

/// The number of the host of this machine.
pub const HOST: u32 = libc::VMADDR_CID_HOST;

const ADDRESS_BYTES: libc::socklen_t = size_of::<libc::sockaddr_vm>() as libc::socklen_t;

/// `SO_VM_SOCKETS_CONNECT_TIMEOUT` of linux/vm_sockets.h.
const CONNECT_TIMEOUT: libc::c_int = 6;

/// Opens a socket that accepts connections to `port`, and does not wait in accept(2).
///
/// # Errors
///
/// The system's error: `EAFNOSUPPORT` on a kernel without vsock, `EADDRINUSE` if another socket has the port.
pub fn listen(machine: u32, port: u32) -> Result<OwnedFd, OsError> {
    let socket = socket(libc::SOCK_NONBLOCK)?;
    let address = address(machine, port);
    let start = (&raw const address).cast();
    // SAFETY: the pointer is to an address of this length.
    answer(unsafe { libc::bind(socket.as_raw_fd(), start, ADDRESS_BYTES) })?;
    // SAFETY: listen(2) takes two numbers.
    answer(unsafe { libc::listen(socket.as_raw_fd(), 1024) })?;
    Ok(socket)
}

/// Connects to a port of a machine: 2 is the host.
///
/// # Errors
///
/// `NotFound` if no way leads to that machine, `ConnectionRefused` if no process listens there, `TimedOut`, or another
/// error of the system.
pub fn connect(machine: u32, port: u32, timeout: Duration) -> io::Result<OwnedFd> {
    let socket = socket(0).map_err(as_of_tcp)?;
    let limit = libc::timeval {
        tv_sec: timeout.as_secs().try_into().unwrap_or(i32::MAX.into()),
        tv_usec: timeout.subsec_micros() as _,
    };
    let length = size_of::<libc::timeval>() as libc::socklen_t;
    let value = (&raw const limit).cast();
    let descriptor = socket.as_raw_fd();
    // SAFETY: the pointer is to a `timeval`, of this length.
    let set = answer(unsafe {
        libc::setsockopt(descriptor, libc::AF_VSOCK, CONNECT_TIMEOUT, value, length)
    });
    set.map_err(as_of_tcp)?;
    let address = address(machine, port);
    let start = (&raw const address).cast();
    // SAFETY: the pointer is to an address of this length.
    let connected = answer(unsafe { libc::connect(descriptor, start, ADDRESS_BYTES) });
    connected.map(|_| socket).map_err(as_of_tcp)
}

/// The number of the machine at the other end of a connection.
///
/// # Errors
///
/// `EAFNOSUPPORT` for a socket of another kind; another error of the system.
pub fn other_machine(socket: &impl AsFd) -> Result<u32, OsError> {
    // SAFETY: all zeros is such an address.
    let mut address = unsafe { zeroed::<libc::sockaddr_vm>() };
    let mut length = ADDRESS_BYTES;
    let start = (&raw mut address).cast();
    let descriptor = socket.as_fd().as_raw_fd();
    // SAFETY: the pointers are to an address and its length, which outlive the call.
    answer(unsafe { libc::getpeername(descriptor, start, &raw mut length) })?;
    if i32::from(address.svm_family) == libc::AF_VSOCK && length == ADDRESS_BYTES {
        Ok(address.svm_cid)
    } else {
        Err(OsError::new(libc::EAFNOSUPPORT))
    }
}

fn socket(flags: libc::c_int) -> Result<OwnedFd, OsError> {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | flags;
    // SAFETY: socket(2) takes three numbers.
    let socket = answer(unsafe { libc::socket(libc::AF_VSOCK, kind, 0) })?;
    // SAFETY: the descriptor is new, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}

/// The answer of a system call that the C library made.
fn answer(called: libc::c_int) -> Result<libc::c_int, OsError> {
    if called != -1 {
        return Ok(called);
    }
    let number = io::Error::last_os_error().raw_os_error();
    Err(OsError::new(number.unwrap_or(libc::EIO)))
}

fn address(machine: u32, port: u32) -> libc::sockaddr_vm {
    // SAFETY: all zeros is such an address.
    let mut address = unsafe { zeroed::<libc::sockaddr_vm>() };
    address.svm_family = libc::AF_VSOCK as libc::sa_family_t;
    address.svm_cid = machine;
    address.svm_port = port;
    address
}

/// The error that TCP gives in the same case. vsock says `ENODEV` where no way leads to a machine, and `ECONNRESET`
/// where no process listens.
fn as_of_tcp(error: OsError) -> io::Error {
    match error.number() {
        libc::ENODEV | libc::EAFNOSUPPORT => ErrorKind::NotFound.into(),
        libc::ECONNRESET => ErrorKind::ConnectionRefused.into(),
        _ => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_kinds_that_they_have_with_tcp() {
        let kind = |number| as_of_tcp(OsError::new(number)).kind();
        assert_eq!(kind(libc::ENODEV), ErrorKind::NotFound);
        assert_eq!(kind(libc::EAFNOSUPPORT), ErrorKind::NotFound);
        assert_eq!(kind(libc::ECONNRESET), ErrorKind::ConnectionRefused);
        assert_eq!(kind(libc::ETIMEDOUT), ErrorKind::TimedOut);
        assert_eq!(kind(libc::EACCES), ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_port_is_taken_once_and_another_kind_of_socket_has_no_machine() {
        let port = 30_000 + std::process::id() % 30_000;
        let first = match listen(EVERY_MACHINE, port) {
            Ok(first) => first,
            Err(error) => return println!("SKIPPED: no vsock here: {error}"),
        };
        let second = listen(EVERY_MACHINE, port).map(drop);
        assert_eq!(second, Err(OsError::new(libc::EADDRINUSE)));
        drop(first);
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let machine = other_machine(&one);
        assert_eq!(machine, Err(OsError::new(libc::EAFNOSUPPORT)));
    }
}
