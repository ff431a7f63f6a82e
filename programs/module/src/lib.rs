//! The generators of the kernel, its own and those of the module, for the command and the service.
//!
//! ```text
//! device      the device file of the module: two requests
//! seeds       the seeds of its nodes, in a file that carries them over a reboot
//! generators  new keys for all of them after a clone
//! ```

#![cfg(target_os = "linux")]

pub mod device;
mod generators;
mod seeds;

pub use generators::{
    BY_CLOCKS_ALONE, KernelGenerators, NEW_BYTES, RNDADDENTROPY, RNDRESEEDCRNG,
    differs_by_clocks_alone, new_bytes,
};
pub use seeds::{ModuleSeeds, ModuleSeedsError, Restored};
