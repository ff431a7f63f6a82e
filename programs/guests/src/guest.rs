//! One guest: its messages, its requests, and its turn.

use super::device::Device;
use super::notify::GuestCalls;
use super::request::{BrokenRing, MAX_REQUEST_BYTES, Outcome, serve_next};
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
use wellspring_service_core::clients::{Admission, Client, SEED_POLL, Turn, Wants};
use wellspring_service_core::doors::add;
use wellspring_service_core::process::Scratch;
use wellspring_service_core::users::RateLimit;

/// The most messages and requests of one turn: then the next guest has its turn.
const TURN_MESSAGES: usize = 8;
const TURN_REQUESTS: usize = 16;

/// The length of the head of a message: its kind, its flags, and the length of the rest, 4 bytes each.
const HEAD_BYTES: usize = 12;

/// The most bytes of answers that the other end may leave unread. The buffer of a Unix socket is larger than this and
/// one more answer, so that no answer has to wait for room.
const MAX_UNREAD_BYTES: i32 = 32 * 1024;

/// A guest without work waits for its next message or request.
const MESSAGE: EventFlags = EventFlags::IN.union(EventFlags::RDHUP);

pub(super) struct Guest {
    stream: UnixStream,
    messages: BackendReqHandler<Mutex<Device>>,
    device: Arc<Mutex<Device>>,
    admission: Admission,
    limit: RateLimit,
    calls: Arc<GuestCalls>,
    /// Until then requests wait, and messages are read.
    paused_until: Option<Instant>,
}

impl Client for Guest {
    const EVENTS: EventFlags = MESSAGE;
    /// There may be messages left that the turn has not read.
    const HAS_TURNS_IN_PAUSE: bool = true;

    fn stream(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    fn admission(&self) -> &Admission {
        &self.admission
    }

    /// Reads messages and serves requests until there are none, or the turn ends.
    fn turn(&mut self, scratch: &mut Scratch, since: Instant, turn: &mut Turn) -> Wants {
        let mut wants = Wants::Turn;
        for _ in 0..TURN_MESSAGES {
            match self.has_message() {
                Ok(true) => {}
                Ok(false) => {
                    wants = Wants::Event(MESSAGE);
                    break;
                }
                Err(end) => return end,
            }
            turn.charge(0);
            match self.messages.handle_request() {
                Ok(()) => {}
                Err(Error::Disconnected) => return Wants::End,
                Err(error) => {
                    log::debug!("guest {}: {error}", self.admission.number);
                    return Wants::HostileEnd;
                }
            }
        }
        if self.paused_until.is_some_and(|end| Instant::now() < end) {
            return wants;
        }
        match self.serve(scratch, since, turn) {
            Ok(Wants::Event(_)) => wants,
            Ok(Wants::Pause(time)) => {
                self.paused_until = Some(Instant::now() + time);
                Wants::Pause(time)
            }
            Ok(other) => other,
            Err(BrokenRing) => Wants::HostileEnd,
        }
    }
}

impl Guest {
    pub(super) fn new(
        stream: OwnedFd,
        admission: Admission,
        device: Device,
        calls: Arc<GuestCalls>,
    ) -> std::io::Result<Self> {
        let stream = UnixStream::from(stream);
        let device = Arc::new(Mutex::new(device));
        Ok(Self {
            messages: BackendReqHandler::from_stream(stream.try_clone()?, device.clone()),
            stream,
            device,
            admission,
            limit: RateLimit::default(),
            calls,
            paused_until: None,
        })
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
        scratch: &mut Scratch,
        since: Instant,
        turn: &mut Turn,
    ) -> Result<Wants, BrokenRing> {
        let mut device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        if !device.is_running() {
            return Ok(Wants::Event(MESSAGE));
        }
        let before = device.queue.next_used();
        let wants = self.requests(&mut device, scratch, since, turn);
        let is_used = device.queue.next_used() != before;
        if let Some(call) = device.call().filter(|_| is_used) {
            // The other end has kept this thread waiting.
            if !self.calls.call(call.as_fd()) {
                return Err(BrokenRing);
            }
        }
        wants
    }

    fn requests(
        &self,
        device: &mut Device,
        scratch: &mut Scratch,
        since: Instant,
        turn: &mut Turn,
    ) -> Result<Wants, BrokenRing> {
        let state = &self.admission.state;
        for _ in 0..TURN_REQUESTS {
            // The first page of a table of descriptors, which can be anywhere, and both ends of each buffer. The rings, and
            // what is between the ends of at most 64 KiB, need few page tables.
            let mut touched = 2;
            let reserve = |bytes, buffers: usize| {
                touched += 2 * buffers;
                match self.admission.reserve(bytes) {
                    0 => {
                        let rate = state.users.guest_rate();
                        self.limit.reserve(rate, bytes, state.now_ns())
                    }
                    wait_ns => wait_ns,
                }
            };
            let fill = |bytes: &mut [u8]| state.try_fill(bytes).is_ok();
            let (memory, queue) = (&device.memory, &mut device.queue);
            // After each request: of memory that was cut off, few pages are replaced.
            let scratch = scratch.bytes(MAX_REQUEST_BYTES);
            let served = memory.guard(|memory| serve_next(queue, memory, scratch, reserve, fill));
            let outcome = served.ok_or(BrokenRing)??;
            device.memory.touch(touched).map_err(|_| BrokenRing)?;
            match outcome {
                Outcome::Idle => return Ok(Wants::Event(MESSAGE)),
                Outcome::Wait(wait_ns) => return Ok(Wants::Pause(Duration::from_nanos(wait_ns))),
                Outcome::NotSeeded => return Ok(Wants::Pause(SEED_POLL)),
                Outcome::Faulty => {
                    self.admission.count_request(since);
                    add(&self.admission.meter.faulty, 1);
                }
                Outcome::Done(bytes) => {
                    self.admission.count_request(since);
                    self.admission.count_bytes(bytes.into());
                    turn.charge(bytes as usize);
                }
            }
            if turn.is_over() {
                break;
            }
        }
        Ok(Wants::Turn)
    }
}

/// The bytes that this end has sent and the other has not read, with what the kernel needs for them.
fn unread_bytes(stream: BorrowedFd<'_>) -> i32 {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the descriptor is open, and TIOCOUTQ (SIOCOUTQ) writes one int.
    let asked = unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if asked == 0 { bytes } else { i32::MAX }
}
