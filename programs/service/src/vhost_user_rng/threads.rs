//! The thread that accepts guests, and the threads of the users who have some.

use super::inbox::{Arrival, Inbox};
use super::limits::GuestLimits;
use super::notify::GuestCalls;
use super::worker::Worker;
use crate::admission::Admission;
use crate::config::GuestsSection;
use crate::doors::Door;
use crate::event_loop::{ACCEPTED_AT_ONCE, EventLoop, Wake};
use crate::listener::{Family, Listener, take_descriptors};
use crate::meters::add;
use crate::process::panics::ends_process;
use crate::state::State;
use crate::users::Peer;
use parking_lot::Mutex;
use rustix::event::epoll::EventFlags;
use rustix::event::{EventfdFlags, eventfd};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
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
pub(crate) struct Threads {
    state: Arc<State>,
    /// Readable when all threads have to end.
    end: OwnedFd,
    pub(crate) limits: Arc<GuestLimits>,
    by_user: Mutex<BTreeMap<Peer, UserThread>>,
}

impl Threads {
    pub(super) fn new(state: Arc<State>, section: &GuestsSection) -> io::Result<Self> {
        Ok(Self {
            state,
            end: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            limits: Arc::new(GuestLimits::new(section)),
            by_user: Mutex::default(),
        })
    }

    /// Accepts connections until `end` becomes readable.
    pub(super) fn accept(&self, listeners: Vec<Listener>) {
        let heartbeat = self.state.heartbeats.watch("guests".into());
        let events = EventLoop::new(listeners.into(), EventFlags::empty(), &self.end, heartbeat);
        let mut events = match events {
            Ok(events) => events,
            Err(error) => return log::error!("no guest can be served: {error}"),
        };
        let mut wakes = Vec::new();
        while let Some(woke) = events.wait(false, &mut wakes) {
            for wake in wakes.drain(..) {
                if let Wake::Accept(listener) = wake {
                    let mut left = ACCEPTED_AT_ONCE;
                    while let Some(stream) = events.accept(listener, &mut left, woke) {
                        self.admit(stream, woke);
                    }
                }
            }
        }
    }

    fn admit(&self, stream: OwnedFd, woke: Instant) {
        let door = Door::VhostUser;
        let admission = Admission::admit(&self.state, door, Family::Unix, &stream, woke, None);
        let Some(admission) = admission else {
            return;
        };
        let peer = admission.meter.peer;
        let given = match self.limits.enter(peer) {
            Some(pass) => {
                // Not before: this thread closes the others, and must not wait for a descriptor that is in them.
                take_descriptors(&stream, true);
                self.give(Arrival {
                    stream,
                    admission,
                    pass,
                })
            }
            None => Err(std::io::ErrorKind::QuotaExceeded.into()),
        };
        if let Err(error) = given {
            add(&self.state.doors.meter(door).refused, 1);
            log::debug!("a guest of user {peer} is refused: {error}");
        }
    }

    /// Gives a connection to the thread of its user. Refused if too many other users have guests.
    fn give(&self, arrival: Arrival) -> io::Result<()> {
        let peer = arrival.admission.meter.peer;
        let mut by_user = self.by_user.lock();
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
        let worker = Worker::new(&self.end, inbox.clone(), calls.clone())?;
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
    pub(crate) fn free_if_stuck(&self) {
        let mut by_user = self.by_user.lock();
        by_user.retain(|_, user| !user.thread.is_finished());
        for user in by_user.values() {
            // The thread is neither joined nor detached while it is in the table.
            user.calls.interrupt_if_stuck();
        }
    }

    /// Tells all threads to end.
    pub(super) fn start_to_end(&self) {
        let _ = rustix::io::write(&self.end, &1_u64.to_ne_bytes());
    }

    /// Waits until the threads have ended, at most for this time: a hypervisor may keep one waiting without end.
    pub(super) fn end(&self, most: Duration) {
        let until = Instant::now() + most;
        let mut by_user = self.by_user.lock();
        while by_user.values().any(|user| !user.thread.is_finished()) && Instant::now() < until {
            sleep(Duration::from_millis(1));
        }
        for (peer, user) in core::mem::take(&mut *by_user) {
            if user.thread.is_finished() {
                let _ = user.thread.join();
            } else {
                log::warn!("a guest of user {peer} keeps its thread: the end does not wait");
            }
        }
    }
}
