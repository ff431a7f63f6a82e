//! A front end of vhost-user that sends what it likes: messages made by hand, with descriptors of any kind.

use super::common::{PATIENCE, Service};
use rustix::event::{EventfdFlags, eventfd};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::Uid;
use rustix::thread::set_thread_res_uid;
use std::io::{IoSlice, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

/// The numbers of messages.
pub(crate) const GET_FEATURES: u32 = 1;
pub(crate) const SET_FEATURES: u32 = 2;
pub(crate) const SET_OWNER: u32 = 3;
pub(crate) const SET_MEM_TABLE: u32 = 5;
pub(crate) const SET_LOG_FD: u32 = 7;
pub(crate) const SET_VRING_NUM: u32 = 8;
pub(crate) const SET_VRING_ADDR: u32 = 9;
pub(crate) const SET_VRING_KICK: u32 = 12;
pub(crate) const SET_VRING_CALL: u32 = 13;
pub(crate) const SET_VRING_ERR: u32 = 14;
pub(crate) const SET_PROTOCOL_FEATURES: u32 = 16;
pub(crate) const ADD_MEM_REG: u32 = 37;
pub(crate) const REM_MEM_REG: u32 = 38;

/// A region: the guest's address, the length, the front end's address, and where it begins in its file.
pub(crate) type Region = [u64; 4];

/// The most descriptors that Linux sends with one message.
pub(crate) const MOST_FILES: usize = 253;

pub(crate) struct FrontEnd(pub(crate) UnixStream);

impl FrontEnd {
    /// Connects, and waits for the first answer, as all front ends do. The service may have closed the connection.
    pub(crate) fn new(service: &Service) -> Self {
        let new = Self(service.socket("vhost-user.sock"));
        new.is_closed();
        new
    }

    /// Sends bytes and descriptors. Returns whether that was possible: the service may have closed the connection.
    pub(crate) fn send_bytes(&self, bytes: &[u8], files: &[BorrowedFd<'_>]) -> bool {
        let mut room = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
        let mut control = SendAncillaryBuffer::new(&mut room);
        if !files.is_empty() {
            assert!(control.push(SendAncillaryMessage::ScmRights(files)));
        }
        let part = [IoSlice::new(bytes)];
        sendmsg(&self.0, &part, &mut control, SendFlags::NOSIGNAL).is_ok()
    }

    /// A connection to another socket, which takes no messages of vhost-user.
    pub(crate) fn elsewhere(service: &Service, name: &str) -> Self {
        Self(service.socket(name))
    }

    pub(crate) fn send(&self, code: u32, body: &[u64], files: &[BorrowedFd<'_>]) -> bool {
        self.send_bytes(&message(code, body), files)
    }

    /// Agrees on the features that messages for regions need.
    pub(crate) fn agree(&self) {
        self.send(SET_OWNER, &[], &[]);
        self.send(SET_FEATURES, &[(1 << 32) | (1 << 30)], &[]);
        // CONFIGURE_MEM_SLOTS.
        self.send(SET_PROTOCOL_FEATURES, &[1 << 15], &[]);
    }

    /// Sends a table of regions, each with this file.
    pub(crate) fn table(&self, regions: &[Region], file: &impl AsFd) -> bool {
        let files = vec![file.as_fd(); regions.len()];
        let mut body = vec![regions.len() as u64];
        body.extend(regions.iter().flatten());
        self.send(SET_MEM_TABLE, &body, &files)
    }

    pub(crate) fn add_region(&self, region: Region, file: &impl AsFd) -> bool {
        let body: Vec<u64> = core::iter::once(0).chain(region).collect();
        self.send(ADD_MEM_REG, &body, &[file.as_fd()])
    }

    /// Describes a ring of 8 requests in the first 2 KiB of the front end's addresses from `user` on, and starts it.
    pub(crate) fn ring(&self, user: u64) {
        self.send(SET_VRING_NUM, &[8 << 32], &[]);
        // The number of the ring and flags; descriptors, used, available; no log.
        self.send(SET_VRING_ADDR, &[0, user, user + 1024, user + 512, 0], &[]);
        let kick = eventfd(0, EventfdFlags::empty()).unwrap();
        self.send(SET_VRING_KICK, &[0], &[kick.as_fd()]);
    }

    /// Waits until the service has handled all messages: it has closed the connection, or answers another one.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.set_read_timeout(Some(PATIENCE)).unwrap();
        if !self.send(GET_FEATURES, &[], &[]) {
            return true;
        }
        let mut answer = [0; 20];
        match (&self.0).read_exact(&mut answer) {
            Ok(()) => false,
            Err(error) => {
                let kind = error.kind();
                let is_late = kind == std::io::ErrorKind::WouldBlock;
                assert!(!is_late, "the service neither answers nor ends: {error}");
                true
            }
        }
    }
}

/// The head of a message and its body.
pub(crate) fn message(code: u32, body: &[u64]) -> Vec<u8> {
    // Its flags are its version: 1.
    let head = [code, 1, 8 * body.len() as u32];
    let head = head.iter().flat_map(|word| word.to_ne_bytes());
    let body = body.iter().flat_map(|word| word.to_ne_bytes());
    head.chain(body).collect()
}

/// Does something as this user of the system. Needs root.
pub(crate) fn as_user<T: Send>(user: u32, work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let user = Uid::from_raw(user);
            set_thread_res_uid(user, user, user).unwrap();
            work()
        });
        worker.join().unwrap()
    })
}
