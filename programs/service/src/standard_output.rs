//! Whether the caller left the standard output closed.
//!
//! Before `main`, the Rust runtime opens /dev/null in place of a closed stream, and what is printed is lost without an
//! error. So this file looks before the runtime does.

use std::sync::atomic::{AtomicBool, Ordering};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// The loader calls the functions of this section before it calls `main`.
// SAFETY: the section holds pointers to functions of this type, and `look` needs nothing that `main` would set up.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: asks for the flags of a descriptor, which may be closed; no memory is involved.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    WAS_CLOSED.store(flags == -1, Ordering::Relaxed);
}

/// Whether this process began with a closed standard output.
pub(crate) fn was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}
