//! One read by io_uring.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

const OP_READ: u8 = 22;
const ENTER_GETEVENTS: u32 = 1;
const OFFSET_COMMANDS: i64 = 0x1000_0000;

/// Reads 32 bytes.
pub(crate) fn read(file: &File) -> io::Result<Vec<u8>> {
    read_at(file, 0)
}

/// Reads 32 bytes at an offset.
pub(crate) fn read_at(file: &File, offset: u64) -> io::Result<Vec<u8>> {
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
