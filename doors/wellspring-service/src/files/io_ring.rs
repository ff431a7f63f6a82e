//! An io_uring that carries the commands of FUSE and nothing else, and the memory in which requests come.
//!
//! The kernel is told to work on this ring only inside io_uring_enter(2) (`IORING_SETUP_DEFER_TASKRUN`). So it touches
//! the memory of a request only while [`Ring::submit`] or [`Ring::wait`] runs, and never behind a reference.

use super::mapping::Mapping;
use super::slot::Slot;
use core::sync::atomic::Ordering;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ffi::c_void;
use std::io;
use std::ptr;
use std::time::Duration;

/// linux/io_uring.h.
const SETUP_R_DISABLED: u32 = 1 << 6;
const SETUP_SQE128: u32 = 1 << 10;
const SETUP_SINGLE_ISSUER: u32 = 1 << 12;
const SETUP_DEFER_TASKRUN: u32 = 1 << 13;
const ENTER_GETEVENTS: u32 = 1;
const ENTER_EXT_ARG: u32 = 1 << 3;
const REGISTER_RESTRICTIONS: u32 = 11;
/// The one operation of io_uring_register(2) that is used after the start.
pub(crate) const REGISTER_ENABLE_RINGS: u32 = 12;
const RESTRICTION_SQE_OP: u16 = 1;
const OP_URING_CMD: u8 = 46;
const OFFSET_COMMANDS: u64 = 0x1000_0000;

/// `enum fuse_uring_cmd` of linux/fuse.h.
const REGISTER: u32 = 1;
const COMMIT_AND_FETCH: u32 = 2;

/// `struct io_uring_params`; offsets as in the kernel's order.
#[repr(C)]
#[derive(Default)]
struct Params {
    entries: u32,
    completions: u32,
    flags: u32,
    others: [u32; 7],
    /// head, tail, mask, entries, flags, dropped, array
    submission: [u32; 10],
    /// head, tail, mask, entries, overflow, completions
    completion: [u32; 10],
}

/// `struct io_uring_sqe` of 128 bytes with `struct fuse_uring_cmd_req` in it.
#[repr(C)]
struct Command {
    operation: u8,
    flags: u8,
    priority: u16,
    device: i32,
    command: u32,
    padding: u32,
    address: u64,
    length: u32,
    operation_flags: u32,
    place: u64,
    others: [u32; 2],
    fuse_flags: u64,
    commit_id: u64,
    queue: u16,
    rest: [u16; 31],
}

/// `struct io_uring_cqe`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Completion {
    place: u64,
    result: i32,
    flags: u32,
}

/// `struct io_uring_getevents_arg`.
#[repr(C)]
struct WaitArguments {
    mask: u64,
    mask_bytes: u32,
    padding: u32,
    time: u64,
}

const _: () = assert!(size_of::<Params>() == 120 && size_of::<Command>() == 128);

/// A ring of one thread: the one that calls [`enable`](Self::enable).
#[derive(Debug)]
pub(super) struct Ring {
    ring: OwnedFd,
    words: Mapping,
    commands: Mapping,
    submission: [u32; 10],
    completion: [u32; 10],
    /// Commands that the kernel has not been told of.
    waiting: u32,
}

impl Ring {
    /// A ring for this many commands at once. It takes none before [`enable`](Self::enable), and then those of FUSE alone.
    pub(super) fn new(commands: u32) -> io::Result<Self> {
        let mut params = Params {
            flags: SETUP_R_DISABLED | SETUP_SQE128 | SETUP_SINGLE_ISSUER | SETUP_DEFER_TASKRUN,
            ..Params::default()
        };
        // SAFETY: `params` is what the call expects.
        let made = unsafe { libc::syscall(libc::SYS_io_uring_setup, commands, &raw mut params) };
        // SAFETY: a new descriptor of this process.
        let ring = unsafe { OwnedFd::from_raw_fd(checked(made)?) };
        // `struct io_uring_restriction`: what is restricted, the operation, and reserved bytes.
        let mut only = [0_u16; 8];
        only[0] = RESTRICTION_SQE_OP;
        only[1] = u16::from_ne_bytes([OP_URING_CMD, 0]);
        register(&ring, REGISTER_RESTRICTIONS, only.as_ptr().cast(), 1)?;
        let (of_commands, of_completions) = (params.entries as usize, params.completions as usize);
        let length = (params.submission[6] as usize + 4 * of_commands)
            .max(params.completion[5] as usize + size_of::<Completion>() * of_completions);
        let ring = Self {
            words: Mapping::of_ring(ring.as_fd(), 0, length)?,
            commands: Mapping::of_ring(
                ring.as_fd(),
                OFFSET_COMMANDS,
                size_of::<Command>() * of_commands,
            )?,
            ring,
            submission: params.submission,
            completion: params.completion,
            waiting: 0,
        };
        // Place n of the submission ring names command n.
        for place in 0..params.entries {
            let word = ring.words.word(ring.submission[6] + 4 * place);
            word.store(place, Ordering::Relaxed);
        }
        Ok(ring)
    }

    /// Lets this thread, and no other from now on, use the ring.
    pub(super) fn enable(&self) -> io::Result<()> {
        register(&self.ring, REGISTER_ENABLE_RINGS, ptr::null(), 0)
    }

    /// Offers a slot for the requests of a queue. Its completion is the first request.
    pub(super) fn offer(&mut self, device: BorrowedFd<'_>, place: usize, slot: &Slot) {
        let (address, length) = (slot.pieces() as u64, 2);
        self.push(device, place, slot, REGISTER, 0, (address, length));
    }

    /// Gives the answer that is in the slot. The completion is the next request.
    pub(super) fn answer(
        &mut self,
        device: BorrowedFd<'_>,
        place: usize,
        slot: &Slot,
        commit_id: u64,
    ) {
        self.push(device, place, slot, COMMIT_AND_FETCH, commit_id, (0, 0));
    }

    fn push(
        &mut self,
        device: BorrowedFd<'_>,
        place: usize,
        slot: &Slot,
        command: u32,
        commit_id: u64,
        (address, length): (u64, u32),
    ) {
        let tail = self.words.word(self.submission[1]);
        let mask = self.words.word(self.submission[2]).load(Ordering::Relaxed);
        let next = tail.load(Ordering::Relaxed);
        let command = Command {
            operation: OP_URING_CMD,
            flags: 0,
            priority: 0,
            device: device.as_raw_fd(),
            command,
            padding: 0,
            address,
            length,
            operation_flags: 0,
            place: place as u64,
            others: [0; 2],
            fuse_flags: 0,
            commit_id,
            queue: slot.queue,
            rest: [0; 31],
        };
        let to = self
            .commands
            .at::<Command>((next & mask) as usize * size_of::<Command>());
        // SAFETY: `at` checks the bounds. The kernel has read the command that was there: each slot has at most one
        // command, and there is a place for each slot.
        unsafe { to.write(command) };
        tail.store(next.wrapping_add(1), Ordering::Release);
        self.waiting += 1;
    }

    /// Hands the commands to the kernel, which copies the answers before this returns.
    pub(super) fn submit(&mut self) -> io::Result<()> {
        while self.waiting > 0 {
            self.waiting -= self.enter(self.waiting, 0, None)?;
        }
        Ok(())
    }

    /// Waits for a completion, at most for this time.
    pub(super) fn wait(&mut self, time: Option<Duration>) -> io::Result<()> {
        match self.enter(0, 1, time) {
            Err(error) if error.raw_os_error() == Some(libc::ETIME) => Ok(()),
            entered => entered.map(drop),
        }
    }

    /// Whether nothing was completed.
    pub(super) fn is_empty(&self) -> bool {
        let [head, tail] = [0, 1].map(|end| self.words.word(self.completion[end]));
        head.load(Ordering::Relaxed) == tail.load(Ordering::Acquire)
    }

    /// The next completion: the place of the slot, and an error if it is negative.
    pub(super) fn completed(&mut self) -> Option<(usize, i32)> {
        if self.is_empty() {
            return None;
        }
        let head = self.words.word(self.completion[0]);
        let next = head.load(Ordering::Relaxed);
        let mask = self.words.word(self.completion[2]).load(Ordering::Relaxed);
        let offset = (next & mask) as usize * size_of::<Completion>();
        let at = self
            .words
            .at::<Completion>(self.completion[5] as usize + offset);
        // SAFETY: `at` checks the bounds; the kernel has written it, since the tail is behind it.
        let completion = unsafe { at.read() };
        head.store(next.wrapping_add(1), Ordering::Release);
        Some((completion.place as usize, completion.result))
    }

    fn enter(&self, submitted: u32, wanted: u32, time: Option<Duration>) -> io::Result<u32> {
        let time = time.map(|time| [time.as_secs(), u64::from(time.subsec_nanos())]);
        let arguments = WaitArguments {
            mask: 0,
            mask_bytes: 0,
            padding: 0,
            time: time.as_ref().map_or(0, |time| time.as_ptr().addr() as u64),
        };
        let (flags, bytes) = if wanted > 0 {
            (ENTER_GETEVENTS | ENTER_EXT_ARG, size_of::<WaitArguments>())
        } else {
            (0, 0)
        };
        // SAFETY: the arguments live until the call returns. The memory that the commands name belongs to slots; their
        // owner keeps them until no command is with the kernel.
        let entered = unsafe {
            libc::syscall(
                libc::SYS_io_uring_enter,
                self.ring.as_raw_fd(),
                submitted,
                wanted,
                flags,
                &raw const arguments,
                bytes,
            )
        };
        match checked(entered) {
            Ok(count) => Ok(count as u32),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            Err(error) => Err(error),
        }
    }
}

fn register(ring: &OwnedFd, operation: u32, of: *const c_void, count: u32) -> io::Result<()> {
    // SAFETY: `of` is null or points to what the operation reads.
    let done = unsafe {
        libc::syscall(
            libc::SYS_io_uring_register,
            ring.as_raw_fd(),
            operation,
            of,
            count,
        )
    };
    checked(done).map(drop)
}

fn checked(result: libc::c_long) -> io::Result<i32> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result as i32)
}
