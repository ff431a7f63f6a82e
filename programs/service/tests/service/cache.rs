//! The ways to the bytes of a device file, also through the kernel's page cache. Two programs of two users try each way at the
//! same time: they get different bytes, or an error.

use super::common::{PATIENCE, has_fuse, start_with_files};
use rustix::fs::{Advice, MemfdFlags, Mode, OFlags, memfd_create, open};
use rustix::io::{Errno, ReadWriteFlags};
use rustix::mm::{Advice as MapAdvice, MapFlags, ProtFlags, madvise, mmap};
use std::env;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IoSliceMut, Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::ptr;
use std::time::Instant;

/// In the environment of each of the two programs: its way, its user and its file.
const MARK: &str = "WELLSPRING_TEST_WAY";
const NAME: &str = "cache::no_way_gives_two_users_the_same_bytes";

#[test]
fn no_way_gives_two_users_the_same_bytes() {
    if let Ok(mark) = env::var(MARK) {
        return play(&mark);
    }
    if !has_fuse() {
        return;
    }
    let (service, mount) = start_with_files();
    let path = mount.join("random");
    let mut faults = Vec::new();
    for (place, (name, _, wanted)) in WAYS.iter().enumerate() {
        let mut programs = [60_001, 60_002].map(|user| {
            let mark = format!("{place} {user} {}", path.display());
            Program::start(NAME, &mark)
        });
        programs.iter_mut().for_each(Program::prepare);
        let got = programs.map(Program::finish);
        let zeros = "00".repeat(WANTED);
        let fault = match &got {
            [Some(first), Some(second)] if first == second => "two users have the same bytes",
            _ if got.iter().flatten().any(|bytes| *bytes == zeros) => "zeros",
            _ if *wanted == Served && got.contains(&None) => "not served",
            _ if *wanted == Refused && got != [None, None] => "served",
            _ => continue,
        };
        faults.push(format!("{name}: {fault}"));
    }
    assert!(faults.is_empty(), "{faults:#?}");
    drop(service);
}

/// Linux asks the service again and again for such a mapping, until the program is killed.
#[test]
fn a_mapping_that_is_filled_at_once_gets_nothing() {
    if let Ok(path) = env::var(MARK) {
        let flags = MapFlags::PRIVATE | MapFlags::POPULATE;
        let mapped = map(Path::new(&path), flags, ProtFlags::READ, touch);
        println!("got {:?}", mapped.and_then(|take| take()));
        return;
    }
    if !has_fuse() {
        return;
    }
    let (service, mount) = start_with_files();
    let name = "cache::a_mapping_that_is_filled_at_once_gets_nothing";
    let mut program = Program::start(name, &mount.join("random").display().to_string());
    let until = Instant::now() + PATIENCE;
    while service.door("random")["refused"].as_u64().unwrap() < 3 {
        assert!(Instant::now() < until, "not refused");
    }
    program.child.kill().unwrap();
    assert_eq!(program.line_after("got "), None);
}

/// A test of this file as another process.
struct Program {
    child: Child,
    said: BufReader<std::process::ChildStdout>,
}

impl Program {
    fn start(name: &str, mark: &str) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command
            .args(["--exact", name, "--nocapture"])
            .env(MARK, mark);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Self { child, said }
    }

    fn line_after(&mut self, mark: &str) -> Option<String> {
        let lines = self.said.by_ref().lines().map_while(Result::ok);
        let mut found =
            lines.filter_map(|line| line.split_once(mark).map(|(_, rest)| rest.to_owned()));
        found.next()
    }

    /// Waits until it has opened the file.
    fn prepare(&mut self) {
        self.line_after("prepared").expect("prepares");
    }

    /// Lets it go on, and returns the bytes that it got.
    fn finish(mut self) -> Option<String> {
        self.child.stdin.take().unwrap().write_all(b"\n").unwrap();
        let got = self.line_after("got ");
        // By a signal, if it touched memory that the kernel could not fill.
        self.child.wait().unwrap();
        got
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Is one of the two programs.
fn play(mark: &str) {
    let mut words = mark.splitn(3, ' ');
    let (_, way, _) = WAYS[words.next().unwrap().parse::<usize>().unwrap()];
    let user: u32 = words.next().unwrap().parse().unwrap();
    // SAFETY: two system calls, which the C library makes for all threads.
    let changed = unsafe {
        [
            libc::setresgid(user, user, user),
            libc::setresuid(user, user, user),
        ]
    };
    // SAFETY: a system call. Without it /proc would not show this program its own memory.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 1) };
    assert_eq!(changed, [0, 0]);
    let prepared = way.prepare(Path::new(words.next().unwrap()));
    println!("prepared");
    io::stdin().read_line(&mut String::new()).unwrap();
    match prepared.and_then(|take| take()) {
        Ok(bytes) => {
            let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(bytes.len(), WANTED, "as many as wanted");
            println!("got {text}");
        }
        Err(error) => println!("error {error}"),
    }
}

// The ways by which a program can ask for bytes of a device file.

/// The bytes that each program wants.
pub(crate) const WANTED: usize = 32;

/// The end to which a way must come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// Each gets bytes.
    Served,
    /// Neither gets any.
    Refused,
    /// It depends on the kernel's version.
    Either,
}
pub(crate) use Outcome::{Either, Refused, Served};

/// Takes the bytes, after all programs have opened and mapped the file.
pub(crate) type Take = Box<dyn FnOnce() -> io::Result<Vec<u8>>>;

/// A way to the bytes.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    /// By the file, opened with these flags.
    File(OFlags, fn(&File) -> io::Result<Vec<u8>>),
    /// By memory into which it is mapped.
    Memory(MapFlags, ProtFlags, fn(&Page) -> io::Result<Vec<u8>>),
    /// As a program.
    Exec,
}

impl Way {
    /// Opens and maps the file.
    pub(crate) fn prepare(self, path: &Path) -> io::Result<Take> {
        match self {
            Self::File(flags, take) => {
                let file = File::from(open(
                    path,
                    OFlags::RDONLY | OFlags::CLOEXEC | flags,
                    Mode::empty(),
                )?);
                Ok(Box::new(move || take(&file)))
            }
            Self::Memory(flags, protection, take) => map(path, flags, protection, take),
            Self::Exec => {
                let mut command = Command::new(path);
                Ok(Box::new(move || command.output().map(|_| vec![1; WANTED])))
            }
        }
    }
}

const NONE: OFlags = OFlags::empty();
const DIRECT: OFlags = OFlags::DIRECT;
const PRIVATE: MapFlags = MapFlags::PRIVATE;
const READ: ProtFlags = ProtFlags::READ;
use Way::{Exec, File as By, Memory};

#[rustfmt::skip]
pub(crate) const WAYS: &[(&str, Way, Outcome)] = &[
    ("read", By(NONE, read), Served),
    ("readv", By(NONE, readv), Served),
    ("read, direct", By(DIRECT, read), Served),
    ("pread far behind the size", By(NONE, pread), Served),
    ("preadv2", By(NONE, |file| preadv2(file, 0)), Served),
    ("preadv2, high priority", By(NONE, |file| preadv2(file, 1)), Either),
    ("preadv2, no wait", By(NONE, |file| preadv2(file, 8)), Either),
    ("preadv2, not cached", By(NONE, |file| preadv2(file, 0x80)), Either),
    ("asynchronous read", By(NONE, asynchronous), Served),
    ("asynchronous read, direct", By(DIRECT, asynchronous), Served),
    ("io_uring", By(NONE, uring_read), Either),
    ("io_uring, direct", By(DIRECT, uring_read), Either),
    ("sendfile", By(NONE, sendfile), Refused),
    ("sendfile, direct", By(DIRECT, sendfile), Either),
    ("splice", By(NONE, splice), Refused),
    ("splice, direct", By(DIRECT, splice), Either),
    ("copy_file_range", By(NONE, copy_range), Refused),
    ("copy_file_range in the folder", By(NONE, copy_beside), Refused),
    ("clone, as cp --reflink", By(NONE, clone), Refused),
    ("mmap", Memory(PRIVATE, READ, touch), Refused),
    ("mmap, shared", Memory(MapFlags::SHARED, READ, touch), Refused),
    ("mmap, to write", Memory(PRIVATE, READ.union(ProtFlags::WRITE), touch), Refused),
    ("mmap, to execute", Memory(PRIVATE, READ.union(ProtFlags::EXEC), touch), Refused),
    ("mmap, read ahead", Memory(PRIVATE, READ, read_ahead_and_touch), Refused),
    ("mmap, read by the kernel", Memory(PRIVATE, READ, write_out), Refused),
    ("mmap, read as a process", Memory(PRIVATE, READ, read_process), Refused),
    ("mmap, read by /proc", Memory(PRIVATE, READ, read_proc), Refused),
    ("readahead and splice", By(NONE, |file| { readahead(file); splice(file) }), Refused),
    ("fadvise and sendfile", By(NONE, |file| { fadvise(file); sendfile(file) }), Refused),
    ("exec", Exec, Refused),
];

fn read(mut file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; WANTED];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn readv(mut file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; WANTED];
    let (first, second) = bytes.split_at_mut(10);
    let length = file.read_vectored(&mut [IoSliceMut::new(first), IoSliceMut::new(second)])?;
    bytes.truncate(length);
    Ok(bytes)
}

fn pread(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; WANTED];
    let length = rustix::io::pread(file, &mut bytes[..], 1 << 40)?;
    bytes.truncate(length);
    Ok(bytes)
}

fn preadv2(file: &File, flags: u32) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; WANTED];
    let flags = ReadWriteFlags::from_bits_retain(flags);
    let length = rustix::io::preadv2(file, &mut [IoSliceMut::new(&mut bytes)], 0, flags)?;
    bytes.truncate(length);
    Ok(bytes)
}

/// `io_submit(2)`.
fn asynchronous(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0_u8; WANTED];
    // `struct iocb`: data, key and flags, operation (0: read) and file, memory, length, offset, three more.
    let mut request = [0_u64; 8];
    request[2] = u64::from(file.as_raw_fd() as u32) << 32;
    request[3] = bytes.as_mut_ptr() as u64;
    request[4] = WANTED as u64;
    let mut requests = [request.as_mut_ptr()];
    let (mut context, mut event) = (0_u64, [0_i64; 4]);
    // SAFETY: all memory lives until the read has ended, since `io_getevents` waits for that.
    let done = unsafe {
        libc::syscall(libc::SYS_io_setup, 1, &raw mut context);
        libc::syscall(libc::SYS_io_submit, context, 1, requests.as_mut_ptr());
        let none = ptr::null_mut::<u8>();
        libc::syscall(libc::SYS_io_getevents, context, 1, 1, &raw mut event, none)
    };
    assert_eq!(done, 1, "an event");
    let length =
        usize::try_from(event[2]).map_err(|_| io::Error::from_raw_os_error(-event[2] as i32))?;
    bytes.truncate(length);
    Ok(bytes)
}

/// Copies into memory, and returns what came.
fn copy(copy: impl FnOnce(&OwnedFd) -> Result<usize, Errno>) -> io::Result<Vec<u8>> {
    let memory = memfd_create("copy", MemfdFlags::CLOEXEC)?;
    copy(&memory)?;
    let (mut file, mut bytes) = (File::from(memory), Vec::new());
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn sendfile(file: &File) -> io::Result<Vec<u8>> {
    copy(|to| rustix::fs::sendfile(to, file, None, WANTED))
}

fn copy_range(file: &File) -> io::Result<Vec<u8>> {
    copy(|to| rustix::fs::copy_file_range(file, None, to, None, WANTED))
}

/// From the file into itself: no program sees these bytes, but they would come through the page cache.
fn copy_beside(file: &File) -> io::Result<Vec<u8>> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let to = open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    let length = rustix::fs::copy_file_range(file, None, to, Some(&mut 8192), WANTED)?;
    Ok(vec![1; length])
}

fn clone(file: &File) -> io::Result<Vec<u8>> {
    copy(|to| rustix::fs::ioctl_ficlone(to, file).map(|()| WANTED))
}

fn splice(file: &File) -> io::Result<Vec<u8>> {
    let (mut from, to) = io::pipe()?;
    let none = ptr::null_mut();
    let (file, to) = (file.as_raw_fd(), to.as_raw_fd());
    // SAFETY: two descriptors, and no memory.
    let length = unsafe { libc::splice(file, none, to, none, WANTED, 0) };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn readahead(file: &File) {
    // SAFETY: a descriptor, and no memory.
    unsafe { libc::readahead(file.as_raw_fd(), 0, 4096) };
}

fn fadvise(file: &File) {
    let _ = rustix::fs::fadvise(file, 0, None, Advice::WillNeed);
}

/// A page of the file in memory.
pub(crate) struct Page(*const u8);

pub(crate) fn map(
    path: &Path,
    flags: MapFlags,
    protection: ProtFlags,
    take: fn(&Page) -> io::Result<Vec<u8>>,
) -> io::Result<Take> {
    let file = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    // SAFETY: memory at a place of the kernel's choice, which stays mapped.
    let start = unsafe { mmap(ptr::null_mut(), 4096, protection, flags, file.as_fd(), 0) }?;
    let page = Page(start.cast());
    Ok(Box::new(move || take(&page)))
}

/// Ends this program by SIGBUS if the kernel cannot fill the page.
pub(crate) fn touch(page: &Page) -> io::Result<Vec<u8>> {
    // SAFETY: the page is mapped.
    Ok((0..WANTED)
        .map(|place| unsafe { page.0.add(place).read_volatile() })
        .collect())
}

fn read_ahead_and_touch(page: &Page) -> io::Result<Vec<u8>> {
    // SAFETY: the page is mapped, and keeps what is in it.
    unsafe { madvise(page.0 as *mut _, 4096, MapAdvice::WillNeed) }?;
    touch(page)
}

fn write_out(page: &Page) -> io::Result<Vec<u8>> {
    // SAFETY: the page is mapped; only the kernel reads it.
    let bytes = unsafe { core::slice::from_raw_parts(page.0, WANTED) };
    copy(|to| rustix::io::write(to, bytes))
}

fn read_process(page: &Page) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0_u8; WANTED];
    let to = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: WANTED,
    };
    let from = libc::iovec {
        iov_base: page.0 as *mut _,
        iov_len: WANTED,
    };
    // SAFETY: writes to `bytes` alone.
    let length =
        unsafe { libc::process_vm_readv(libc::getpid(), &raw const to, 1, &raw const from, 1, 0) };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    bytes.truncate(length);
    Ok(bytes)
}

fn read_proc(page: &Page) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; WANTED];
    let length = rustix::io::pread(File::open("/proc/self/mem")?, &mut bytes[..], page.0 as u64)?;
    bytes.truncate(length);
    Ok(bytes)
}

// One read by io_uring.

const OP_READ: u8 = 22;
const ENTER_GETEVENTS: u32 = 1;
const OFFSET_COMMANDS: i64 = 0x1000_0000;

/// Reads 32 bytes.
fn uring_read(file: &File) -> io::Result<Vec<u8>> {
    uring_read_at(file, 0)
}

/// Reads 32 bytes at an offset.
fn uring_read_at(file: &File, offset: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0_u8; 32];
    // `struct io_uring_params`. From word 10 on: head, tail, mask, entries, flags, dropped and array of the commands;
    // from word 20 on: head, tail, mask, entries, overflow and the place of the completions.
    let mut params = [0_u32; 30];
    // SAFETY: the call writes to `params`, which is as long as it expects.
    let made = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, params.as_mut_ptr()) };
    if made < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor.
    let ring = unsafe { OwnedFd::from_raw_fd(made as i32) };
    let map = |offset| {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let (none, flags) = (ptr::null_mut(), libc::MAP_SHARED);
        // SAFETY: memory at a place of the kernel's choice. One page has room for a ring of one command.
        let start = unsafe { libc::mmap(none, 4096, protection, flags, ring.as_raw_fd(), offset) };
        assert_ne!(start, libc::MAP_FAILED);
        start.cast::<u8>()
    };
    let (words, commands) = (map(0), map(OFFSET_COMMANDS));
    // `struct io_uring_sqe`: operation, descriptor, offset, memory, length.
    let mut command = [0_u8; 64];
    command[0] = OP_READ;
    command[4..8].copy_from_slice(&file.as_raw_fd().to_ne_bytes());
    command[8..16].copy_from_slice(&offset.to_ne_bytes());
    command[16..24].copy_from_slice(&(bytes.as_mut_ptr() as u64).to_ne_bytes());
    command[24..28].copy_from_slice(&32_u32.to_ne_bytes());
    // SAFETY: the kernel reads the command and writes its completion inside of the call below; `bytes` lives longer.
    let result = unsafe {
        commands.cast::<[u8; 64]>().write(command);
        words
            .add(params[11] as usize)
            .cast::<u32>()
            .write_volatile(1);
        let (call, ring) = (libc::SYS_io_uring_enter, ring.as_raw_fd());
        let none = ptr::null::<u8>();
        let entered = libc::syscall(call, ring, 1, 1, ENTER_GETEVENTS, none, 0);
        assert_eq!(entered, 1, "{}", io::Error::last_os_error());
        words
            .add(params[25] as usize + 8)
            .cast::<i32>()
            .read_volatile()
    };
    let length = usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result))?;
    bytes.truncate(length);
    Ok(bytes)
}
