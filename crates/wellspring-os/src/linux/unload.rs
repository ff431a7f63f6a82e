//! Runs [`unload`](crate::thread_exit::unload) when the library is unloaded, or the process ends.

use crate::thread_exit::unload;

#[used]
#[cfg_attr(not(miri), unsafe(link_section = ".fini_array"))]
static UNLOAD: extern "C" fn() = unload;
