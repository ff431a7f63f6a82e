//! One connection: its input, and the answer that it sends.

use super::session::{Answer, Facts, Head, Step};
use super::{bulk, egd, http};
use crate::admission::Admission;
use crate::doors::Door;
use crate::look;
use crate::meters::add;
use crate::state::State;
use crate::wipe::wipe;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// The most bytes that one connection sends before the next one has its turn. If 1000 connections want more, each waits
/// for about 1000 times the 20 us of one turn.
const TURN_BYTES: usize = 64 * 1024;

/// The time until the next try of a request that waits for the first seed.
const SEED_POLL: Duration = Duration::from_millis(5);

/// The buffer in which a worker makes bytes before it sends them. It is wiped after every use.
pub(super) struct Scratch(pub(super) Vec<u8>);

impl Scratch {
    pub(super) fn new() -> Self {
        Self(vec![0; Head::SHORT_BYTES + TURN_BYTES])
    }

    pub(super) fn wipe(&mut self) {
        wipe(&mut self.0);
    }
}

/// A connection.
pub(super) struct Connection {
    pub(super) stream: OwnedFd,
    pub(super) admission: Admission,
    /// Bytes that came in and belong to no finished request.
    input: Vec<u8>,
    /// The answer that is not sent to its end, and how many bytes of its head are sent.
    answer: Option<(Answer, usize)>,
    is_hostile: bool,
}

/// The event that a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wants {
    /// More requests.
    Input,
    /// Room to send. A connection whose turn has ended waits for this, too.
    Room,
    /// The end of this time.
    Pause(Duration),
    /// None: close it.
    End,
    /// None: close it, because its input was no request.
    HostileEnd,
}

impl Connection {
    pub(super) fn new(stream: OwnedFd, admission: Admission) -> Self {
        Self {
            stream,
            admission,
            input: Vec::new(),
            answer: None,
            is_hostile: false,
        }
    }

    /// Works until the connection has to wait, or its turn ends. `woke` is the time when the worker learned of the
    /// work.
    pub(super) fn work(&mut self, state: &State, scratch: &mut Scratch, woke: Instant) -> Wants {
        let mut left = TURN_BYTES;
        loop {
            if self.answer.is_some() {
                match self.send(state, scratch, &mut left) {
                    Some(wants) => return wants,
                    None => continue,
                }
            }
            if left == 0 {
                return Wants::Room;
            }
            match self.take_request(state, woke) {
                Ok(true) => {}
                Ok(false) => match self.receive() {
                    Ok(()) => {}
                    Err(wants) => return wants,
                },
                Err(wants) => return wants,
            }
        }
    }

    /// Takes a request from the input. Returns `false` if there is no complete one.
    fn take_request(&mut self, state: &State, woke: Instant) -> Result<bool, Wants> {
        let facts = Facts {
            is_ready: state.is_ready(),
            process: std::process::id(),
        };
        let step = match self.admission.meter.door {
            Door::Egd => egd::next(&self.input, facts),
            Door::Bulk => bulk::next(&self.input, facts),
            _ => http::next(&self.input, |path| look::document(state, path)),
        };
        let meter = state.doors.meter(self.admission.meter.door);
        match step {
            Step::More => return Ok(false),
            Step::Wait => return Err(Wants::Pause(SEED_POLL)),
            Step::Answer { used, mix, answer } => {
                let now_ns = state.now_ns();
                let peer = self.admission.meter.peer;
                let wait_ns =
                    state
                        .users
                        .reserve(peer, &self.admission.user, answer.random, now_ns);
                if wait_ns > 0 {
                    return Err(Wants::Pause(Duration::from_nanos(wait_ns)));
                }
                if !mix.is_empty() {
                    state.engine.mix(mix);
                    add(&meter.mixed_bytes, mix.len() as u64);
                }
                add(&self.admission.user.requests, 1);
                add(&self.admission.meter.requests, 1);
                meter.latencies.count(woke.elapsed());
                self.input.drain(..used);
                self.answer = Some((answer, 0));
            }
            Step::Hostile(mut answer) => {
                answer.is_last = true;
                self.is_hostile = true;
                self.answer = Some((answer, 0));
            }
        }
        Ok(true)
    }

    /// Receives the bytes that have arrived.
    fn receive(&mut self) -> Result<(), Wants> {
        const CHUNK: usize = 1024;
        // Every protocol answers, or ends the connection, before this much is left over.
        const MOST: usize = http::MAX_REQUEST_BYTES;
        const _: () = assert!(MOST >= bulk::MAX_REQUEST_BYTES && MOST >= egd::MAX_REQUEST_BYTES);
        let length = self.input.len();
        self.input.resize((length + CHUNK).min(MOST), 0);
        let received = recv(&self.stream, &mut self.input[length..], RecvFlags::DONTWAIT);
        self.input
            .truncate(length + received.map_or(0, |(count, _)| count));
        match received {
            Ok((0, _)) => Err(Wants::End),
            Ok(_) => Ok(()),
            Err(Errno::AGAIN) => {
                if self.input.is_empty() {
                    // A connection that waits keeps no buffer: there may be 1000 of them.
                    self.input.shrink_to_fit();
                }
                Err(Wants::Input)
            }
            Err(Errno::INTR) => Ok(()),
            Err(_) => Err(Wants::End),
        }
    }

    /// Sends the head and random bytes. Returns `None` if the connection need not wait.
    fn send(&mut self, state: &State, scratch: &mut Scratch, left: &mut usize) -> Option<Wants> {
        let (answer, head_sent) = self.answer.as_mut()?;
        let head = &answer.head.bytes()[*head_sent..];
        let head_length = head.len().min(TURN_BYTES);
        let random = (*left as u64).min(answer.random) as usize;
        if head_length + random == 0 {
            if answer.random > 0 {
                return Some(Wants::Room);
            }
            let is_last = answer.is_last;
            self.answer = None;
            return is_last.then(|| self.end());
        }
        let length = if head_length > Head::SHORT_BYTES {
            head_length
        } else {
            head_length + random
        };
        let out = &mut scratch.0[..length];
        out[..head_length].copy_from_slice(&head[..head_length]);
        if state.engine.try_fill(&mut out[head_length..]).is_err() {
            return Some(Wants::Pause(SEED_POLL));
        }
        let sent = send(&self.stream, out, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        // Bytes that were not sent are wiped as well, and are never sent: the next call makes others.
        wipe(out);
        match sent {
            Ok(sent) => {
                let of_head = sent.min(head_length);
                let of_random = (sent - of_head) as u64;
                *head_sent += of_head;
                answer.random -= of_random;
                *left = left.saturating_sub(sent);
                for counter in [&self.admission.meter.bytes, &self.admission.user.bytes] {
                    add(counter, of_random);
                }
                add(
                    &state.doors.meter(self.admission.meter.door).bytes,
                    of_random,
                );
                (sent < length).then_some(Wants::Room)
            }
            Err(Errno::AGAIN) => Some(Wants::Room),
            Err(Errno::INTR) => None,
            Err(_) => Some(self.end()),
        }
    }

    fn end(&self) -> Wants {
        if self.is_hostile {
            Wants::HostileEnd
        } else {
            Wants::End
        }
    }
}
