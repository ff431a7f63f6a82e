//! Whether the caller left the standard input or output closed.
//!
//! On Unix, before `main`, the Rust runtime opens /dev/null in place of a standard stream that is closed. From then on a
//! write to it succeeds and the bytes are lost, and nothing tells it from `> /dev/null`: some programs open that for
//! reading and writing too. So this file looks before the runtime does.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

static INPUT_CLOSED: AtomicBool = AtomicBool::new(false);
static OUTPUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// The loader calls the functions of this section before it calls `main`.
// SAFETY: the section holds pointers to functions of this type, and `look` needs nothing that `main` would set up.
#[cfg(unix)]
#[used]
#[cfg_attr(
    target_vendor = "apple",
    unsafe(link_section = "__DATA,__mod_init_func")
)]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static LOOK: extern "C" fn() = look;

#[cfg(unix)]
extern "C" fn look() {
    for (descriptor, is_closed) in [
        (libc::STDIN_FILENO, &INPUT_CLOSED),
        (libc::STDOUT_FILENO, &OUTPUT_CLOSED),
    ] {
        // SAFETY: asks for the flags of a descriptor, which may be closed; no memory is involved.
        let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFD) };
        is_closed.store(flags == -1, Ordering::Relaxed);
    }
}

/// Whether this process began with a closed standard input.
pub(crate) fn input_was_closed() -> bool {
    INPUT_CLOSED.load(Ordering::Relaxed)
}

/// Whether this process began with a closed standard output.
pub(crate) fn output_was_closed() -> bool {
    OUTPUT_CLOSED.load(Ordering::Relaxed)
}

/// The standard input itself, as a file.
pub(crate) fn own_input() -> io::Result<File> {
    #[cfg(unix)]
    let own = std::os::fd::AsFd::as_fd(&io::stdin()).try_clone_to_owned();
    #[cfg(windows)]
    let own = std::os::windows::io::AsHandle::as_handle(&io::stdin()).try_clone_to_owned();
    own.map(File::from)
}

/// The standard output itself, as a file.
pub(crate) fn own_output() -> io::Result<File> {
    #[cfg(unix)]
    let own = std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned();
    #[cfg(windows)]
    let own = std::os::windows::io::AsHandle::as_handle(&io::stdout()).try_clone_to_owned();
    own.map(File::from)
}
