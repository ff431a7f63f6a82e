//! The connections of one thread: how they are accepted and let in, their events, their turns, and their pauses.

use crate::connections::{Closer, ConnectionMeter, TOO_FEW_DESCRIPTORS};
use crate::doors::{Door, DoorMeter, add, subtract};
use crate::listener::{Family, Listener};
use crate::process::{Scratch, isolated};
use crate::state::{Heartbeat, State};
use crate::users::{Peer, Turns, UserMeter};
use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::Relaxed;
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SocketFlags, accept_with, recv, sockopt};
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wellspring_client::vsock;
use wellspring_os::trusted_file::other_end;

/// The work of one turn: the bytes that come in, are looked at again, and are sent.
const TURN_BYTES: usize = 64 * 1024;

/// The cost of a request, and of each call of the kernel, besides their bytes.
const CALL_BYTES: usize = 1024;

/// The other end has closed the connection, or it broke.
const GONE: EventFlags = EventFlags::HUP.union(EventFlags::ERR);

/// The number for everything but connections, whose numbers begin at 1.
pub const OTHER: u64 = 0;

/// A connection that has turns.
pub trait Client {
    /// The events that the kernel reports.
    const EVENTS: EventFlags;

    /// Whether it has turns while it is paused.
    const HAS_TURNS_IN_PAUSE: bool;

    /// The connection itself.
    fn stream(&self) -> BorrowedFd<'_>;

    /// Its place among the connections, until this is dropped.
    fn admission(&self) -> &Admission;

    /// Works until it has to wait, or its turn is over. `since` is the time when the thread learned of the work.
    fn turn(&mut self, scratch: &mut Scratch, since: Instant, turn: &mut Turn) -> Wants;
}

/// The work that a connection may still do before others have their turns. Everything that the other end can make the
/// service do is charged, also what has no answer: a turn ends whatever comes in.
pub struct Turn {
    left: usize,
}

impl Turn {
    fn new() -> Self {
        // A turn costs something even if the connection can do nothing in it.
        Self {
            left: TURN_BYTES - CALL_BYTES,
        }
    }

    /// Charges this number of bytes, and a call.
    pub fn charge(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(CALL_BYTES + bytes);
    }

    /// Ends the turn.
    pub fn end(&mut self) {
        self.left = 0;
    }

    /// Whether the turn is over.
    pub fn is_over(&self) -> bool {
        self.left == 0
    }

    /// The work that was done. The last step of a turn can be longer than what was left, by one answer.
    fn done(&self) -> usize {
        TURN_BYTES - self.left
    }
}

/// The event that a connection waits for.
#[derive(Clone, Copy)]
enum Waits {
    /// These events.
    For(EventFlags),
    /// The end of a pause.
    Pause,
    /// Its turn, since this time.
    Turn(Instant),
}

struct Slot<C> {
    client: C,
    waits: Waits,
    /// The kernel has reported that the other end is gone. It reports each change once.
    is_gone: bool,
}

/// The connections of one thread, by their numbers.
pub struct Clients<C> {
    /// The events that the thread waits for.
    pub events: EventLoop,
    slots: HashMap<u64, Slot<C>>,
    turns: Turns<u64>,
    /// The buffer in which the thread makes answers.
    pub scratch: Scratch,
    wakes: Vec<Wake>,
}

impl<C: Client> Clients<C> {
    /// No connections.
    pub fn new(events: EventLoop, scratch: Scratch) -> Self {
        Self {
            events,
            slots: HashMap::new(),
            turns: Turns::default(),
            scratch,
            wakes: Vec::new(),
        }
    }

    /// The number of connections.
    pub fn count(&self) -> usize {
        self.slots.len()
    }

    /// Adds one, and gives it a turn.
    pub fn add(&mut self, client: C, woke: Instant) -> io::Result<()> {
        let number = client.admission().number;
        let key = EventData::new_u64(self.events.key(number));
        // Each change is reported once: no call is needed when a connection waits for something else, and a part of a
        // message wakes the thread once.
        let events = C::EVENTS | EventFlags::ET;
        epoll::add(&*self.events.epoll, client.stream(), key, events)?;
        let slot = Slot {
            client,
            waits: Waits::For(C::EVENTS),
            is_gone: false,
        };
        self.slots.insert(number, slot);
        self.queue(number, woke);
        Ok(())
    }

    /// Waits, unless turns are due, and learns what has happened. Returns when that was, and what happened to others than
    /// these connections; `None` at the end.
    pub fn learn(&mut self) -> Option<(Instant, Vec<Wake>)> {
        let mut wakes = core::mem::take(&mut self.wakes);
        let woke = self.events.wait(!self.turns.is_empty(), &mut wakes)?;
        let mut others = Vec::new();
        for wake in wakes.drain(..) {
            match wake {
                Wake::Accept(_) | Wake::Event(OTHER, _) => others.push(wake),
                Wake::Event(number, flags) => self.wake(number, flags, woke),
                Wake::PauseEnd(number) => self.queue(number, woke),
            }
        }
        self.wakes = wakes;
        Some((woke, others))
    }

    /// Gives turns until one turn's work is done. So what happens meanwhile is learned soon, and many short turns cost one
    /// call of the kernel.
    pub fn give_turns(&mut self) {
        let mut done = 0;
        while done < TURN_BYTES
            && let Some(number) = self.turns.take()
        {
            done += self.serve(number);
        }
    }

    /// Gives a connection its next turn, for which it waits since then.
    fn queue(&mut self, number: u64, since: Instant) {
        if let Some(slot) = self.slots.get_mut(&number)
            && !matches!(slot.waits, Waits::Turn(_))
        {
            slot.waits = Waits::Turn(since);
            self.turns.add(slot.client.admission().meter.peer, number);
        }
    }

    fn wake(&mut self, number: u64, flags: EventFlags, woke: Instant) {
        let Some(slot) = self.slots.get_mut(&number) else {
            return;
        };
        slot.is_gone |= flags.intersects(GONE);
        match slot.waits {
            Waits::For(events) if flags.intersects(events | GONE) => self.queue(number, woke),
            Waits::Pause if slot.is_gone => self.close(number),
            Waits::For(_) | Waits::Pause | Waits::Turn(_) => {}
        }
    }

    /// Gives a connection its turn. Returns the work that was done.
    fn serve(&mut self, number: u64) -> usize {
        let mut turn = Turn::new();
        let Some(slot) = self.slots.get_mut(&number) else {
            return turn.done();
        };
        let Waits::Turn(since) = slot.waits else {
            return turn.done();
        };
        let work = || slot.client.turn(&mut self.scratch, since, &mut turn);
        let Some(wants) = isolated(work) else {
            self.scratch.wipe();
            slot.client.admission().note_panic();
            self.close(number);
            return turn.done();
        };
        slot.waits = Waits::Pause;
        match wants {
            Wants::Event(events) => slot.waits = Waits::For(events),
            Wants::Turn => self.queue(number, Instant::now()),
            // No client waits for the end of this pause.
            Wants::Pause(_) if slot.is_gone => self.close(number),
            Wants::Pause(time) => {
                self.events.pauses.begin(Instant::now() + time, number);
                if C::HAS_TURNS_IN_PAUSE {
                    self.queue(number, Instant::now());
                }
            }
            Wants::End => self.close(number),
            Wants::HostileEnd => {
                slot.client.admission().note_hostile();
                self.close(number);
            }
        }
        turn.done()
    }

    /// Closes a connection, if it is open.
    pub fn close(&mut self, number: u64) {
        if self.slots.remove(&number).is_some() {
            self.events.pauses.cancel(number);
        }
    }
}

// Lets a connection in, or refuses it, and counts both.

/// A connection that was let in. When this is dropped, the connection no longer counts.
pub struct Admission {
    /// The state that all threads share.
    pub state: Arc<State>,
    /// Its number.
    pub number: u64,
    /// Its counters.
    pub meter: Arc<ConnectionMeter>,
    /// The counters of the user at its other end.
    pub user: Arc<UserMeter>,
}

impl Admission {
    /// Admits a connection. `None`: a limit is reached. `closer` learns of connections that have to give way later to others.
    /// Without `closer` this connection never gives way.
    pub fn admit(
        state: &Arc<State>,
        door: Door,
        family: Family,
        stream: &impl AsFd,
        since: Instant,
        closer: Option<Arc<Closer>>,
    ) -> Option<Self> {
        let door_meter = state.doors.meter(door);
        let (peer, process) = peer_of(door, family, stream);
        let room = state.descriptors.room_for(peer, stream);
        let meter = ConnectionMeter {
            door,
            peer,
            process,
            since,
            bytes: Default::default(),
            requests: Default::default(),
            faulty: Default::default(),
            active_ns: state.now_ns().into(),
            closer,
        };
        let entered = state.connections.enter(&state.users.limits(), room, meter);
        let entered = match entered {
            Ok(entered) => entered,
            Err(refusal) => {
                add(&door_meter.refused, 1);
                if refusal == TOO_FEW_DESCRIPTORS {
                    state.descriptors.log_refusal(state.now_ns());
                }
                log::debug!("{}: user {peer} refused: {refusal}", door.name());
                return None;
            }
        };
        let number = entered.number;
        if let Some(gone) = entered.gave_way {
            add(&state.doors.meter(gone.door).gave_way, 1);
            let (name, user) = (gone.door.name(), gone.peer);
            log::debug!("{name}: a connection of user {user} gives way to one of user {peer}");
        }
        state.descriptors.take(door);
        add(&door_meter.opened, 1);
        add(&door_meter.open_now, 1);
        if family == Family::Tcp {
            let _ = sockopt::set_tcp_nodelay(stream, true);
        }
        log::debug!("{}: connection {number} of user {peer}", door.name());
        Some(Self {
            state: state.clone(),
            number,
            meter: entered.meter,
            user: state.users.enter(peer),
        })
    }

    /// Takes `bytes` from the share of the user. Returns the time to wait first, in nanoseconds. If that is not 0, nothing was
    /// taken.
    #[must_use]
    pub fn reserve(&self, bytes: u64) -> u64 {
        let users = &self.state.users;
        users.reserve(self.meter.peer, &self.user, bytes, self.state.now_ns())
    }

    /// Counts a request. The thread learned of it at `since`.
    pub fn count_request(&self, since: Instant) {
        self.note_activity();
        add(&self.meter.requests, 1);
        add(&self.user.requests, 1);
        self.door().latencies.count(since.elapsed());
    }

    /// Counts bytes that were handed out.
    pub fn count_bytes(&self, bytes: u64) {
        self.note_activity();
        for counter in [&self.meter.bytes, &self.user.bytes, &self.door().bytes] {
            add(counter, bytes);
        }
    }

    /// From now on the connection has been idle for no time.
    fn note_activity(&self) {
        self.meter.active_ns.store(self.state.now_ns(), Relaxed);
    }

    /// The counters of its door.
    pub fn door(&self) -> &DoorMeter {
        self.state.doors.meter(self.meter.door)
    }

    /// Counts that the connection is closed because of what came in.
    fn note_hostile(&self) {
        add(&self.door().hostile, 1);
        let (name, number) = (self.meter.door.name(), self.number);
        log::debug!("{name}: connection {number} sent what is no request");
    }

    /// Notes that the connection is closed because of an error in the service.
    fn note_panic(&self) {
        let (name, number, peer) = (self.meter.door.name(), self.number, self.meter.peer);
        let words = format!(
            "{name}: the service's own work for connection {number} of user {peer} panicked: it is closed"
        );
        self.state.event_log.add(true, words);
    }
}

/// The other end of a connection, and its process where the kernel names one.
fn peer_of(door: Door, family: Family, stream: &impl AsFd) -> (Peer, Option<i32>) {
    match family {
        Family::Unix => match other_end(stream) {
            Ok((user, process)) => (
                Peer::User(user),
                Some(process).filter(|number| *number != 0),
            ),
            Err(_) => (Peer::Loopback, None),
        },
        Family::Tcp if door == Door::Web => (Peer::LoopbackWeb, None),
        Family::Tcp => (Peer::Loopback, None),
        Family::Vsock => match vsock::other_machine(stream) {
            Ok(machine) => (Peer::Machine(machine), None),
            Err(_) => (Peer::Loopback, None),
        },
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.state.descriptors.give_back(self.meter.door);
        subtract(&self.door().open_now, 1);
        self.state.connections.remove(self.number);
        self.state.users.leave(&self.user);
    }
}

// The loop of every thread that serves connections: it waits for events, accepts connections, and lets some wait.

/// The key of the descriptor that ends the loop; listeners and connections have the keys after it.
const END_KEY: u64 = 0;

/// The time for which nothing is accepted after a failure, such as a lack of descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The least time between two lines of the log that say so.
const LOG_PAUSE: Duration = Duration::from_secs(60);

/// The most connections that are accepted at once: an open connection waits for them before its turn. The queue of a socket
/// is empty after 8 rounds, so a user who connects and closes without end costs a new connection no more.
pub const ACCEPTED_AT_ONCE: usize = 16;

/// The most events that are taken from the kernel at once.
const EVENTS_AT_ONCE: usize = 1024;

/// The longest wait for an event. Then the loop goes round, and its thread counts as alive.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// The reason why the loop goes on.
#[derive(Clone, Copy, Debug)]
pub enum Wake {
    /// A connection waits at the listener of this number.
    Accept(usize),
    /// Something happened to the connection of this number.
    Event(u64, EventFlags),
    /// The pause of the connection of this number has ended.
    PauseEnd(u64),
}

/// The event that a connection waits for after its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
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
pub const SEED_POLL: Duration = Duration::from_millis(5);

/// The descriptors that a thread waits for.
pub struct EventLoop {
    /// The descriptor of epoll.
    pub epoll: Arc<OwnedFd>,
    /// The sockets that accept connections.
    pub listeners: Arc<[Listener]>,
    /// How the kernel reports new connections.
    listen_flags: EventFlags,
    /// The time from which connections are accepted again. `None` while they are accepted.
    accepts_from: Option<Instant>,
    /// The time of the last line of the log about a failure to accept.
    told: Option<Instant>,
    /// The connections that wait for a time.
    pub pauses: Pauses,
    heartbeat: Heartbeat,
}

impl EventLoop {
    /// `end` becomes readable when the loop has to end. The loop adds `more_flags` to the flags of the listeners.
    pub fn new(
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
    pub fn key(&self, number: u64) -> u64 {
        1 + self.listeners.len() as u64 + number
    }

    /// Waits, unless the thread `is_busy`, and puts into `wakes` what has happened. Returns when that was; `None` at the
    /// end.
    pub fn wait(&mut self, is_busy: bool, wakes: &mut Vec<Wake>) -> Option<Instant> {
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
    pub fn accept(&mut self, listener: usize, left: &mut usize, woke: Instant) -> Option<OwnedFd> {
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
    pub fn pause_accepting(&mut self, woke: Instant, time: Duration) {
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

// The pauses of connections: at most one for each.

/// The pauses that have not ended.
#[derive(Debug, Default)]
pub struct Pauses {
    by_end: BTreeSet<(Instant, u64)>,
    by_number: HashMap<u64, Instant>,
}

impl Pauses {
    /// Begins a pause, which replaces the connection's present one.
    pub fn begin(&mut self, until: Instant, number: u64) {
        self.cancel(number);
        self.by_number.insert(number, until);
        self.by_end.insert((until, number));
    }

    /// Ends the pause of this connection without a wake, if there is one.
    fn cancel(&mut self, number: u64) {
        if let Some(until) = self.by_number.remove(&number) {
            self.by_end.remove(&(until, number));
        }
    }

    /// The end of the pause that ends first.
    fn next_end(&self) -> Option<Instant> {
        self.by_end.first().map(|(until, _)| *until)
    }

    /// Takes a pause that has ended: the number of its connection.
    fn take_ended(&mut self, now: Instant) -> Option<u64> {
        let (until, number) = *self.by_end.first()?;
        (until <= now).then(|| self.cancel(number))?;
        Some(number)
    }

    /// The number of pauses.
    pub fn count(&self) -> usize {
        assert_eq!(self.by_end.len(), self.by_number.len());
        self.by_end.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn each_pause_ends_once_in_the_order_of_time_and_one_that_is_cancelled_never() {
        let now = Instant::now();
        let at = |ms| now + Duration::from_millis(ms);
        let mut pauses = Pauses::default();
        pauses.begin(at(30), 103);
        pauses.begin(at(10), 101);
        pauses.begin(at(20), 102);
        // It begins again: its first end counts no more.
        pauses.begin(at(40), 101);
        pauses.cancel(102);
        pauses.cancel(102);
        assert_eq!((pauses.count(), pauses.next_end()), (2, Some(at(30))));
        assert_eq!(pauses.take_ended(at(29)), None);
        assert_eq!(pauses.take_ended(at(50)), Some(103));
        assert_eq!(pauses.take_ended(at(50)), Some(101));
        assert_eq!(pauses.take_ended(at(50)), None);
        assert_eq!((pauses.count(), pauses.next_end()), (0, None));
    }
}
