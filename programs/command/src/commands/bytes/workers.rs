//! Workers that make blocks and write them one at a time to the shared output.
//!
//! A worker fills a block and encodes it, then locks the output and writes. So blocks are made while others are
//! written, each block stays in the cache of the CPU that made it, and there is one block per worker. The order of
//! the blocks does not matter: a stream, whose order does matter, has one worker. The rest that does not fill a block
//! is written last, so that Base64 has its padding at the end. Each worker wipes its block and its text at its end.

use crate::arguments::{Size, count};
use crate::streams::{Failure, Output};
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

// Bytes as text.
//
// The bytes may be a key. So there is no table here: the place of a table lookup can be seen in the cache.

/// The form in which bytes are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Unchanged.
    Raw,
    /// Two lower-case digits each.
    Hex,
    /// RFC 4648 section 4: four characters for three bytes, padded at the end.
    Base64,
}

impl Encoding {
    /// Returns `bytes` in this form: encoded into `text`, or `bytes` itself if there is nothing to encode. The texts
    /// of pieces may be joined if every piece but the last is a multiple of 3 bytes.
    pub(super) fn encode<'a>(self, bytes: &'a [u8], text: &'a mut Vec<u8>) -> &'a [u8] {
        match self {
            Encoding::Raw => return bytes,
            Encoding::Hex => {
                text.resize(2 * bytes.len(), 0);
                encode_hex(bytes, text);
            }
            Encoding::Base64 => {
                text.resize(4 * bytes.len().div_ceil(3), 0);
                encode_base64(bytes, text);
            }
        }
        text
    }

    /// The bytes after the last piece.
    pub(super) fn end(self) -> &'static [u8] {
        match self {
            Encoding::Raw => b"",
            Encoding::Hex | Encoding::Base64 => b"\n",
        }
    }

    /// How many whole bytes are in the first `text_bytes` of the text.
    fn bytes_of_text(self, text_bytes: u64) -> u64 {
        match self {
            Encoding::Raw => text_bytes,
            Encoding::Hex => text_bytes / 2,
            Encoding::Base64 => text_bytes / 4 * 3 + (text_bytes % 4).saturating_sub(1),
        }
    }
}

fn encode_hex(bytes: &[u8], text: &mut [u8]) {
    // A comparison of bytes compiles to a mask.
    let digit = |nibble: u8| nibble + b'0' + u8::from(nibble > 9) * (b'a' - b'0' - 10);
    for (pair, &byte) in text.as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
        *pair = [digit(byte >> 4), digit(byte & 15)];
    }
}

fn encode_base64(bytes: &[u8], text: &mut [u8]) {
    let (triples, rest) = bytes.as_chunks::<3>();
    let (quads, _) = text.as_chunks_mut::<4>();
    for (quad, triple) in quads.iter_mut().zip(triples) {
        *quad = six_bits_each(*triple);
    }
    if let Some(last) = quads.last_mut().filter(|_| !rest.is_empty()) {
        let mut triple = [0; 3];
        triple[..rest.len()].copy_from_slice(rest);
        *last = six_bits_each(triple);
    }
    // A pass of its own, which compiles to SIMD.
    for value in text.iter_mut() {
        *value = base64_digit(*value);
    }
    let padding = (3 - rest.len()) % 3;
    let end = text.len() - padding;
    text[end..].fill(b'=');
}

fn six_bits_each([a, b, c]: [u8; 3]) -> [u8; 4] {
    let bits = u32::from_be_bytes([0, a, b, c]);
    [18, 12, 6, 0].map(|shift| (bits >> shift) as u8 & 63)
}

/// `A`..`Z`, `a`..`z`, `0`..`9`, `+`, `/`: five ranges; at the start of each, the distance to ASCII changes.
fn base64_digit(value: u8) -> u8 {
    let step = |first: u8, by: u8| u8::from(value >= first).wrapping_mul(by);
    let digit = value + b'A';
    let digit = digit.wrapping_add(step(26, b'a' - b'A' - 26));
    let digit = digit.wrapping_sub(step(52, b'a' + 26 - b'0'));
    let digit = digit.wrapping_sub(step(62, b'0' + 10 - b'+'));
    digit.wrapping_add(step(63, b'/' - b'+' - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(encoding: Encoding, bytes: &[u8]) -> String {
        let mut text = Vec::new();
        String::from_utf8(encoding.encode(bytes, &mut text).to_vec()).unwrap()
    }

    #[test]
    fn base64_gives_the_examples_of_rfc_4648() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(Encoding::Base64, bytes.as_bytes()), text);
        }
    }

    #[test]
    fn the_alphabet_of_base64_is_in_order() {
        let alphabet: Vec<u8> = (0..64).map(base64_digit).collect();
        let expected = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        assert_eq!(alphabet, expected);
    }

    #[test]
    fn every_byte_has_its_two_digits() {
        let bytes: Vec<u8> = (0..=255).collect();
        let expected: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(encode(Encoding::Hex, &bytes), expected);
    }

    #[test]
    fn a_shorter_piece_leaves_nothing_of_the_piece_before() {
        let mut text = Vec::new();
        Encoding::Base64.encode(&[255; 300], &mut text);
        assert_eq!(Encoding::Base64.encode(b"f", &mut text), b"Zg==");
        assert_eq!(Encoding::Hex.encode(b"f", &mut text), b"66");
    }

    #[test]
    fn text_cut_anywhere_stands_for_its_whole_bytes() {
        let count =
            |encoding: Encoding| [0, 1, 2, 3, 4, 5, 6, 8].map(|n| encoding.bytes_of_text(n));
        assert_eq!(count(Encoding::Raw), [0, 1, 2, 3, 4, 5, 6, 8]);
        assert_eq!(count(Encoding::Hex), [0, 0, 1, 1, 2, 2, 3, 4]);
        assert_eq!(count(Encoding::Base64), [0, 0, 1, 2, 3, 3, 4, 6]);
    }
}
