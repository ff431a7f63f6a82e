//! Answers made ahead: while a program takes one long answer, the thread that gave it makes the next one.
//!
//! The thread makes the next answer in the memory of the one that it has just given, so bytes that were given are
//! overwritten at once, and its CPU has that memory in its cache. An answer is moved out of the table when it is handed
//! out: no byte is handed out twice. It is handed out only within [`KEPT_FOR`] and in the generation in which it was made:
//! after a clone notice, a reseed or an order it is wiped, and the reader gets bytes that are made then. Answers for which
//! no reader comes are wiped by a thread of their own.

use super::buffer::Buffer;
use crate::doors::Door;
use crate::state::State;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use wellspring::{Engine, Error, pseudo};

/// The time for which an answer is kept. A reader that comes back later is not reading as fast as it can.
pub(super) const KEPT_FOR: Duration = Duration::from_millis(2);

/// The time after which wiped memory is given back to the system, if no long read came.
pub(super) const MEMORY_KEPT_FOR: Duration = Duration::from_secs(1);

/// Shorter answers are not made ahead: to make one takes less time than to hand it over.
const LEAST_BYTES: usize = 64 << 10;

/// An answer that was made ahead.
#[derive(Debug)]
struct Answer {
    buffer: Buffer,
    door: Door,
    generation: u64,
    made: Instant,
}

#[derive(Debug, Default)]
struct Table {
    /// In the order in which they were made.
    answers: Vec<Answer>,
    /// Wiped buffers.
    spare: Vec<Buffer>,
    /// The end of the last long read.
    last_read: Option<Instant>,
    /// The time for which the thread that wipes sleeps; zero while it is awake.
    sleeps_for: Duration,
    has_ended: bool,
}

/// The answers of all files.
#[derive(Debug)]
pub(super) struct Ahead {
    table: Mutex<Table>,
    used: Condvar,
    /// The most answers, and the most buffers that wait to be used again: one for each thread.
    most: usize,
}

impl Ahead {
    /// For this many threads, which answer reads.
    pub(super) fn new(threads: usize) -> Self {
        Self {
            table: Mutex::default(),
            used: Condvar::new(),
            most: threads,
        }
    }

    /// Answers a long read: hands the bytes to `give`, then wipes or overwrites them.
    ///
    /// # Errors
    ///
    /// When the engine is not seeded. `give` was not called then.
    pub(super) fn read(
        &self,
        state: &State,
        door: Door,
        bytes: usize,
        give: impl FnOnce(&[u8]),
    ) -> Result<(), Error> {
        let mut buffer = match self.take(door, bytes, &state.engine, Instant::now())? {
            Some(buffer) => buffer,
            None => {
                let mut buffer = self.spare(bytes);
                fill(state, door, buffer.bytes_mut())?;
                buffer
            }
        };
        give(buffer.bytes());
        let generation = state.engine.generation();
        if self.is_repeated(Instant::now()) && fill(state, door, buffer.bytes_mut()).is_ok() {
            self.add(Answer {
                buffer,
                door,
                generation,
                made: Instant::now(),
            });
        } else {
            self.keep(buffer);
        }
        Ok(())
    }

    /// Whether a read of this length is answered here.
    pub(super) const fn is_long(bytes: usize) -> bool {
        bytes >= LEAST_BYTES
    }

    /// Notes a long read, and returns whether the last one was a moment ago.
    fn is_repeated(&self, now: Instant) -> bool {
        let last = self.table().last_read.replace(now);
        last.is_some_and(|last| now.saturating_duration_since(last) <= KEPT_FOR)
    }

    /// Takes the newest answer for this door and of this length. Wipes all whose time or generation has passed.
    fn take(
        &self,
        door: Door,
        bytes: usize,
        engine: &Engine,
        now: Instant,
    ) -> Result<Option<Buffer>, Error> {
        if self.table().answers.is_empty() {
            return Ok(None);
        }
        // This read compares the generation page, as every read does: if the machine was cloned, the generation
        // changes here.
        engine.try_fill(&mut [0])?;
        let generation = engine.generation();
        let mut table = self.table();
        let old = table.take_old(|answer| answer.is_old(now) || answer.generation != generation);
        let fits = |answer: &Answer| answer.door == door && answer.buffer.bytes().len() == bytes;
        let place = table.answers.iter().rposition(fits);
        let answer = place.map(|place| table.answers.remove(place));
        drop(table);
        // They are wiped without the lock.
        drop(old);
        Ok(answer.map(|answer| answer.buffer))
    }

    fn add(&self, answer: Answer) {
        let mut table = self.table();
        if table.answers.len() < self.most && !table.has_ended {
            table.answers.push(answer);
            self.watch(&mut table, KEPT_FOR);
        } else {
            drop(table);
            self.keep(answer.buffer);
        }
    }

    /// Wipes a buffer, and keeps it for another answer.
    fn keep(&self, mut buffer: Buffer) {
        buffer.wipe();
        let mut table = self.table();
        if table.spare.len() < self.most && !table.has_ended {
            table.spare.push(buffer);
            self.watch(&mut table, MEMORY_KEPT_FOR);
        }
    }

    /// Wakes the thread that wipes, if it sleeps for longer than this.
    fn watch(&self, table: &mut Table, within: Duration) {
        if table.sleeps_for > within {
            table.sleeps_for = Duration::ZERO;
            self.used.notify_one();
        }
    }

    /// A buffer of this length.
    fn spare(&self, bytes: usize) -> Buffer {
        let spare = self.table().spare.pop();
        let mut buffer = spare.unwrap_or_default();
        buffer.set_len(bytes);
        buffer
    }

    /// Wipes answers for which no reader comes, until [`end`](Self::end): the work of a thread.
    pub(super) fn work(&self) {
        let mut table = self.table();
        while !table.has_ended {
            let time = table.next_look();
            table.sleeps_for = time;
            let waited = self.used.wait_timeout(table, time);
            table = waited.unwrap_or_else(PoisonError::into_inner).0;
            table.sleeps_for = Duration::ZERO;
            let now = Instant::now();
            let old = table.take_old(|answer| answer.is_old(now));
            let spare = table.take_unused(now);
            drop(table);
            // Without the lock.
            drop((old, spare));
            table = self.table();
        }
    }

    /// Ends the thread that wipes, and wipes all answers.
    pub(super) fn end(&self) {
        let mut table = self.table();
        table.has_ended = true;
        table.answers.clear();
        table.spare.clear();
        drop(table);
        self.used.notify_all();
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answer {
    fn is_old(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.made) > KEPT_FOR
    }
}

impl Table {
    /// The time until something in the table may be too old.
    fn next_look(&self) -> Duration {
        if !self.answers.is_empty() {
            KEPT_FOR
        } else if !self.spare.is_empty() {
            MEMORY_KEPT_FOR
        } else {
            Duration::MAX
        }
    }

    /// Takes the wiped buffers out, if no long read came for a while.
    fn take_unused(&mut self, now: Instant) -> Vec<Buffer> {
        let is_used = |last| now.saturating_duration_since(last) < MEMORY_KEPT_FOR;
        if self.last_read.is_some_and(is_used) {
            return Vec::new();
        }
        std::mem::take(&mut self.spare)
    }

    /// Takes these answers out. They are wiped when they are dropped.
    fn take_old(&mut self, is_old: impl Fn(&Answer) -> bool) -> Vec<Answer> {
        self.answers
            .extract_if(.., |answer| is_old(answer))
            .collect()
    }
}

/// Makes the bytes of an answer.
///
/// # Errors
///
/// When the engine is not seeded.
pub(super) fn fill(state: &State, door: Door, bytes: &mut [u8]) -> Result<(), Error> {
    if door == Door::Pseudo {
        pseudo::fill(bytes);
        return Ok(());
    }
    state.engine.try_fill(bytes)
}

#[cfg(test)]
#[path = "ahead_tests.rs"]
mod tests;
