//! The seeds of the kernel module, for the command and the service.
//!
//! ```text
//! device  the device file of the module: two requests
//! seeds   the seeds of its nodes, in a file that carries them over a reboot
//! ```

#![cfg(target_os = "linux")]

pub mod device;
mod seeds;

pub use seeds::{ModuleSeeds, ModuleSeedsError, Restored};
