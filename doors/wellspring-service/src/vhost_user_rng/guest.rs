//! One guest: its messages, its requests, and its turn.

use super::device::Device;
use super::notify::GuestCalls;
use super::request::{BrokenRing, Outcome, serve_next};
use crate::admission::Admission;
use crate::event_loop::{SEED_POLL, Wants};
use crate::meters::add;
use crate::rate_limit::RateLimit;
use crate::state::State;
use crate::wipe::Scratch;
use rustix::event::epoll::EventFlags;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use vhost::vhost_user::message::MAX_MSG_SIZE;
use vhost::vhost_user::{BackendReqHandler, Error};
use virtio_queue::QueueT;

/// The most messages and requests, and the most bytes, of one turn: then the next guest has its turn.
const TURN_MESSAGES: usize = 8;
const TURN_REQUESTS: usize = 16;
const TURN_BYTES: usize = 64 * 1024;

/// The length of the head of a message: its kind, its flags, and the length of the rest, 4 bytes each.
const HEAD_BYTES: usize = 12;

/// The most bytes of answers that the other end may leave unread. The buffer of a Unix socket is larger than this and
/// one more answer, so that no answer has to wait for room.
const MAX_UNREAD_BYTES: i32 = 32 * 1024;

/// A guest without work waits for its next message or request.
const MESSAGE: Wants = Wants::Event(EventFlags::IN);

/// One guest.
pub(super) struct Guest {
    stream: UnixStream,
    messages: BackendReqHandler<Mutex<Device>>,
    device: Arc<Mutex<Device>>,
    pub(super) admission: Admission,
    limit: RateLimit,
}

impl Guest {
    pub(super) fn new(
        stream: OwnedFd,
        admission: Admission,
        device: Device,
    ) -> std::io::Result<Self> {
        let stream = UnixStream::from(stream);
        let device = Arc::new(Mutex::new(device));
        Ok(Self {
            messages: BackendReqHandler::from_stream(stream.try_clone()?, device.clone()),
            stream,
            device,
            admission,
            limit: RateLimit::default(),
        })
    }

    /// The connection.
    pub(super) fn stream(&self) -> &UnixStream {
        &self.stream
    }

    /// Reads messages and serves requests until there are none, or the turn ends. `is_paused`: requests wait.
    pub(super) fn turn(
        &mut self,
        state: &State,
        scratch: &mut Scratch,
        calls: &GuestCalls,
        woke: Instant,
        is_paused: bool,
    ) -> Wants {
        let mut wants = Wants::Turn;
        for _ in 0..TURN_MESSAGES {
            match self.has_message() {
                Ok(true) => {}
                Ok(false) => {
                    wants = MESSAGE;
                    break;
                }
                Err(end) => return end,
            }
            match self.messages.handle_request() {
                Ok(()) => {}
                Err(Error::Disconnected) => return Wants::End,
                Err(error) => {
                    tracing::debug!("guest {}: {error}", self.admission.number);
                    return Wants::HostileEnd;
                }
            }
        }
        if is_paused {
            return wants;
        }
        match self.serve(state, scratch, calls, woke) {
            Ok(Wants::Event(_)) => wants,
            Ok(other) => other,
            Err(BrokenRing) => Wants::HostileEnd,
        }
    }

    /// Whether a whole message has arrived. The crate `vhost` tries again and again while a part is missing or while
    /// there is no room for its answer, so it must find both.
    fn has_message(&self) -> Result<bool, Wants> {
        let mut head = [0; HEAD_BYTES];
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let seen = match recv(&self.stream, &mut head, flags) {
            Ok((0, _)) => return Err(Wants::End),
            Ok((seen, _)) => seen,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(false),
            Err(_) => return Err(Wants::End),
        };
        if seen < HEAD_BYTES {
            return self.rest_may_come();
        }
        let length = u32::from_ne_bytes([head[8], head[9], head[10], head[11]]) as usize;
        if length > MAX_MSG_SIZE || unread_bytes(self.stream.as_fd()) > MAX_UNREAD_BYTES {
            return Err(Wants::HostileEnd);
        }
        let arrived = rustix::io::ioctl_fionread(&self.stream).map_err(|_| Wants::End)?;
        if arrived >= (HEAD_BYTES + length) as u64 {
            return Ok(true);
        }
        self.rest_may_come()
    }

    /// Whether the rest of a message can arrive: the other end has not closed the connection in the middle. A guest whose
    /// half message waits is never read to its end, and would stay until the service ends.
    fn rest_may_come(&self) -> Result<bool, Wants> {
        let mut polled = [PollFd::new(&self.stream, PollFlags::RDHUP)];
        let ends = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
        match poll(&mut polled, Some(&Timespec::default())) {
            Ok(_) if polled[0].revents().intersects(ends) => Err(Wants::End),
            _ => Ok(false),
        }
    }

    fn serve(
        &mut self,
        state: &State,
        scratch: &mut Scratch,
        calls: &GuestCalls,
        woke: Instant,
    ) -> Result<Wants, BrokenRing> {
        let mut device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        if !device.is_running() {
            return Ok(MESSAGE);
        }
        let before = device.queue.next_used();
        let wants = self.requests(&mut device, state, scratch, woke);
        let is_used = device.queue.next_used() != before;
        if let Some(call) = device.call().filter(|_| is_used) {
            // The other end has kept this thread waiting.
            if !calls.call(call.as_fd()) {
                return Err(BrokenRing);
            }
        }
        wants
    }

    fn requests(
        &self,
        device: &mut Device,
        state: &State,
        scratch: &mut Scratch,
        woke: Instant,
    ) -> Result<Wants, BrokenRing> {
        let users = &state.users;
        let mut left = TURN_BYTES;
        for _ in 0..TURN_REQUESTS {
            // The first page of a table of descriptors, which can be anywhere, and both ends of each buffer. The rings, and
            // what is between the ends of at most 64 KiB, need few page tables.
            let mut touched = 2;
            let reserve = |bytes, buffers: usize| {
                touched += 2 * buffers;
                let now_ns = state.now_ns();
                let peer = self.admission.meter.peer;
                match users.reserve(peer, &self.admission.user, bytes, now_ns) {
                    0 => self.limit.reserve(users.guest_rate(), bytes, now_ns),
                    wait_ns => wait_ns,
                }
            };
            let fill = |bytes: &mut [u8]| state.engine.try_fill(bytes).is_ok();
            let (memory, queue) = (&device.memory, &mut device.queue);
            // After each request: of memory that was cut off, few pages are replaced.
            let served =
                memory.guard(|memory| serve_next(queue, memory, &mut scratch.0, reserve, fill));
            let outcome = served.ok_or(BrokenRing)??;
            device.memory.touch(touched).map_err(|_| BrokenRing)?;
            match outcome {
                Outcome::Idle => return Ok(MESSAGE),
                Outcome::Wait(wait_ns) => return Ok(Wants::Pause(Duration::from_nanos(wait_ns))),
                Outcome::NotSeeded => return Ok(Wants::Pause(SEED_POLL)),
                Outcome::Faulty => {
                    self.count(state, woke, 0);
                    add(&self.admission.meter.faulty, 1);
                }
                Outcome::Done(bytes) => {
                    self.count(state, woke, bytes.into());
                    left = left.saturating_sub(bytes as usize);
                }
            }
            if left == 0 {
                break;
            }
        }
        Ok(Wants::Turn)
    }

    fn count(&self, state: &State, woke: Instant, bytes: u64) {
        let (meter, user) = (&self.admission.meter, &self.admission.user);
        let door = state.doors.meter(meter.door);
        for counter in [&meter.bytes, &user.bytes, &door.bytes] {
            add(counter, bytes);
        }
        for counter in [&meter.requests, &user.requests] {
            add(counter, 1);
        }
        door.latencies.count(woke.elapsed());
    }
}

/// The bytes that this end has sent and the other has not read, with what the kernel needs for them.
fn unread_bytes(stream: BorrowedFd<'_>) -> i32 {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the descriptor is open, and TIOCOUTQ (SIOCOUTQ) writes one int.
    let asked = unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if asked == 0 { bytes } else { i32::MAX }
}
