//! The threads of the users who have guests.

use super::inbox::{Arrival, Inbox};
use super::notify::GuestCalls;
use super::worker::Worker;
use crate::process::panics::ends_process;
use crate::state::State;
use crate::users::Peer;
use core::fmt;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

/// The bytes of the stack of each thread.
pub(super) const STACK_BYTES: usize = 256 * 1024;

/// A thread that serves the guests of one user.
struct UserThread {
    inbox: Arc<Inbox>,
    calls: Arc<GuestCalls>,
    thread: JoinHandle<()>,
}

/// The threads, by their users. A thread ends when the last guest of its user has gone.
pub(super) struct Threads {
    state: Arc<State>,
    end: Arc<OwnedFd>,
    by_user: Mutex<BTreeMap<Peer, UserThread>>,
}

impl Threads {
    /// `end` becomes readable when all threads have to end.
    pub(super) fn new(state: Arc<State>, end: Arc<OwnedFd>) -> Self {
        Self {
            state,
            end,
            by_user: Mutex::default(),
        }
    }

    /// Gives a connection to the thread of its user.
    ///
    /// # Errors
    ///
    /// There is none, and it cannot be started: too many other users have guests, or the system has none.
    pub(super) fn give(&self, arrival: Arrival) -> io::Result<()> {
        let peer = arrival.admission.meter.peer;
        let mut by_user = self.by_user.lock().unwrap_or_else(PoisonError::into_inner);
        let given = match by_user.get(&peer) {
            Some(user) => user.inbox.put(arrival),
            None => Err(arrival),
        };
        let Err(arrival) = given else {
            return Ok(());
        };
        by_user.retain(|_, user| !user.thread.is_finished());
        let most = self.state.descriptors.users_with_guests;
        let others = by_user.keys().filter(|peer| **peer != Peer::User(0));
        if peer != Peer::User(0) && others.count() as u64 >= most {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        by_user.insert(peer, self.start(peer, arrival)?);
        Ok(())
    }

    fn start(&self, peer: Peer, arrival: Arrival) -> io::Result<UserThread> {
        let inbox = Arc::new(Inbox::new()?);
        // It is new, and takes it.
        let _ = inbox.put(arrival);
        let calls = Arc::new(GuestCalls::default());
        let worker = Worker::new(self.state.clone(), &self.end, inbox.clone(), calls.clone())?;
        // The kernel shows the first 15 bytes.
        let builder = Builder::new().name(format!("guests-{peer}"));
        let builder = builder.stack_size(STACK_BYTES);
        let thread = builder.spawn(|| ends_process(|| worker.run()))?;
        Ok(UserThread {
            inbox,
            calls,
            thread,
        })
    }

    /// Frees threads from an other end that keeps them waiting, and what is left of threads that have ended. Called about
    /// once a second.
    pub(super) fn free_if_stuck(&self) {
        let mut by_user = self.by_user.lock().unwrap_or_else(PoisonError::into_inner);
        by_user.retain(|_, user| !user.thread.is_finished());
        for user in by_user.values() {
            // The thread is neither joined nor detached while it is in the table.
            user.calls.interrupt_if_stuck();
        }
    }

    /// Waits until the threads have ended, at most for this time: a hypervisor may keep one waiting without end.
    pub(super) fn end(&self, most: Duration) {
        let until = Instant::now() + most;
        let mut by_user = self.by_user.lock().unwrap_or_else(PoisonError::into_inner);
        while by_user.values().any(|user| !user.thread.is_finished()) && Instant::now() < until {
            sleep(Duration::from_millis(1));
        }
        for (peer, user) in core::mem::take(&mut *by_user) {
            if user.thread.is_finished() {
                let _ = user.thread.join();
            } else {
                tracing::warn!("a guest of user {peer} keeps its thread: the end does not wait");
            }
        }
    }
}

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Threads").finish_non_exhaustive()
    }
}
