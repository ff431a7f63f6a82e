//! The files by name and number, the handlers of reads, writes and ioctls, and the answers to reads.

use core::cell::RefCell;
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    IoctlFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyIoctl, ReplyOpen, ReplyWrite, Request, TimeOrNow,
    WriteFlags,
};
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};
use wellspring_pseudo_thread as pseudo;
use wellspring_service_core::doors::{Door, add, subtract};
use wellspring_service_core::process::{Scratch, ends_process, wipe};
use wellspring_service_core::state::State;
use wellspring_service_core::users::{Peer, Turns};

/// The most bytes that one write(2) mixes in. It returns this number then, and programs write the rest by another call.
const MAX_MIX_BYTES: usize = 16 << 10;

/// The time for which the kernel may keep names and attributes: 34 years, since they never change.
const CACHE_TIME: Duration = Duration::from_secs(1 << 30);

/// `RNDGETENTCNT` of linux/random.h, and what Linux has answered since 5.18 once it is seeded.
const RNDGETENTCNT: u32 = 0x8004_5200;
const ENTROPY_BITS: u32 = 256;
/// `RNDRESEEDCRNG`.
const RNDRESEEDCRNG: u32 = 0x5207;
/// The other requests of random(4). They take or give credit, which these files never do.
const CREDIT_REQUESTS: [u32; 4] = [0x4004_5201, 0x4008_5203, 0x5204, 0x5206];

/// The file system.
#[derive(Debug)]
pub(super) struct RandomFiles {
    /// Set before the threads start.
    state: Arc<OnceLock<Arc<State>>>,
    reads: Arc<Reads>,
}

impl RandomFiles {
    pub(super) fn new(state: Arc<OnceLock<Arc<State>>>, reads: Arc<Reads>) -> Self {
        Self { state, reads }
    }

    /// The state and the door of a file.
    fn door(&self, number: INodeNo) -> Result<(&State, Door), Errno> {
        let state = self.state.get().ok_or(Errno::EAGAIN)?;
        match Node::of(number) {
            Some(Node::File(door)) => Ok((state, door)),
            Some(Node::Root) => Err(Errno::EISDIR),
            None => Err(Errno::ENOENT),
        }
    }
}

/// Requests that would change the folder.
macro_rules! refused {
    ($($request:ident($($argument:ty),*) -> $reply:ty;)*) => {
        $(fn $request(&self, _: &Request, $(_: $argument,)* reply: $reply) {
            reply.error(Errno::EPERM);
        })*
    };
}

impl Filesystem for RandomFiles {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // It also bounds reads: the kernel asks for no more pages than it may write.
        let _ = config.set_max_write(MAX_READ_BYTES);
        // Otherwise a program that looks for a name waits for all that look for others.
        let _ = config.add_capabilities(InitFlags::FUSE_PARALLEL_DIROPS);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match Node::named(name).filter(|_| parent == Node::Root.number()) {
            Some(node) => reply.entry(&CACHE_TIME, &node.attributes(), Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match Node::of(number) {
            Some(node) => reply.attr(&CACHE_TIME, &node.attributes()),
            None => reply.error(Errno::ENOENT),
        }
    }

    /// Accepts a new size, without effect: a shell truncates a file before it writes. Refuses a new owner or mode.
    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        mode: Option<u32>,
        user: Option<u32>,
        group: Option<u32>,
        _: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        match Node::of(number) {
            _ if mode.is_some() || user.is_some() || group.is_some() => reply.error(Errno::EPERM),
            Some(node) => reply.attr(&CACHE_TIME, &node.attributes()),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn readdir(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        if Node::of(number) != Some(Node::Root) {
            return reply.error(Errno::ENOTDIR);
        }
        let files = FILES.map(|door| (Node::File(door), FileType::RegularFile, door.name()));
        let dots = [".", ".."].map(|name| (Node::Root, FileType::Directory, name));
        let entries = (1..).zip(dots.into_iter().chain(files));
        for (next, (node, kind, name)) in
            entries.skip(usize::try_from(offset).unwrap_or(usize::MAX))
        {
            if reply.add(node.number(), next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    refused! {
        mknod(INodeNo, &OsStr, u32, u32, u32) -> ReplyEntry;
        mkdir(INodeNo, &OsStr, u32, u32) -> ReplyEntry;
        create(INodeNo, &OsStr, u32, u32, i32) -> ReplyCreate;
        symlink(INodeNo, &OsStr, &Path) -> ReplyEntry;
        link(INodeNo, INodeNo, &OsStr) -> ReplyEntry;
        rename(INodeNo, &OsStr, INodeNo, &OsStr, RenameFlags) -> ReplyEmpty;
        unlink(INodeNo, &OsStr) -> ReplyEmpty;
        rmdir(INodeNo, &OsStr) -> ReplyEmpty;
    }

    fn open(&self, _: &Request, number: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.door(number) {
            Ok((state, door)) => {
                let meter = state.doors.meter(door);
                add(&meter.opened, 1);
                add(&meter.open_now, 1);
                // A read(2) asks for as many bytes as the program wants, and goes past the page cache. Writes share the lock
                // of the file (Linux 6.2), except writes with O_APPEND and writes behind the size.
                reply.opened(
                    FileHandle(0),
                    FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES,
                );
            }
            Err(error) => reply.error(error),
        }
    }

    fn release(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        if let Ok((state, door)) = self.door(number) {
            subtract(&state.doors.meter(door).open_now, 1);
        }
        reply.ok();
    }

    fn read(
        &self,
        request: &Request,
        number: INodeNo,
        _: FileHandle,
        _: u64,
        size: u32,
        flags: OpenFlags,
        owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        // Linux names the owner of locks in a read for one program. It names none in a read that fills the page cache, which
        // would give many programs the same bytes: sendfile, splice, copy_file_range and private mappings ask so. Programs
        // take EINVAL of these calls as the advice to call read(2).
        if owner.is_none() {
            if let Ok((state, door)) = self.door(number) {
                add(&state.doors.meter(door).refused, 1);
            }
            return reply.error(Errno::EINVAL);
        }
        let (state, door) = match self.door(number) {
            Ok(found) => found,
            Err(error) => return reply.error(error),
        };
        let read = Read {
            peer: Peer::User(request.uid()),
            door,
            length: size.min(MAX_READ_BYTES) as usize,
            is_impatient: flags.0 & libc::O_NONBLOCK != 0,
            reply,
        };
        ends_process(|| self.reads.begin(state, read));
    }

    /// Mixes bytes in without credit, like random(4).
    fn write(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        _: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        // Some writes lock the file, and the others wait for as long as this takes.
        let data = &data[..data.len().min(MAX_MIX_BYTES)];
        match self.door(number) {
            Ok((state, door)) => {
                ends_process(|| state.engine.mix(data));
                add(&state.doors.meter(door).mixed_bytes, data.len() as u64);
                reply.written(data.len() as u32);
            }
            Err(error) => reply.error(error),
        }
    }

    fn ioctl(
        &self,
        request: &Request,
        number: INodeNo,
        _: FileHandle,
        _: IoctlFlags,
        command: u32,
        _: &[u8],
        out_size: u32,
        reply: ReplyIoctl,
    ) {
        let state = match self.door(number) {
            Ok((state, _)) => state,
            Err(error) => return reply.error(error),
        };
        match command {
            RNDGETENTCNT if out_size >= 4 => reply.ioctl(0, &ENTROPY_BITS.to_ne_bytes()),
            RNDRESEEDCRNG if request.uid() == 0 => match ends_process(|| state.engine.reseed()) {
                Ok(_) => reply.ioctl(0, &[]),
                Err(_) => reply.error(Errno::EAGAIN),
            },
            RNDRESEEDCRNG => reply.error(Errno::EPERM),
            command if CREDIT_REQUESTS.contains(&command) => reply.error(Errno::EPERM),
            _ => reply.error(Errno::ENOTTY),
        }
    }
}

// The files by name and number.

/// The folder of the mount, or a file in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    Root,
    File(Door),
}

/// The files, in the order of their numbers, which follow the folder's number.
const FILES: [Door; 3] = [Door::Random, Door::Urandom, Door::Pseudo];

/// The best size of a read that stat(2) reports. Programs that buffer their input, such as Python, read this much even
/// for one byte. /dev/urandom reports the same.
const BLOCK_BYTES: u32 = 4096;

/// The size that stat(2) reports. Reads beyond it succeed. `openssl -rand FILE` stops after this many bytes; with a
/// size of 0 it would never stop.
const SIZE_BYTES: u64 = 4096;

/// The blocks of 512 bytes that stat(2) reports: all of the size. `cp` takes a file with fewer for one with holes, and
/// copies 4096 bytes of it.
const BLOCKS: u64 = SIZE_BYTES / 512;

impl Node {
    pub(super) fn of(number: INodeNo) -> Option<Self> {
        match number.0 {
            1 => Some(Self::Root),
            number => {
                let place = usize::try_from(number.checked_sub(2)?).ok()?;
                FILES.get(place).copied().map(Self::File)
            }
        }
    }

    fn named(name: &OsStr) -> Option<Self> {
        let found = FILES.into_iter().find(|door| name == door.name());
        found.map(Self::File)
    }

    pub(super) fn number(self) -> INodeNo {
        let place = |door| FILES.iter().position(|file| *file == door);
        match self {
            Self::Root => INodeNo(1),
            Self::File(door) => INodeNo(2 + place(door).unwrap_or_default() as u64),
        }
    }

    fn attributes(self) -> FileAttr {
        let (kind, perm, nlink, size, blocks) = match self {
            Self::Root => (FileType::Directory, 0o755, 2, 0, 0),
            Self::File(_) => (FileType::RegularFile, 0o666, 1, SIZE_BYTES, BLOCKS),
        };
        let time = SystemTime::UNIX_EPOCH;
        FileAttr {
            ino: self.number(),
            size,
            blocks,
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind,
            perm,
            nlink,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: BLOCK_BYTES,
            flags: 0,
        }
    }
}

// ---- answers to reads ----
// Answers reads: short ones at once, long ones in turns. A user who has drawn its share gets the answer later.
//
// The threads of `fuser` take requests from the kernel, in the order in which they came. The thread that takes a short read
// answers it. A long read waits for the turn of its user; the thread that took it then answers reads whose turn it is,
// until none waits. One thread always takes requests from the kernel, so a short read waits only for short work.

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

fn fill(state: &State, door: Door, bytes: &mut [u8]) -> Result<(), wellspring::Error> {
    if door == Door::Pseudo && state.self_tests.failure().is_none() {
        pseudo::fill(bytes);
        return Ok(());
    }
    state.try_fill(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_is_found_by_its_number_and_its_name() {
        for node in [Node::Root].into_iter().chain(FILES.map(Node::File)) {
            assert_eq!(Node::of(node.number()), Some(node));
        }
        for door in FILES {
            assert_eq!(Node::named(OsStr::new(door.name())), Some(Node::File(door)));
        }
        assert_eq!(Node::of(INodeNo(0)), None);
        assert_eq!(Node::of(INodeNo(5)), None);
        assert_eq!(Node::named(OsStr::new("egd")), None);
    }
}
