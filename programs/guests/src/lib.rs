//! Virtual machines: a virtio-rng device for each, by vhost-user. Here are the thread that accepts connections, and the
//! threads of the users who have guests.
//!
//! ```text
//! limits    how many guests, and how much memory, the users may have
//! guest     one connection: its messages, its requests, its turn
//! device    the virtio device: what the messages of vhost-user set
//! request   one request: a chain of descriptors, and the bytes for it
//! memory    the regions of one guest's memory, mapped; zeros in place of a signal where it is cut off  [unsafe: mmap]
//! notify    calls to guests, a way out of a call that waits, and answers                              [unsafe: signals]
//! ```
//!
//! Each user has a thread. A hypervisor can make this thread wait: by memory that is freed or cleared in a page fault, or
//! by its own file system, which does not end close(2). So it can stop its own user's guests, and no others. The thread
//! makes the bytes of a request when it answers the request and keeps none, so two copies of one guest get different bytes.
//! Everything that the other end sends is treated as hostile: a request with wrong descriptors is completed with no bytes,
//! and any other fault ends the connection.

mod device;
mod guest;
mod limits;
mod memory;
mod notify;
pub mod request;

use device::Device;
use guest::Guest;
use limits::{GuestLimits, Pass};
use notify::GuestCalls;
use parking_lot::Mutex;
use request::MAX_REQUEST_BYTES;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};
use wellspring_service_core::clients::{
    ACCEPTED_AT_ONCE, Admission, Clients, EventLoop, OTHER, Wake,
};
use wellspring_service_core::config::GuestsSection;
use wellspring_service_core::doors::{Door, add};
use wellspring_service_core::listener::{Family, Listener, take_descriptors};
use wellspring_service_core::process::{Scratch, ends_process};
use wellspring_service_core::state::{Heartbeat, State};
use wellspring_service_core::users::Peer;

/// The longest wait for threads at the end.
const END_WAIT: Duration = Duration::from_secs(1);

/// The threads that serve the guests; they end when this is dropped.
pub struct Guests {
    threads: Arc<Threads>,
    acceptor: Option<JoinHandle<()>>,
}

impl Guests {
    /// Starts the thread that accepts connections.
    pub fn start(
        state: &Arc<State>,
        section: &GuestsSection,
        listeners: Vec<Listener>,
    ) -> io::Result<Self> {
        memory::install_handler()?;
        let threads = Arc::new(Threads::new(state.clone(), section)?);
        let (accepts, builder) = (threads.clone(), Builder::new().name("guests".into()));
        let run = move || ends_process(|| accepts.accept(listeners));
        let acceptor = builder.stack_size(STACK_BYTES).spawn(run)?;
        Ok(Self {
            threads,
            acceptor: Some(acceptor),
        })
    }

    /// Replaces the limits. Guests that are connected stay.
    pub fn set_limits(&self, section: &GuestsSection) {
        self.threads.limits.set(section);
    }

    /// Frees threads from an other end that keeps them waiting. Call it about once a second.
    pub fn free_if_stuck(&self) {
        self.threads.free_if_stuck();
    }
}

impl Drop for Guests {
    fn drop(&mut self) {
        self.threads.start_to_end();
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
        self.threads.end(END_WAIT);
    }
}

// The thread that accepts guests, and the threads of the users who have some.

/// The bytes of the stack of each thread.
const STACK_BYTES: usize = 256 * 1024;

/// A thread that serves the guests of one user.
struct UserThread {
    inbox: Arc<Inbox>,
    calls: Arc<GuestCalls>,
    thread: JoinHandle<()>,
}

/// The threads, by their users. A thread ends when the last guest of its user has gone.
struct Threads {
    state: Arc<State>,
    /// Readable when all threads have to end.
    end: OwnedFd,
    limits: Arc<GuestLimits>,
    by_user: Mutex<BTreeMap<Peer, UserThread>>,
}

impl Threads {
    fn new(state: Arc<State>, section: &GuestsSection) -> io::Result<Self> {
        Ok(Self {
            state,
            end: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            limits: Arc::new(GuestLimits::new(section)),
            by_user: Mutex::default(),
        })
    }

    /// Accepts connections until `end` becomes readable.
    fn accept(&self, listeners: Vec<Listener>) {
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
    fn free_if_stuck(&self) {
        let mut by_user = self.by_user.lock();
        by_user.retain(|_, user| !user.thread.is_finished());
        for user in by_user.values() {
            // The thread is neither joined nor detached while it is in the table.
            user.calls.interrupt_if_stuck();
        }
    }

    /// Tells all threads to end.
    fn start_to_end(&self) {
        let _ = rustix::io::write(&self.end, &1_u64.to_ne_bytes());
    }

    /// Waits until the threads have ended, at most for this time: a hypervisor may keep one waiting without end.
    fn end(&self, most: Duration) {
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

// New connections on their way from the thread that accepts them to the thread of their user.

/// A connection that was let in.
struct Arrival {
    stream: OwnedFd,
    admission: Admission,
    pass: Pass,
}

/// The connections that a thread has not taken yet.
struct Inbox {
    /// The descriptor to wait for: each arrival adds 1.
    arrived: OwnedFd,
    /// `None`: the thread takes no more.
    waiting: Mutex<Option<Vec<Arrival>>>,
}

impl Inbox {
    fn new() -> io::Result<Self> {
        Ok(Self {
            arrived: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            waiting: Mutex::new(Some(Vec::new())),
        })
    }

    /// Puts a connection in. Returns it if the thread takes no more.
    fn put(&self, arrival: Arrival) -> Result<(), Arrival> {
        let mut waiting = self.waiting.lock();
        let Some(waiting) = &mut *waiting else {
            return Err(arrival);
        };
        waiting.push(arrival);
        let _ = rustix::io::write(&self.arrived, &1_u64.to_ne_bytes());
        Ok(())
    }

    /// Takes all out.
    fn take(&self) -> Vec<Arrival> {
        let mut waiting = self.waiting.lock();
        waiting.as_mut().map(core::mem::take).unwrap_or_default()
    }

    /// Closes it if it is empty, and returns whether it is.
    fn close_if_empty(&self) -> bool {
        let mut waiting = self.waiting.lock();
        let is_empty = waiting.as_ref().is_none_or(Vec::is_empty);
        if is_empty {
            *waiting = None;
        }
        is_empty
    }
}

// The thread that serves the guests of one user, each in its turn.

struct Worker {
    clients: Clients<Guest>,
    inbox: Arc<Inbox>,
    calls: Arc<GuestCalls>,
}

impl Worker {
    /// `end` becomes readable when the worker has to end.
    fn new(end: &impl AsFd, inbox: Arc<Inbox>, calls: Arc<GuestCalls>) -> io::Result<Self> {
        // The watchdog does not look at this thread, which a hostile front end may keep waiting: `Threads` frees it.
        let unwatched = Heartbeat::default();
        let events = EventLoop::new(Arc::new([]), EventFlags::empty(), end, unwatched)?;
        // Edge-triggered: each arrival wakes the thread once, which need not read the descriptor.
        let (key, flags) = (events.key(OTHER), EventFlags::IN | EventFlags::ET);
        epoll::add(
            &*events.epoll,
            &inbox.arrived,
            EventData::new_u64(key),
            flags,
        )?;
        Ok(Self {
            clients: Clients::new(events, Scratch::new(MAX_REQUEST_BYTES)),
            inbox,
            calls,
        })
    }

    /// Serves until the end, or until the last guest has gone.
    fn run(mut self) {
        if let Err(error) = self.calls.answer_here() {
            log::warn!("calls to guests cannot be interrupted: {error}");
        }
        while let Some((woke, _)) = self.clients.learn() {
            for arrival in self.inbox.take() {
                if let Err(error) = self.add(arrival, woke) {
                    log::warn!("a guest cannot be served: {error}");
                }
            }
            self.clients.give_turns();
            if self.clients.count() == 0 && self.inbox.close_if_empty() {
                return;
            }
        }
    }

    fn add(&mut self, arrival: Arrival, woke: Instant) -> io::Result<()> {
        let events = &self.clients.events;
        let (epoll, key) = (events.epoll.clone(), events.key(arrival.admission.number));
        let device = Device::new(epoll, key, arrival.pass);
        let (stream, calls) = (arrival.stream, self.calls.clone());
        let guest = Guest::new(stream, arrival.admission, device, calls)?;
        self.clients.add(guest, woke)
    }
}
