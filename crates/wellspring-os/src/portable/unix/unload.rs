//! Runs [`unload`](crate::thread_exit::unload) when the library is unloaded, or the process ends. macOS does not unload a
//! library with thread-local data.

use crate::thread_exit::unload;

#[used]
#[unsafe(link_section = ".fini_array")]
static UNLOAD: extern "C" fn() = unload;
