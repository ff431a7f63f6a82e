//! One connection: its input, and the answer that it sends.

use super::session::{Answer, Facts, Head, Step};
use super::{bulk, egd, http};
use crate::admission::Admission;
use crate::doors::Door;
use crate::event_loop::{SEED_POLL, Wants};
use crate::meters::add;
use crate::state::State;
use crate::status;
use crate::wipe::{Scratch, wipe};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// The most bytes that one connection sends at once.
const SENT_AT_ONCE: usize = 64 * 1024;

/// The work of one turn, in bytes: those that come in, are looked at again, and are sent.
pub(super) const TURN_BYTES: usize = 64 * 1024;

/// The cost of a request, and of each call of the kernel, besides their bytes.
const CALL_BYTES: usize = 1024;

/// The work that a connection may still do before others have their turns. Everything that the other end can make the
/// service do is charged, also what has no answer: a turn ends whatever comes in.
pub(super) struct Turn {
    left: usize,
}

impl Turn {
    pub(super) fn new() -> Self {
        // A turn costs something even if the connection can do nothing in it.
        Self {
            left: TURN_BYTES - CALL_BYTES,
        }
    }

    fn charge(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(CALL_BYTES + bytes);
    }

    fn end(&mut self) {
        self.left = 0;
    }

    fn is_over(&self) -> bool {
        self.left == 0
    }

    /// The work that was done. The last step of a turn can be longer than what was left, by one answer.
    pub(super) fn done(&self) -> usize {
        TURN_BYTES - self.left
    }
}

/// The longest part of an answer that is made at once.
pub(super) const SCRATCH_BYTES: usize = Head::SHORT_BYTES + SENT_AT_ONCE;

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

    /// Works until the connection has to wait, or its turn is over. `since` is the time when the worker learned of the
    /// work.
    pub(super) fn work(
        &mut self,
        state: &State,
        scratch: &mut Scratch,
        since: Instant,
        turn: &mut Turn,
    ) -> Wants {
        while !turn.is_over() {
            let step = if self.answer.is_some() {
                self.send(state, scratch, turn)
            } else {
                match self.take_request(state, since, turn) {
                    Ok(true) => Ok(()),
                    Ok(false) => self.receive(turn),
                    Err(wants) => Err(wants),
                }
            };
            if let Err(wants) = step {
                return wants;
            }
        }
        Wants::Turn
    }

    /// Takes a request from the input. Returns `false` if there is no complete one.
    fn take_request(
        &mut self,
        state: &State,
        since: Instant,
        turn: &mut Turn,
    ) -> Result<bool, Wants> {
        let facts = Facts {
            is_ready: state.is_ready(),
            process: std::process::id(),
        };
        let step = match self.admission.meter.door {
            Door::Egd => egd::next(&self.input, facts),
            Door::Bulk => bulk::next(&self.input, facts),
            _ => http::next(&self.input, |path| status::document(state, path)),
        };
        let meter = state.doors.meter(self.admission.meter.door);
        match step {
            Step::More => {
                // What is there is looked at again when more has come.
                turn.charge(self.input.len());
                return Ok(false);
            }
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
                turn.charge(used);
                if let Head::Document(_) = answer.head {
                    // A document takes as long as many other answers.
                    turn.end();
                }
                add(&self.admission.user.requests, 1);
                add(&self.admission.meter.requests, 1);
                meter.latencies.count(since.elapsed());
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
    fn receive(&mut self, turn: &mut Turn) -> Result<(), Wants> {
        const CHUNK: usize = 1024;
        // Every protocol answers, or ends the connection, before this much is left over.
        const MOST: usize = http::MAX_REQUEST_BYTES;
        const _: () = assert!(MOST >= bulk::MAX_REQUEST_BYTES && MOST >= egd::MAX_REQUEST_BYTES);
        let length = self.input.len();
        self.input.resize((length + CHUNK).min(MOST), 0);
        let received = recv(&self.stream, &mut self.input[length..], RecvFlags::DONTWAIT);
        self.input
            .truncate(length + received.map_or(0, |(count, _)| count));
        turn.charge(self.input.len() - length);
        match received {
            Ok((0, _)) => Err(Wants::End),
            Ok(_) => Ok(()),
            Err(Errno::AGAIN) => {
                if self.input.is_empty() {
                    // A connection that waits keeps no buffer: there may be 1000 of them.
                    self.input.shrink_to_fit();
                }
                Err(Wants::Event(EventFlags::IN))
            }
            Err(Errno::INTR) => Ok(()),
            Err(_) => Err(Wants::End),
        }
    }

    /// Sends the head and random bytes, as many as it can at once.
    fn send(&mut self, state: &State, scratch: &mut Scratch, turn: &mut Turn) -> Result<(), Wants> {
        let Some((answer, head_sent)) = self.answer.as_mut() else {
            return Ok(());
        };
        let head = &answer.head.bytes()[*head_sent..];
        let head_length = head.len().min(SENT_AT_ONCE);
        let random = answer.random.min(SENT_AT_ONCE as u64) as usize;
        if head_length + random == 0 {
            return self.end_answer();
        }
        let length = if head_length > Head::SHORT_BYTES {
            head_length
        } else {
            head_length + random
        };
        let out = &mut scratch.0[..length];
        out[..head_length].copy_from_slice(&head[..head_length]);
        if state.engine.try_fill(&mut out[head_length..]).is_err() {
            return Err(Wants::Pause(SEED_POLL));
        }
        let sent = send(&self.stream, out, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        // Bytes that were not sent are wiped as well, and are never sent: the next call makes others.
        wipe(out);
        turn.charge(length);
        match sent {
            Ok(sent) => {
                let of_head = sent.min(head_length);
                let of_random = (sent - of_head) as u64;
                *head_sent += of_head;
                answer.random -= of_random;
                for counter in [&self.admission.meter.bytes, &self.admission.user.bytes] {
                    add(counter, of_random);
                }
                add(
                    &state.doors.meter(self.admission.meter.door).bytes,
                    of_random,
                );
                if sent < length {
                    return Err(Wants::Event(EventFlags::OUT));
                }
                if answer.random > 0 || *head_sent < answer.head.bytes().len() {
                    return Ok(());
                }
                self.end_answer()
            }
            Err(Errno::AGAIN) => Err(Wants::Event(EventFlags::OUT)),
            Err(Errno::INTR) => Ok(()),
            Err(_) => Err(self.end()),
        }
    }

    /// Ends the answer, all of which is sent.
    fn end_answer(&mut self) -> Result<(), Wants> {
        let is_last = self.answer.take().is_some_and(|(answer, _)| answer.is_last);
        if is_last { Err(self.end()) } else { Ok(()) }
    }

    fn end(&self) -> Wants {
        if self.is_hostile {
            Wants::HostileEnd
        } else {
            Wants::End
        }
    }
}
