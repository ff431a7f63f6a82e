//! Runs [`load`](crate::fork_handlers::load) when the library is loaded, and [`unload`](crate::thread_exit::unload) when it
//! is unloaded, or the process ends. macOS does not unload a library with thread-local data, and a first read registers the
//! handlers of fork(3) there.

use crate::fork_handlers::load;
use crate::thread_exit::unload;

#[used]
#[unsafe(link_section = ".init_array")]
static LOAD: extern "C" fn() = load;

#[used]
#[unsafe(link_section = ".fini_array")]
static UNLOAD: extern "C" fn() = unload;
