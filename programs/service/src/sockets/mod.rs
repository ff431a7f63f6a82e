//! The sockets. `protocols` has EGD, the bulk protocol and HTTP.
//!
//! A protocol is a function of the bytes that came in. A connection carries out the step that the function returns. A
//! worker tells the kernel which event each connection waits for. No connection keeps random bytes: bytes for which a
//! socket has no room are wiped, and others are made later.

pub mod protocols;
#[cfg(test)]
mod worker_tests;

use crate::metrics::metrics;
use crate::page::html;
use crate::status;
use protocols::{
    Answer, Document, Facts, MAX_BULK_BYTES, MAX_EGD_BYTES, MAX_HTTP_BYTES, Step, bump_answer,
    next_bulk, next_egd, next_http,
};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use wellspring_service_core::clients::{
    ACCEPTED_AT_ONCE, Admission, Client, Clients, EventLoop, OTHER, SEED_POLL, Turn, Wake, Wants,
};
use wellspring_service_core::connections::Closer;
use wellspring_service_core::doors::{Door, add};
use wellspring_service_core::listener::Listener;
use wellspring_service_core::process::{Scratch, ends_process, wipe};
use wellspring_service_core::state::{Heartbeat, State};

/// The threads that serve the listeners; they end when this is dropped.
#[derive(Debug)]
pub(crate) struct Workers {
    end: OwnedFd,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Starts `count` threads.
    pub(crate) fn start(
        state: &Arc<State>,
        listeners: Vec<Listener>,
        count: usize,
    ) -> io::Result<Self> {
        let listeners: Arc<[Listener]> = listeners.into();
        let mut workers = Self {
            end: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            threads: Vec::new(),
        };
        for number in 0..count {
            let name = format!("sockets-{number}");
            let heartbeat = state.heartbeats.watch(name.clone());
            let worker = Worker::new(state.clone(), listeners.clone(), &workers.end, heartbeat)?;
            let builder = std::thread::Builder::new().name(name);
            let builder = builder.stack_size(256 * 1024);
            let thread = builder.spawn(|| ends_process(|| worker.run()))?;
            workers.threads.push(thread);
        }
        Ok(workers)
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        let _ = rustix::io::write(&self.end, &1_u64.to_ne_bytes());
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

// A thread that serves sockets. All workers accept from the same listeners; each serves the connections it accepted.

/// The pause in which other workers close connections that gave way to this worker's new connections.
const CLOSING_PAUSE: Duration = Duration::from_millis(1);

/// One worker.
struct Worker {
    state: Arc<State>,
    clients: Clients<Connection>,
    /// The connections that give way to others, which another worker may have accepted.
    closer: Arc<Closer>,
}

impl Worker {
    /// `end` becomes readable when the worker has to end.
    fn new(
        state: Arc<State>,
        listeners: Arc<[Listener]>,
        end: &impl AsFd,
        heartbeat: Heartbeat,
    ) -> io::Result<Self> {
        // One of the workers wakes for a new connection, not all.
        let events = EventLoop::new(listeners, EventFlags::EXCLUSIVE, end, heartbeat)?;
        let closer = Arc::new(Closer::new()?);
        // Edge-triggered: each order wakes the worker once, which need not read the descriptor.
        let (key, flags) = (
            EventData::new_u64(events.key(OTHER)),
            EventFlags::IN | EventFlags::ET,
        );
        epoll::add(&*events.epoll, &closer.told, key, flags)?;
        Ok(Self {
            state,
            clients: Clients::new(events, Scratch::new(SENT_AT_ONCE)),
            closer,
        })
    }

    /// Serves until the end.
    fn run(mut self) {
        while self.round().is_some() {}
    }

    /// Learns what has happened, then gives turns. `None` at the end.
    fn round(&mut self) -> Option<()> {
        let (woke, others) = self.clients.learn()?;
        self.close_what_gave_way();
        for wake in others {
            if let Wake::Accept(listener) = wake {
                let mut left = ACCEPTED_AT_ONCE;
                while let Some(stream) = self.clients.events.accept(listener, &mut left, woke) {
                    self.add(listener, stream, woke);
                    if self.state.connections.are_closing() {
                        // The rest waits in the queue, the next for this time at most.
                        self.clients.events.pause_accepting(woke, CLOSING_PAUSE);
                        break;
                    }
                }
            }
        }
        self.clients.give_turns();
        Some(())
    }

    fn add(&mut self, listener: usize, stream: OwnedFd, woke: Instant) {
        let listener = &self.clients.events.listeners[listener];
        let (door, family, closer) = (listener.door, listener.family, self.closer.clone());
        let admission = Admission::admit(&self.state, door, family, &stream, woke, Some(closer));
        if let Some(admission) = admission {
            // Without a place in epoll it is closed.
            let _ = self.clients.add(Connection::new(stream, admission), woke);
        }
        // At once, so that their descriptors are free for the next.
        self.close_what_gave_way();
    }

    fn close_what_gave_way(&mut self) {
        let close = |number| self.clients.close(number);
        self.state.connections.close_with(&self.closer, close);
    }
}

// One connection: its input, and the answer that it sends.

/// The most bytes that one connection sends at once: 64 KiB and a head.
const SENT_AT_ONCE: usize = 64 * 1024 + 16;

/// A connection.
struct Connection {
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
    fn new(stream: OwnedFd, admission: Admission) -> Self {
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
            Door::Egd => next_egd(&self.input, facts),
            Door::Bulk => next_bulk(&self.input, facts),
            _ => next_http(&self.input, |path| document(state, path)),
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
            Step::Bump { used, nonce } => {
                turn.charge(used);
                self.answer = Some((bump_answer(self.change_generation(nonce)), 0));
                wipe(&mut self.input[..used]);
                self.input.drain(..used);
            }
            Step::Hostile(mut answer) => {
                answer.is_last = true;
                self.is_hostile = true;
                self.answer = Some((answer, 0));
            }
        }
        Ok(true)
    }

    /// Changes the generation page, if the other end may order that. Returns whether the kernel took new keys, or `None` if it
    /// may not.
    fn change_generation(&self, nonce: &[u8]) -> Option<bool> {
        let state = &self.admission.state;
        let peer = self.admission.meter.peer;
        let secret = if nonce.is_empty() {
            ""
        } else {
            ", with a secret"
        };
        let reason = format!("an order by the bulk protocol, of {peer}{secret}");
        let may = state.page.obeys(peer);
        may.then(|| state.change_generation(&reason, nonce, false))
    }

    /// Receives the bytes that have arrived.
    fn receive(&mut self, turn: &mut Turn) -> Result<(), Wants> {
        const CHUNK: usize = 1024;
        // Every protocol answers, or ends the connection, before this much is left over.
        const MOST: usize = MAX_HTTP_BYTES;
        const _: () = assert!(MOST >= MAX_BULK_BYTES && MOST >= MAX_EGD_BYTES);
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
        let state = &self.admission.state;
        // A document has no random bytes: the status tells why there are none.
        if random > 0 && state.try_fill(&mut out[head_length..]).is_err() {
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

    /// Ends an answer that was sent completely.
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

/// The outcome of the self-tests, run now.
fn self_test(state: &State) -> String {
    match state.self_test() {
        Ok(()) => "passed\n".into(),
        Err(failure) => format!("{failure}\n"),
    }
}

/// The document at `path`.
pub fn document(state: &State, path: &str) -> Option<Document> {
    let (media_type, body) = match path {
        "/" => ("text/html; charset=utf-8", html(&status::json(state))),
        "/status.txt" => (
            "text/plain; charset=utf-8",
            status::text(&status::json(state)),
        ),
        "/status.json" => ("application/json", status::json(state).to_string()),
        "/self-test" => ("text/plain; charset=utf-8", self_test(state)),
        "/metrics" => ("text/plain; version=0.0.4; charset=utf-8", metrics(state)),
        _ => return None,
    };
    Some(Document {
        media_type,
        body: body.into_bytes(),
    })
}
