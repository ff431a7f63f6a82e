//! The kernel's messages about devices: a netlink(7) socket.

use crate::os_error::{OsError, raw_call};
use core::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// The group of the kernel's own messages. Those of udev are another group.
const KERNEL_GROUP: u32 = 1;

const ADDRESS_BYTES: libc::socklen_t = size_of::<libc::sockaddr_nl>() as libc::socklen_t;

/// A socket to which the kernel sends a message whenever a device comes, changes or goes.
#[derive(Debug)]
pub struct KernelMessages(OwnedFd);

/// The answer of [`KernelMessages::receive`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received<'a> {
    /// A message of the kernel.
    FromKernel(&'a [u8]),
    /// A message of another process. Root can send what looks like the kernel's message, but not from number 0.
    FromProcess,
    /// The kernel sent more messages than the socket holds: some are lost.
    Overflowed,
    /// No message is there.
    Nothing,
    /// The socket does not work any more.
    Failed(OsError),
}

impl KernelMessages {
    /// Listens from now on.
    ///
    /// # Errors
    ///
    /// The system's error: in another user namespace the kernel's messages are out of reach.
    pub fn listen() -> Result<Self, OsError> {
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        let (family, protocol) = (libc::AF_NETLINK, libc::NETLINK_KOBJECT_UEVENT);
        // SAFETY: socket(2) takes three numbers.
        let socket = raw_call(|| unsafe { libc::socket(family, kind, protocol) }.into())?;
        // SAFETY: the descriptor is new, and nothing else owns it.
        let socket = unsafe { OwnedFd::from_raw_fd(socket as RawFd) };
        // SAFETY: all zeros is such an address.
        let mut address = unsafe { zeroed::<libc::sockaddr_nl>() };
        address.nl_family = family as libc::sa_family_t;
        address.nl_groups = KERNEL_GROUP;
        let start = (&raw const address).cast();
        // SAFETY: the pointer is to an address of this length.
        raw_call(|| unsafe { libc::bind(socket.as_raw_fd(), start, ADDRESS_BYTES) }.into())?;
        Ok(Self(socket))
    }

    /// The next message, without waiting for one. What does not fit in `buffer` is cut.
    pub fn receive<'a>(&self, buffer: &'a mut [u8]) -> Received<'a> {
        // SAFETY: all zeros is such an address.
        let mut from = unsafe { zeroed::<libc::sockaddr_nl>() };
        let mut from_bytes = ADDRESS_BYTES;
        let received = loop {
            // SAFETY: the pointers are to the buffer, an address and its length, which outlive the call.
            let received = raw_call(|| unsafe {
                libc::recvfrom(
                    self.0.as_raw_fd(),
                    buffer.as_mut_ptr().cast(),
                    buffer.len(),
                    libc::MSG_DONTWAIT,
                    (&raw mut from).cast(),
                    &raw mut from_bytes,
                ) as libc::c_long
            });
            if received != Err(OsError::new(libc::EINTR)) {
                break received;
            }
        };
        let is_kernel = from_bytes == ADDRESS_BYTES && from.nl_pid == 0;
        match received {
            Ok(length) if is_kernel => Received::FromKernel(&buffer[..length as usize]),
            Ok(_) => Received::FromProcess,
            Err(error) => match error.number() {
                libc::EAGAIN => Received::Nothing,
                libc::ENOBUFS => Received::Overflowed,
                _ => Received::Failed(error),
            },
        }
    }
}

impl AsFd for KernelMessages {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_without_a_message_does_not_wait() {
        let Ok(messages) = KernelMessages::listen() else {
            return println!("SKIPPED: no messages of the kernel here");
        };
        let mut buffer = [0; 4096];
        // Messages may come at any time. None of them is a failure.
        let answer = (0..1000).find_map(|_| failure(messages.receive(&mut buffer)));
        assert_eq!(answer, None);
    }

    fn failure(received: Received<'_>) -> Option<OsError> {
        match received {
            Received::Failed(error) => Some(error),
            _ => None,
        }
    }
}
