//! One connection: its input, and the answer that it sends.

use super::session::{Answer, Facts, Step};
use super::{bulk, egd, http};
use crate::admission::Admission;
use crate::clients::{Client, Turn};
use crate::doors::Door;
use crate::event_loop::{SEED_POLL, Wants};
use crate::meters::add;
use crate::status;
use crate::wipe::{Scratch, wipe};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// The most bytes that one connection sends at once: 64 KiB and a head.
pub(super) const SENT_AT_ONCE: usize = 64 * 1024 + 16;

/// A connection.
pub(super) struct Connection {
    stream: OwnedFd,
    admission: Admission,
    /// Bytes that came in and belong to no finished request.
    input: Vec<u8>,
    /// The answer that is not sent to its end, and how many bytes of its head are sent.
    answer: Option<(Answer, usize)>,
    is_hostile: bool,
}

impl Client for Connection {
    const EVENTS: EventFlags = EventFlags::IN.union(EventFlags::OUT);
    const HAS_TURNS_IN_PAUSE: bool = false;

    fn stream(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    fn admission(&self) -> &Admission {
        &self.admission
    }

    fn turn(&mut self, scratch: &mut Scratch, since: Instant, turn: &mut Turn) -> Wants {
        while !turn.is_over() {
            let step = if self.answer.is_some() {
                self.send(scratch, turn)
            } else {
                match self.take_request(since, turn) {
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

    /// Takes a request from the input. Returns `false` if there is no complete one.
    fn take_request(&mut self, since: Instant, turn: &mut Turn) -> Result<bool, Wants> {
        let state = &*self.admission.state;
        let facts = Facts {
            is_ready: state.is_ready(),
            process: std::process::id(),
        };
        let step = match self.admission.meter.door {
            Door::Egd => egd::next(&self.input, facts),
            Door::Bulk => bulk::next(&self.input, facts),
            _ => http::next(&self.input, |path| status::document(state, path)),
        };
        match step {
            Step::More => {
                // What is there is looked at again when more has come.
                turn.charge(self.input.len());
                return Ok(false);
            }
            Step::Wait => return Err(Wants::Pause(SEED_POLL)),
            Step::Answer { used, mix, answer } => {
                let wait_ns = self.admission.reserve(answer.random);
                if wait_ns > 0 {
                    return Err(Wants::Pause(Duration::from_nanos(wait_ns)));
                }
                if !mix.is_empty() {
                    state.engine.mix(mix);
                    add(&self.admission.door().mixed_bytes, mix.len() as u64);
                }
                turn.charge(used);
                if answer.is_last {
                    // A document takes as long as many other answers.
                    turn.end();
                }
                self.admission.count_request(since);
                self.input.drain(..used);
                self.answer = Some((answer, 0));
            }
            Step::Bump { used } => {
                turn.charge(used);
                self.input.drain(..used);
                self.answer = Some((bulk::bump_answer(self.change_generation()), 0));
            }
            Step::Hostile(mut answer) => {
                answer.is_last = true;
                self.is_hostile = true;
                self.answer = Some((answer, 0));
            }
        }
        Ok(true)
    }

    /// Changes the generation page, if the other end may order that. Returns whether it may.
    fn change_generation(&self) -> bool {
        let state = &self.admission.state;
        let peer = self.admission.meter.peer;
        let may = state.page.obeys(peer);
        if may {
            state.change_generation(&format!("an order by the bulk protocol, of {peer}"));
        }
        may
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
    fn send(&mut self, scratch: &mut Scratch, turn: &mut Turn) -> Result<(), Wants> {
        let Some((answer, head_sent)) = self.answer.as_mut() else {
            return Ok(());
        };
        let head = &answer.head[*head_sent..];
        let head_length = head.len().min(SENT_AT_ONCE);
        let random = answer.random.min((SENT_AT_ONCE - head_length) as u64) as usize;
        let length = head_length + random;
        if length == 0 {
            return self.end_answer();
        }
        let out = scratch.bytes(length);
        out[..head_length].copy_from_slice(&head[..head_length]);
        let engine = &self.admission.state.engine;
        if engine.try_fill(&mut out[head_length..]).is_err() {
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
                self.admission.count_bytes(of_random);
                if sent < length {
                    return Err(Wants::Event(EventFlags::OUT));
                }
                if answer.random > 0 || *head_sent < answer.head.len() {
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
