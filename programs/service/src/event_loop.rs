//! The loop of every thread that serves connections: it waits for events, accepts connections, and lets some wait.

use crate::heartbeats::Heartbeat;
use crate::listener::Listener;
use crate::pauses::Pauses;
use core::mem::MaybeUninit;
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SocketFlags, accept_with, recv};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The key of the descriptor that ends the loop; listeners and connections have the keys after it.
const END_KEY: u64 = 0;

/// The time for which nothing is accepted after a failure, such as a lack of descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The least time between two lines of the log that say so.
const LOG_PAUSE: Duration = Duration::from_secs(60);

/// The most connections that are accepted at once, so that a flood of new ones does not starve the open ones. The queue of a
/// socket, which has room for 1024, is empty after 8 rounds: a user who connects and closes costs others no more.
pub(crate) const ACCEPTED_AT_ONCE: usize = 128;

/// The most events that are taken from the kernel at once.
const EVENTS_AT_ONCE: usize = 1024;

/// The longest wait for an event. Then the loop goes round, and its thread counts as alive.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// The reason why the loop goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wake {
    /// A connection waits at the listener of this number.
    Accept(usize),
    /// Something happened to the connection of this number.
    Event(u64, EventFlags),
    /// The pause of the connection of this number has ended.
    PauseEnd(u64),
}

/// The event that a connection waits for after its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    /// One of these events.
    Event(EventFlags),
    /// Its next turn.
    Turn,
    /// The end of this time.
    Pause(Duration),
    /// None: close it.
    End,
    /// None: close it, because of what came in.
    HostileEnd,
}

/// The time until the next try of a request that waits for the first seed.
pub(crate) const SEED_POLL: Duration = Duration::from_millis(5);

/// The descriptors that a thread waits for.
pub(crate) struct EventLoop {
    /// The descriptor of epoll.
    pub(crate) epoll: Arc<OwnedFd>,
    /// The sockets that accept connections.
    pub(crate) listeners: Arc<[Listener]>,
    /// How the kernel reports new connections.
    listen_flags: EventFlags,
    /// The time from which connections are accepted again. `None` while they are accepted.
    accepts_from: Option<Instant>,
    /// The time of the last line of the log about a failure to accept.
    told: Option<Instant>,
    /// The connections that wait for a time.
    pub(crate) pauses: Pauses,
    heartbeat: Heartbeat,
}

impl EventLoop {
    /// `end` becomes readable when the loop has to end. `more_flags` go with those of the listeners.
    pub(crate) fn new(
        listeners: Arc<[Listener]>,
        more_flags: EventFlags,
        end: &impl AsFd,
        heartbeat: Heartbeat,
    ) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, end, EventData::new_u64(END_KEY), EventFlags::IN)?;
        let new = Self {
            epoll: Arc::new(epoll),
            listeners,
            listen_flags: EventFlags::IN | more_flags,
            accepts_from: None,
            told: None,
            pauses: Pauses::default(),
            heartbeat,
        };
        new.listen()?;
        Ok(new)
    }

    fn listen(&self) -> io::Result<()> {
        for (key, listener) in (1..).zip(self.listeners.iter()) {
            let data = EventData::new_u64(key);
            epoll::add(&*self.epoll, listener, data, self.listen_flags)?;
        }
        Ok(())
    }

    /// The key of the connection of this number.
    pub(crate) fn key(&self, number: u64) -> u64 {
        1 + self.listeners.len() as u64 + number
    }

    /// Waits, unless the thread `is_busy`, and puts into `wakes` what has happened. Returns when that was; `None` at the
    /// end.
    pub(crate) fn wait(&mut self, is_busy: bool, wakes: &mut Vec<Wake>) -> Option<Instant> {
        self.heartbeat.beat();
        let timeout = if is_busy {
            Timespec::default()
        } else {
            self.next_timeout()
        };
        let mut room = [MaybeUninit::uninit(); EVENTS_AT_ONCE];
        let events = match epoll::wait(&*self.epoll, &mut room, Some(&timeout)) {
            Ok((events, _)) => events,
            Err(Errno::INTR) => &mut [],
            Err(_) => return None,
        };
        let woke = Instant::now();
        let first = self.key(0);
        for event in events {
            wakes.push(match event.data.u64() {
                END_KEY => return None,
                key if key < first => Wake::Accept(key as usize - 1),
                key => Wake::Event(key - first, event.flags),
            });
        }
        if self.accepts_from.is_some_and(|at| at <= woke) {
            self.accepts_from = None;
            let _ = self.listen();
        }
        while let Some(number) = self.pauses.take_ended(woke) {
            wakes.push(Wake::PauseEnd(number));
        }
        Some(woke)
    }

    /// The time to the next pause that ends, at most [`LONGEST_WAIT`].
    fn next_timeout(&self) -> Timespec {
        let next = [self.pauses.next_end(), self.accepts_from];
        let longest = next
            .into_iter()
            .flatten()
            .min()
            .map_or(LONGEST_WAIT, |next| {
                // 50 us more, since a thread that wakes a moment too early has to wait a second time.
                next.saturating_duration_since(Instant::now()) + Duration::from_micros(50)
            });
        Timespec::try_from(longest.min(LONGEST_WAIT)).unwrap_or_default()
    }

    /// Accepts a connection of a listener, of at most `left` connections. Those that their other ends have closed already, with
    /// nothing sent, end here: they cost two calls of the kernel, no memory and no turn.
    pub(crate) fn accept(
        &mut self,
        listener: usize,
        left: &mut usize,
        woke: Instant,
    ) -> Option<OwnedFd> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        while *left > 0 {
            *left -= 1;
            match accept_with(&self.listeners[listener], flags) {
                Ok(stream) if has_gone(&stream) => {}
                Ok(stream) => return Some(stream),
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(Errno::AGAIN) => return None,
                Err(error) => {
                    self.stop_accepting(error, woke);
                    return None;
                }
            }
        }
        None
    }

    fn stop_accepting(&mut self, error: Errno, woke: Instant) {
        if self
            .told
            .is_none_or(|told| woke.saturating_duration_since(told) >= LOG_PAUSE)
        {
            self.told = Some(woke);
            log::warn!("no connection can be accepted: {error}");
        }
        self.pause_accepting(woke, ACCEPT_PAUSE);
    }

    /// Accepts nothing for this time.
    pub(crate) fn pause_accepting(&mut self, woke: Instant, time: Duration) {
        for listener in self.listeners.iter() {
            let _ = epoll::delete(&*self.epoll, listener);
        }
        self.accepts_from = Some(woke + time);
    }
}

/// Whether the other end has closed a connection that has nothing to read.
fn has_gone(stream: &OwnedFd) -> bool {
    let seen = recv(stream, &mut [0], RecvFlags::PEEK | RecvFlags::DONTWAIT);
    matches!(seen, Ok((0, _)) | Err(Errno::CONNRESET))
}
