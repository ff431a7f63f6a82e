//! The memory in which a request of a queue comes and its answer goes.

use super::mapping::Mapping;
use super::random_files::MAX_READ_BYTES;
use crate::wipe::wipe;
use std::io;

/// Where the answer begins: at a page, since the kernel copies page by page.
const PAYLOAD: usize = 4096;
/// Where the kernel is told of the two pieces.
const PIECES: usize = 1024;

/// `struct fuse_in_header`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RequestHead {
    /// Of head, arguments and payload.
    pub(super) length: u32,
    pub(super) operation: u32,
    pub(super) unique: u64,
    pub(super) node: u64,
    pub(super) user: u32,
    pub(super) group: u32,
    pub(super) process: u32,
    pub(super) others: u32,
}

impl RequestHead {
    pub(super) fn bytes(&self) -> [u8; size_of::<Self>()] {
        // SAFETY: numbers without padding between them.
        unsafe { core::mem::transmute(*self) }
    }
}

/// `struct fuse_out_header`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AnswerHead {
    pub(super) length: u32,
    /// Zero or less.
    pub(super) error: i32,
    pub(super) unique: u64,
}

/// `struct fuse_uring_req_header` with `struct fuse_uring_ent_in_out` at its end.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) head: RequestHead,
    padding: [u8; 128 - size_of::<RequestHead>()],
    /// The arguments of the operation.
    pub(super) arguments: [u8; 128],
    flags: u64,
    pub(super) commit_id: u64,
    pub(super) payload_bytes: u32,
    others: [u32; 3],
}

const _: () = assert!(size_of::<Request>() == 288 && size_of::<RequestHead>() == 40);

/// `struct iovec`.
type Piece = [usize; 2];

/// The memory of one request at a time.
#[derive(Debug)]
pub(super) struct Slot {
    memory: Mapping,
    /// The queue: the number of a CPU.
    pub(super) queue: u16,
    /// The payload is zero from here on.
    used: usize,
    /// The number of the request that was answered last.
    answered: u64,
}

impl Slot {
    pub(super) fn new(queue: u16) -> io::Result<Self> {
        let memory = Mapping::zeroed(PAYLOAD + MAX_READ_BYTES as usize)?;
        let payload = memory.at::<[u8; MAX_READ_BYTES as usize]>(PAYLOAD);
        let pieces: [Piece; 2] = [
            [memory.at::<Request>(0).addr(), size_of::<Request>()],
            [payload.addr(), MAX_READ_BYTES as usize],
        ];
        // SAFETY: `at` checks the bounds, and nothing else is there.
        unsafe { memory.at::<[Piece; 2]>(PIECES).write(pieces) };
        Ok(Self {
            memory,
            queue,
            used: 0,
            answered: 0,
        })
    }

    /// The address of the two pieces, for the kernel.
    pub(super) fn pieces(&self) -> usize {
        self.memory.at::<[Piece; 2]>(PIECES).addr()
    }

    /// The request that has come. Notes its payload as used.
    pub(super) fn request(&mut self) -> Request {
        let request = self.head();
        let came = (request.payload_bytes as usize).min(MAX_READ_BYTES as usize);
        self.used = self.used.max(came);
        request
    }

    fn head(&self) -> Request {
        // SAFETY: `at` checks the bounds; any bytes are a `Request`.
        unsafe { self.memory.at::<Request>(0).read_volatile() }
    }

    /// The first bytes of the payload, at most [`MAX_READ_BYTES`]. Notes them as used.
    pub(super) fn payload(&mut self, length: usize) -> &mut [u8] {
        let length = length.min(MAX_READ_BYTES as usize);
        self.used = self.used.max(length);
        self.bytes(0, length)
    }

    /// Writes the head of the answer to `request`, whose payload is there: its length, or an error number.
    pub(super) fn set_answer(&mut self, request: &Request, answer: Result<usize, i32>) {
        let length = answer.unwrap_or_default() as u32;
        let head = AnswerHead {
            length: length + size_of::<AnswerHead>() as u32,
            error: answer.err().map_or(0, |error| -error.abs()),
            unique: request.head.unique,
        };
        self.answered = request.commit_id;
        let mut whole = *request;
        whole.payload_bytes = length;
        // SAFETY: `at` checks the bounds; both types are at the start of the memory.
        unsafe {
            self.memory.at::<Request>(0).write_volatile(whole);
            self.memory.at::<AnswerHead>(0).write_volatile(head);
        }
    }

    /// Wipes what was given, from this byte on. The next request may be there by now: what came with it stays.
    pub(super) fn wipe_from(&mut self, from: usize) {
        if from >= self.used {
            return;
        }
        let next = self.head();
        let is_next = next.commit_id != self.answered;
        let came = if is_next {
            next.payload_bytes as usize
        } else {
            0
        };
        let from = from.max(came);
        if from < self.used {
            let used = self.used;
            wipe(self.bytes(from, used));
            self.used = from;
        }
    }

    /// Gives the memory of the payload back to the system, if it is wiped and no request is there.
    pub(super) fn give_back(&mut self) {
        if self.used == 0 && self.head().commit_id == self.answered {
            let payload = self.bytes(0, MAX_READ_BYTES as usize);
            // SAFETY: anonymous memory that nothing refers to; it is zero before and after.
            unsafe {
                libc::madvise(
                    payload.as_mut_ptr().cast(),
                    payload.len(),
                    libc::MADV_DONTNEED_LOCKED,
                )
            };
        }
    }

    /// Whether a part of the payload may not be zero.
    pub(super) fn is_used(&self) -> bool {
        self.used > 0
    }

    fn bytes(&mut self, from: usize, to: usize) -> &mut [u8] {
        let payload = self.memory.at::<[u8; MAX_READ_BYTES as usize]>(PAYLOAD);
        // SAFETY: `at` checks the bounds, `self` is borrowed, and the kernel writes only while the ring's thread calls it.
        let payload = unsafe { &mut *payload };
        &mut payload[from..to]
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let used = self.used;
        wipe(self.bytes(0, used));
    }
}
