//! A file from which signals are read.

use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;

/// Blocks these signals, for this thread and for those that it starts from now on. They are read from the file.
pub(crate) fn signal_file(signals: &[i32]) -> io::Result<File> {
    // SAFETY: sigemptyset fills the set before it is read; the descriptor is new and becomes one file.
    unsafe {
        let mut set = core::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for &signal in signals {
            libc::sigaddset(&raw mut set, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, core::ptr::null_mut());
        match libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC) {
            -1 => Err(io::Error::last_os_error()),
            descriptor => Ok(File::from_raw_fd(descriptor)),
        }
    }
}
