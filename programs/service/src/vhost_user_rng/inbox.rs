//! New connections on their way from the thread that accepts them to the thread of their user.

use super::limits::Pass;
use crate::admission::Admission;
use parking_lot::Mutex;
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::OwnedFd;

/// A connection that was let in.
pub(super) struct Arrival {
    pub(super) stream: OwnedFd,
    pub(super) admission: Admission,
    pub(super) pass: Pass,
}

/// The connections that a thread has not taken yet.
pub(super) struct Inbox {
    /// The descriptor to wait for: each arrival adds 1.
    pub(super) arrived: OwnedFd,
    /// `None`: the thread takes no more.
    waiting: Mutex<Option<Vec<Arrival>>>,
}

impl Inbox {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            arrived: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            waiting: Mutex::new(Some(Vec::new())),
        })
    }

    /// Puts a connection in. Returns it if the thread takes no more.
    pub(super) fn put(&self, arrival: Arrival) -> Result<(), Arrival> {
        let mut waiting = self.waiting.lock();
        let Some(waiting) = &mut *waiting else {
            return Err(arrival);
        };
        waiting.push(arrival);
        let _ = rustix::io::write(&self.arrived, &1_u64.to_ne_bytes());
        Ok(())
    }

    /// Takes all out.
    pub(super) fn take(&self) -> Vec<Arrival> {
        let mut waiting = self.waiting.lock();
        waiting.as_mut().map(core::mem::take).unwrap_or_default()
    }

    /// Closes it if it is empty, and returns whether it is.
    pub(super) fn close_if_empty(&self) -> bool {
        let mut waiting = self.waiting.lock();
        let is_empty = waiting.as_ref().is_none_or(Vec::is_empty);
        if is_empty {
            *waiting = None;
        }
        is_empty
    }
}
