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
pub(crate) type Way = fn(&Path) -> io::Result<Take>;

pub(crate) const WAYS: &[(&str, Way, Outcome)] = &[
    ("read", |path| take(path, OFlags::empty(), read), Served),
    ("readv", |path| take(path, OFlags::empty(), readv), Served),
    (
        "read, direct",
        |path| take(path, OFlags::DIRECT, read),
        Served,
    ),
    (
        "pread far behind the size",
        |path| take(path, OFlags::empty(), pread),
        Served,
    ),
    (
        "preadv2",
        |path| take(path, OFlags::empty(), |file| preadv2(file, 0)),
        Served,
    ),
    (
        "preadv2, high priority",
        |path| take(path, OFlags::empty(), |file| preadv2(file, 1)),
        Either,
    ),
    (
        "preadv2, no wait",
        |path| take(path, OFlags::empty(), |file| preadv2(file, 8)),
        Either,
    ),
    (
        "preadv2, not cached",
        |path| take(path, OFlags::empty(), |file| preadv2(file, 0x80)),
        Either,
    ),
    (
        "asynchronous read",
        |path| take(path, OFlags::empty(), asynchronous),
        Served,
    ),
    (
        "asynchronous read, direct",
        |path| take(path, OFlags::DIRECT, asynchronous),
        Served,
    ),
    (
        "io_uring",
        |path| take(path, OFlags::empty(), uring::read),
        Either,
    ),
    (
        "io_uring, direct",
        |path| take(path, OFlags::DIRECT, uring::read),
        Either,
    ),
    (
        "sendfile",
        |path| take(path, OFlags::empty(), sendfile),
        Refused,
    ),
    (
        "sendfile, direct",
        |path| take(path, OFlags::DIRECT, sendfile),
        Either,
    ),
    (
        "splice",
        |path| take(path, OFlags::empty(), splice),
        Refused,
    ),
    (
        "splice, direct",
        |path| take(path, OFlags::DIRECT, splice),
        Either,
    ),
    (
        "copy_file_range",
        |path| take(path, OFlags::empty(), copy_range),
        Refused,
    ),
    (
        "copy_file_range in the folder",
        |path| take(path, OFlags::empty(), copy_beside),
        Refused,
    ),
    (
        "clone, as cp --reflink",
        |path| take(path, OFlags::empty(), clone),
        Refused,
    ),
    (
        "mmap",
        |path| map(path, MapFlags::PRIVATE, ProtFlags::READ, touch),
        Refused,
    ),
    (
        "mmap, shared",
        |path| map(path, MapFlags::SHARED, ProtFlags::READ, touch),
        Refused,
    ),
    (
        "mmap, to write",
        |path| {
            map(
                path,
                MapFlags::PRIVATE,
                ProtFlags::READ | ProtFlags::WRITE,
                touch,
            )
        },
        Refused,
    ),
    (
        "mmap, to execute",
        |path| {
            map(
                path,
                MapFlags::PRIVATE,
                ProtFlags::READ | ProtFlags::EXEC,
                touch,
            )
        },
        Refused,
    ),
    (
        "mmap, read ahead",
        |path| {
            map(
                path,
                MapFlags::PRIVATE,
                ProtFlags::READ,
                read_ahead_and_touch,
            )
        },
        Refused,
    ),
    (
        "mmap, read by the kernel",
        |path| map(path, MapFlags::PRIVATE, ProtFlags::READ, write_out),
        Refused,
    ),
    (
        "mmap, read as a process",
        |path| map(path, MapFlags::PRIVATE, ProtFlags::READ, read_process),
        Refused,
    ),
    (
        "mmap, read by /proc",
        |path| map(path, MapFlags::PRIVATE, ProtFlags::READ, read_proc),
        Refused,
    ),
    (
        "readahead and splice",
        |path| {
            take(path, OFlags::empty(), |file| {
                readahead(file);
                splice(file)
            })
        },
        Refused,
    ),
    (
        "fadvise and sendfile",
        |path| {
            take(path, OFlags::empty(), |file| {
                fadvise(file);
                sendfile(file)
            })
        },
        Refused,
    ),
    ("exec", exec, Refused),
];

fn take(
    path: &Path,
    flags: OFlags,
    take: impl FnOnce(&File) -> io::Result<Vec<u8>> + 'static,
) -> io::Result<Take> {
    let file = File::from(open(path, OFlags::RDONLY | flags, Mode::empty())?);
    Ok(Box::new(move || take(&file)))
}

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

fn exec(path: &Path) -> io::Result<Take> {
    let mut command = Command::new(path);
    Ok(Box::new(move || command.output().map(|_| vec![1; WANTED])))
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
