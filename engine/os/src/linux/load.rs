//! Runs [`load`](crate::fork_handlers::load) when the library is loaded, and [`unload`](crate::thread_exit::unload) when it
//! is unloaded, or the process ends.

use crate::fork_handlers::load;
use crate::thread_exit::unload;

#[used]
#[cfg_attr(not(miri), unsafe(link_section = ".init_array"))]
static LOAD: extern "C" fn() = load;

#[used]
#[cfg_attr(not(miri), unsafe(link_section = ".fini_array"))]
static UNLOAD: extern "C" fn() = unload;
