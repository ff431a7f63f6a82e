//! Answers made ahead: while a reader takes one answer of 1 MiB, another thread makes the next one.
//!
//! An answer belongs to one open file, and is moved out of the table when it is handed out: no byte is handed out
//! twice. It is handed out only within [`KEPT_FOR`] and in the generation in which it was made: after a clone notice, a
//! reseed or an order it is wiped, and the reader gets bytes that are made then. A reader never waits for an answer
//! that is being made: it makes its own, and the other answer serves the read after that.

use super::buffer::Buffer;
use crate::doors::Door;
use crate::state::State;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use wellspring::{Engine, Error, pseudo};

/// The time for which an answer is kept. A reader that comes back later is not reading as fast as it can.
const KEPT_FOR: Duration = Duration::from_millis(2);

/// Shorter answers are not made ahead: to wake another thread takes about as long as to make them.
const LEAST_BYTES: usize = 512 << 10;

/// The most answers, ordered and made, and the most buffers that wait to be used again: memory has a bound whatever the
/// number of open files.
const MOST: usize = 8;

/// An answer that was made ahead.
#[derive(Debug)]
pub(super) struct Answer {
    bytes: Buffer,
    generation: u64,
    made: Instant,
}

/// An open file that reads much at once.
#[derive(Debug, Default)]
struct Reader {
    /// The length of its last read.
    last_bytes: usize,
    is_ordered: bool,
    answer: Option<Answer>,
}

/// An answer that a thread should make.
#[derive(Debug)]
struct Order {
    file: u64,
    door: Door,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Table {
    readers: BTreeMap<u64, Reader>,
    orders: VecDeque<Order>,
    /// Wiped buffers.
    spare: Vec<Buffer>,
    /// Orders and answers.
    pending: usize,
    has_ended: bool,
}

/// The answers of all open files.
#[derive(Debug)]
pub(super) struct Ahead {
    table: Mutex<Table>,
    ordered: Condvar,
    /// Long reads that are being answered now.
    reading: AtomicUsize,
    cpus: usize,
}

impl Ahead {
    pub(super) fn new(cpus: usize) -> Self {
        Self {
            table: Mutex::default(),
            ordered: Condvar::new(),
            reading: AtomicUsize::new(0),
            cpus,
        }
    }

    /// Answers a read of `file`: hands the bytes to `give`, and wipes them.
    ///
    /// # Errors
    ///
    /// When the engine is not seeded. `give` was not called then.
    pub(super) fn read(
        &self,
        state: &State,
        (file, door): (u64, Door),
        bytes: usize,
        give: impl FnOnce(&[u8]),
    ) -> Result<(), Error> {
        // A maker is of use only on a CPU that no reader needs.
        let reading = self.reading.fetch_add(1, Relaxed) + 1;
        let result = self.answer(state, (file, door), bytes, 2 * reading <= self.cpus, give);
        self.reading.fetch_sub(1, Relaxed);
        result
    }

    fn answer(
        &self,
        state: &State,
        (file, door): (u64, Door),
        bytes: usize,
        has_cpu: bool,
        give: impl FnOnce(&[u8]),
    ) -> Result<(), Error> {
        let answer = self.take(file, bytes, &state.engine, Instant::now())?;
        if has_cpu {
            self.order(file, door, bytes);
        }
        let made = match answer {
            Some(buffer) => buffer,
            None => {
                let mut buffer = self.spare(bytes);
                fill(state, door, buffer.bytes_mut())?;
                buffer
            }
        };
        give(made.bytes());
        self.keep(made);
        Ok(())
    }

    /// Whether a read of this length is answered here.
    pub(super) const fn is_long(bytes: usize) -> bool {
        bytes >= LEAST_BYTES
    }

    /// Takes the answer that was made for this file, unless the time or the generation has passed.
    fn take(
        &self,
        file: u64,
        bytes: usize,
        engine: &Engine,
        now: Instant,
    ) -> Result<Option<Buffer>, Error> {
        let mut table = self.table();
        let reader = table.readers.entry(file).or_default();
        let Some(answer) = reader.answer.take() else {
            return Ok(None);
        };
        table.pending -= 1;
        drop(table);
        // This read compares the generation page, as every read does: if the machine was cloned, the generation
        // changes here.
        engine.try_fill(&mut [0])?;
        let is_fresh = now.saturating_duration_since(answer.made) <= KEPT_FOR
            && answer.generation == engine.generation()
            && answer.bytes.bytes().len() == bytes;
        if is_fresh {
            return Ok(Some(answer.bytes));
        }
        self.keep(answer.bytes);
        Ok(None)
    }

    /// Orders the next answer for a file, if its last read was as long as this one.
    fn order(&self, file: u64, door: Door, bytes: usize) {
        let mut table = self.table();
        let has_room = table.pending < MOST;
        let reader = table.readers.entry(file).or_default();
        let is_repeated = reader.last_bytes == bytes;
        reader.last_bytes = bytes;
        if is_repeated && has_room && !reader.is_ordered && reader.answer.is_none() {
            reader.is_ordered = true;
            table.pending += 1;
            table.orders.push_back(Order { file, door, bytes });
            drop(table);
            self.ordered.notify_one();
        }
    }

    /// Wipes a buffer, and keeps it for another answer.
    fn keep(&self, mut buffer: Buffer) {
        buffer.wipe();
        let mut table = self.table();
        if table.spare.len() < MOST && !table.has_ended {
            table.spare.push(buffer);
        }
    }

    /// A buffer of this length.
    fn spare(&self, bytes: usize) -> Buffer {
        let spare = self.table().spare.pop();
        let mut buffer = spare.unwrap_or_default();
        buffer.set_len(bytes);
        buffer
    }

    /// A file was closed: its answer is wiped.
    pub(super) fn close(&self, file: u64) {
        let mut table = self.table();
        let reader = table.readers.remove(&file);
        if let Some(answer) = reader.and_then(|reader| reader.answer) {
            table.pending -= 1;
            drop(table);
            drop(answer);
        }
    }

    /// Makes answers until [`end`](Self::end): the work of a thread.
    pub(super) fn work(&self, state: &State) {
        while self.wait() {
            self.make(state);
        }
    }

    /// Waits for an order. Returns `false` at the end.
    fn wait(&self) -> bool {
        let mut table = self.table();
        while table.orders.is_empty() && !table.has_ended {
            if table.pending == 0 {
                // All readers are slow or gone: no memory is held for them.
                table.spare = Vec::new();
                let waited = self.ordered.wait(table);
                table = waited.unwrap_or_else(PoisonError::into_inner);
            } else {
                let waited = self.ordered.wait_timeout(table, KEPT_FOR);
                table = waited.unwrap_or_else(PoisonError::into_inner).0;
                let old = table.take_old(Instant::now());
                drop(table);
                // They are wiped without the lock.
                drop(old);
                table = self.table();
            }
        }
        !table.has_ended
    }

    /// Makes one answer, if there is an order.
    fn make(&self, state: &State) {
        let Some(order) = self.table().orders.pop_front() else {
            return;
        };
        let mut bytes = self.spare(order.bytes);
        let generation = state.engine.generation();
        let made = fill(state, order.door, bytes.bytes_mut());
        let mut table = self.table();
        let reader = table.readers.get_mut(&order.file);
        let reader = reader.filter(|_| made.is_ok());
        match reader {
            Some(reader) => {
                reader.is_ordered = false;
                reader.answer = Some(Answer {
                    bytes,
                    generation,
                    made: Instant::now(),
                });
            }
            // The file was closed, or the engine has lost its seed.
            None => {
                if let Some(reader) = table.readers.get_mut(&order.file) {
                    reader.is_ordered = false;
                }
                table.pending -= 1;
            }
        }
    }

    /// Ends the threads, and wipes all answers.
    pub(super) fn end(&self) {
        let mut table = self.table();
        table.has_ended = true;
        table.readers.clear();
        table.spare.clear();
        drop(table);
        self.ordered.notify_all();
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Takes the answers that no reader has come for.
    fn take_old(&mut self, now: Instant) -> Vec<Answer> {
        let is_old = |answer: &mut Answer| now.saturating_duration_since(answer.made) > KEPT_FOR;
        let readers = self.readers.values_mut();
        let old: Vec<Answer> = readers
            .filter_map(|reader| reader.answer.take_if(is_old))
            .collect();
        self.pending -= old.len();
        old
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
