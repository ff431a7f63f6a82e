//! Workers that make blocks and write them one at a time to the shared output.
//!
//! A worker fills a block and encodes it, then locks the output and writes. So blocks are made while others are
//! written, each block stays in the cache of the CPU that made it, and there is one block per worker. The order of
//! the blocks does not matter: a stream, whose order does matter, has one worker. The rest that does not fill a block
//! is written last, so that Base64 has its padding at the end. Each worker wipes its block and its text at its end.

use super::encoding::Encoding;
use crate::failure::Failure;
use crate::output::Output;
use crate::size::{Size, count};
use indicatif::ProgressBar;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use zeroize::Zeroizing;

/// A worker's block: a multiple of 3 bytes, for Base64, and small enough for the cache of one CPU.
const BLOCK_BYTES: usize = 192 << 10;

/// Makes the next bytes.
pub(super) type Filler<'a> = Box<dyn FnMut(&mut [u8]) + Send + 'a>;

/// The workers of one run: how many bytes they write, in which form.
pub(super) struct Workers<'a> {
    /// The bytes before they are encoded; without an end if `None`.
    pub(super) size_bytes: Option<u64>,
    pub(super) encoding: Encoding,
    pub(super) progress: &'a ProgressBar,
}

/// How many of the `wanted` workers would get a block.
pub(super) fn useful_workers(size_bytes: Option<u64>, wanted: u64) -> usize {
    let blocks = size_bytes.map_or(u64::MAX, |bytes| bytes / BLOCK_BYTES as u64);
    wanted.min(blocks).max(1) as usize
}

/// The data that the workers share.
struct SharedOutput {
    /// The number of blocks that no worker has claimed yet.
    blocks: AtomicU64,
    output: Mutex<Output>,
    /// A worker had an error: the others stop too.
    stopped: AtomicBool,
}

impl Workers<'_> {
    /// Runs each filler in its own thread, the first one in this thread.
    pub(super) fn run(&self, mut fillers: Vec<Filler<'_>>, output: Output) -> Result<(), Failure> {
        let shared = SharedOutput {
            blocks: AtomicU64::new(
                self.size_bytes
                    .map_or(u64::MAX, |bytes| bytes / BLOCK_BYTES as u64),
            ),
            output: Mutex::new(output),
            stopped: AtomicBool::new(false),
        };
        let (first, others) = fillers
            .split_first_mut()
            .expect("there is at least one filler");
        let result = self.work_together(first, others, &shared);
        let mut output = shared
            .output
            .into_inner()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let result = result.and_then(|()| self.finish(first, &mut output));
        // Leaves the bar on the screen and moves the cursor to the next line.
        self.progress.abandon();
        result.map_err(|stop| match stop {
            Stop::Write(error) => output.failure(&error, &self.how_far(output.written_bytes())),
            Stop::Thread(error) => Failure::work(format!("cannot start all threads: {error}")),
        })
    }

    /// Writes all whole blocks.
    fn work_together(
        &self,
        first: &mut Filler<'_>,
        others: &mut [Filler<'_>],
        shared: &SharedOutput,
    ) -> Result<(), Stop> {
        thread::scope(|scope| {
            let mut workers = Vec::with_capacity(others.len());
            for filler in others {
                let worker =
                    thread::Builder::new().spawn_scoped(scope, || self.work(filler, shared));
                workers.push(worker.map_err(|error| shared.stop(Stop::Thread(error)))?);
            }
            let result = self.work(first, shared);
            workers
                .into_iter()
                .fold(result, |result, worker| match worker.join() {
                    Ok(other) => result.and(other),
                    Err(panic) => std::panic::resume_unwind(panic),
                })
        })
    }

    /// A worker: writes block after block, until none is left or another worker has stopped.
    fn work(&self, filler: &mut Filler<'_>, shared: &SharedOutput) -> Result<(), Stop> {
        let (mut block, mut text) = (Zeroizing::new(vec![0; BLOCK_BYTES]), Zeroizing::new(vec![]));
        while shared.claim() {
            filler(&mut block);
            let encoded = self.encoding.encode(&block, &mut text);
            let mut output = shared
                .output
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            if shared.stopped.load(Ordering::Relaxed) {
                break;
            }
            let written = output.write(encoded);
            drop(output);
            written.map_err(|error| shared.stop(Stop::Write(error)))?;
            self.progress.inc(BLOCK_BYTES as u64);
        }
        Ok(())
    }

    /// Writes the rest that is left after all whole blocks.
    fn finish(&self, filler: &mut Filler<'_>, output: &mut Output) -> Result<(), Stop> {
        let rest_bytes = self.size_bytes.unwrap_or_default() % BLOCK_BYTES as u64;
        let mut block = Zeroizing::new(vec![0; rest_bytes as usize]);
        let mut text = Zeroizing::new(vec![]);
        filler(&mut block);
        let encoded = self.encoding.encode(&block, &mut text);
        output.write(encoded).map_err(Stop::Write)?;
        output.write(self.encoding.end()).map_err(Stop::Write)?;
        self.progress.inc(block.len() as u64);
        Ok(())
    }

    fn how_far(&self, text_bytes: u64) -> String {
        let written_bytes = self.encoding.bytes_of_text(text_bytes);
        match self.size_bytes {
            // The line break at the end may be counted as a part of a byte.
            Some(bytes) => {
                let written = count(written_bytes.min(bytes), "byte");
                format!(" after {written} of {}", Size(bytes))
            }
            None => format!(" after {}", count(written_bytes, "byte")),
        }
    }
}

/// The reason why a worker stopped.
enum Stop {
    Write(io::Error),
    Thread(io::Error),
}

impl SharedOutput {
    /// Claims a block to make.
    fn claim(&self) -> bool {
        let take = |blocks: u64| match blocks {
            0 => None,
            // No end: 2^64 blocks are never reached.
            u64::MAX => Some(u64::MAX),
            _ => Some(blocks - 1),
        };
        !self.stopped.load(Ordering::Relaxed)
            && self
                .blocks
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
                .is_ok()
    }

    fn stop(&self, reason: Stop) -> Stop {
        self.stopped.store(true, Ordering::Relaxed);
        reason
    }
}
