//! Answers reads: short ones at once, long ones in turns. A user who has drawn its share gets the answer later.
//!
//! The threads of `fuser` take requests from the kernel, in the order in which they came. The thread that takes a short read
//! answers it. A long read waits for the turn of its user; the thread that took it then answers reads whose turn it is,
//! until none waits. One thread always takes requests from the kernel, so a short read waits only for short work.

use core::cell::RefCell;
use fuser::{Errno, ReplyData};
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use wellspring_pseudo_thread as pseudo;
use wellspring_service_core::doors::{Door, add};
use wellspring_service_core::process::{Scratch, wipe};
use wellspring_service_core::state::State;
use wellspring_service_core::users::{Peer, Turns};

/// The most bytes that the kernel asks for at once. It splits longer reads. With 512 KiB reads were no faster, and a turn
/// and the copy of a long write took longer.
pub(super) const MAX_READ_BYTES: u32 = 128 << 10;

/// A read of at most this many bytes is short: it is made in less time than it takes to wake a thread.
const SHORT_BYTES: usize = 16 << 10;

/// The longest wait of a read for its user's share. Then it gets EINTR, as by a signal: Linux cannot end a program while the
/// service has its request.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

thread_local! {
    /// The buffer in which a thread makes an answer.
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::new(MAX_READ_BYTES as usize));
}

/// A read that was taken from the kernel.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) peer: Peer,
    pub(super) door: Door,
    pub(super) length: usize,
    /// Whether the program opened the file with O_NONBLOCK.
    pub(super) is_impatient: bool,
    pub(super) reply: ReplyData,
}

/// The reads that wait for a turn, and the threads that answer them.
#[derive(Debug, Default)]
struct Line {
    turns: Turns<(Instant, Read)>,
    threads: usize,
}

/// The reads that wait for the shares of their users.
#[derive(Debug, Default)]
struct Pauses {
    /// By the end of the pause; with the time at which the read is given up.
    reads: BTreeMap<(Instant, u64), (Instant, Read)>,
    /// The number of the next one.
    next: u64,
    has_ended: bool,
}

/// All reads that wait.
#[derive(Debug)]
pub(super) struct Reads {
    line: Mutex<Line>,
    pauses: Mutex<Pauses>,
    paused: Condvar,
    /// The most threads that answer long reads.
    most_threads: usize,
}

impl Reads {
    /// Long reads are answered by at most this many threads at once.
    pub(super) fn new(most_threads: usize) -> Self {
        Self {
            line: Mutex::default(),
            pauses: Mutex::default(),
            paused: Condvar::new(),
            most_threads,
        }
    }

    /// Answers a read, now or later.
    pub(super) fn begin(&self, state: &State, read: Read) {
        let now = Instant::now();
        match wait(state, &read) {
            Duration::ZERO if read.length <= SHORT_BYTES => answer(state, now, read),
            Duration::ZERO => self.answer_in_turns(state, now, read),
            _ if read.is_impatient => read.reply.error(Errno::EAGAIN),
            wait => self.pause(now, wait, now + LONGEST_PAUSE, read),
        }
    }

    fn answer_in_turns(&self, state: &State, began: Instant, read: Read) {
        let mut line = self.line.lock();
        line.turns.add(read.peer, (began, read));
        if line.threads == self.most_threads {
            return;
        }
        line.threads += 1;
        while let Some((began, read)) = line.turns.take() {
            drop(line);
            answer(state, began, read);
            line = self.line.lock();
        }
        line.threads -= 1;
    }

    fn pause(&self, now: Instant, wait: Duration, given_up: Instant, read: Read) {
        let mut pauses = self.pauses.lock();
        let key = ((now + wait.min(LONGEST_PAUSE)).min(given_up), pauses.next);
        pauses.next += 1;
        pauses.reads.insert(key, (given_up, read));
        self.paused.notify_one();
    }

    /// Answers reads whose pause has ended, until [`end`](Self::end): the work of a thread.
    pub(super) fn answer_paused(&self, state: &State) {
        let mut pauses = self.pauses.lock();
        while !pauses.has_ended {
            let now = Instant::now();
            let next = pauses.reads.first_key_value().map(|((end, _), _)| *end);
            let left = next.map_or(Duration::MAX, |end| end.saturating_duration_since(now));
            if !left.is_zero() {
                self.paused.wait_for(&mut pauses, left);
                continue;
            }
            let first = pauses.reads.pop_first();
            drop(pauses);
            if let Some((_, (given_up, read))) = first {
                match wait(state, &read) {
                    Duration::ZERO => answer(state, now, read),
                    _ if now >= given_up => read.reply.error(Errno::EINTR),
                    wait => self.pause(now, wait, given_up, read),
                }
            }
            pauses = self.pauses.lock();
        }
        let left = std::mem::take(&mut pauses.reads);
        drop(pauses);
        left.into_values()
            .for_each(|(_, read)| read.reply.error(Errno::EIO));
    }

    /// Ends the thread for paused reads.
    pub(super) fn end(&self) {
        self.pauses.lock().has_ended = true;
        self.paused.notify_one();
    }
}

/// Takes the bytes of a read from the share of its user. Returns the time to wait if there are too few.
fn wait(state: &State, read: &Read) -> Duration {
    let meter = state.users.meter(read.peer);
    let bytes = read.length as u64;
    let wait_ns = state
        .users
        .reserve(read.peer, &meter, bytes, state.now_ns());
    Duration::from_nanos(wait_ns)
}

/// Makes the bytes, and counts them.
fn answer(state: &State, began: Instant, read: Read) {
    let Read { door, length, .. } = read;
    let meter = state.doors.meter(door);
    SCRATCH.with_borrow_mut(|scratch| {
        let bytes = scratch.bytes(length);
        if fill(state, door, bytes).is_ok() {
            meter.latencies.count(began.elapsed());
            add(&meter.bytes, length as u64);
            let user = state.users.meter(read.peer);
            add(&user.bytes, length as u64);
            add(&user.requests, 1);
            read.reply.data(bytes);
        } else {
            read.reply.error(Errno::EAGAIN);
        }
        wipe(bytes);
    });
}

/// Makes the bytes of an answer.
fn fill(state: &State, door: Door, bytes: &mut [u8]) -> Result<(), wellspring::Error> {
    if door == Door::Pseudo {
        pseudo::fill(bytes);
        return Ok(());
    }
    state.engine.try_fill(bytes)
}
