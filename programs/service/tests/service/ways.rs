//! The ways by which a program can ask for bytes of a device file.

use super::uring;
use rustix::fs::{Advice, MemfdFlags, Mode, OFlags, memfd_create, open};
use rustix::io::{Errno, ReadWriteFlags};
use rustix::mm::{Advice as MapAdvice, MapFlags, ProtFlags, madvise, mmap};
use std::fs::File;
use std::io::{self, IoSliceMut, Read, Seek};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::process::Command;
use std::ptr;

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
                let file = File::from(open(path, OFlags::RDONLY | flags, Mode::empty())?);
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
    ("io_uring", By(NONE, uring::read), Either),
    ("io_uring, direct", By(DIRECT, uring::read), Either),
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
    let memory = memfd_create("copy", MemfdFlags::empty())?;
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
    let to = open(path, OFlags::WRONLY, Mode::empty())?;
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
    let file = open(path, OFlags::RDONLY, Mode::empty())?;
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
