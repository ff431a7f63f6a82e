//! The generators of the kernel, its own and those of the module, for the command and the service.
//!
//! `device` has the device file of the module: two requests. `generators` brings new keys to it and to the kernel's own generator
//! after a clone. Here are the seeds of its nodes, in a file that carries them over a reboot.

#![cfg(target_os = "linux")]

pub mod device;
mod generators;

pub use generators::{
    BY_CLOCKS_ALONE, KernelGenerators, NEW_BYTES, RNDADDENTROPY, RNDRESEEDCRNG,
    differs_by_clocks_alone, new_bytes,
};

use crate::device::{DEVICE, KernelModule, NodeAnswer, NodeSeed};
use core::fmt;
use rustix::io::Errno;
use std::path::PathBuf;
use wellspring::seed_file::{Identity, SeedFileError, SeedFound, SeedStore};
use wellspring_core::node::Seed;
use wellspring_core::seed_file::FULL_CREDIT_BITS;
use wellspring_core::sha256::Sha256;
use wellspring_os::os_error::OsError;
use zeroize::{Zeroize, Zeroizing};

/// The seeds of the kernel module, in a file that carries them over a reboot.
///
/// The file is a [seed file](wellspring::seed_file): it is replaced before the kernel module gets a seed of it, and it is
/// credited once, after a reboot of the machine that wrote it. The kernel module asks for CAP_SYS_ADMIN.
#[derive(Debug)]
pub struct ModuleSeeds {
    module: KernelModule,
    store: SeedStore,
}

/// The result of [`ModuleSeeds::restore`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Restored {
    /// The nodes that got a seed.
    pub nodes: usize,
    /// The file as it was found.
    pub found: SeedFound,
}

/// The reason why seeds of the kernel module were not saved or restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModuleSeedsError {
    /// The kernel module is not loaded.
    NotLoaded,
    /// The kernel module is not seeded: it has no secret to keep.
    NotSeeded,
    /// The device of the kernel module refuses.
    Device(OsError),
    /// The file was not written.
    File(SeedFileError),
}

impl fmt::Display for ModuleSeedsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLoaded => write!(
                f,
                "the kernel module wellspring is not loaded: there is no {DEVICE}"
            ),
            Self::NotSeeded => write!(f, "{DEVICE} is not seeded yet"),
            Self::Device(error) => write!(f, "{DEVICE}: {error}"),
            Self::File(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ModuleSeedsError {}

impl From<SeedFileError> for ModuleSeedsError {
    fn from(error: SeedFileError) -> Self {
        Self::File(error)
    }
}

fn of_device(error: OsError) -> ModuleSeedsError {
    match Errno::from_raw_os_error(error.number()) {
        Errno::AGAIN => ModuleSeedsError::NotSeeded,
        Errno::NOENT | Errno::NODEV | Errno::NXIO => ModuleSeedsError::NotLoaded,
        _ => ModuleSeedsError::Device(error),
    }
}

impl ModuleSeeds {
    /// Opens the device of the kernel module. The file at `path` is neither read nor made.
    ///
    /// # Errors
    ///
    /// [`ModuleSeedsError::NotLoaded`], or [`Device`](ModuleSeedsError::Device).
    pub fn open(path: impl Into<PathBuf>, identity: Identity) -> Result<Self, ModuleSeedsError> {
        Ok(Self {
            module: KernelModule::open().map_err(of_device)?,
            store: SeedStore::new(path.into(), identity),
        })
    }

    /// Replaces the file, and mixes a seed of the old one into every node, with the credit that it deserves. If there is
    /// no file, one is made, and no node gets a seed.
    ///
    /// # Errors
    ///
    /// [`ModuleSeedsError::Device`]. What is wrong with the file is in the result.
    pub fn restore(&mut self) -> Result<Restored, ModuleSeedsError> {
        let mut seed = Seed::ZERO;
        self.store.take(1, &mut seed);
        let found = self.store.found();
        let mut nodes = 0;
        if seed.bytes().is_empty() {
            return Ok(Restored { nodes, found });
        }
        for node in 0.. {
            let mut hash = Sha256::ZERO;
            hash.update(b"wellspring kernel node");
            hash.update(&u64::from(node).to_le_bytes());
            hash.update(seed.bytes());
            let mut node_seed = NodeSeed {
                node,
                credit_bits: seed.credit_bits(),
                bytes: [0; 32],
            };
            hash.finish_into(&mut node_seed.bytes);
            let answer = self.module.restore(&node_seed);
            node_seed.bytes.zeroize();
            match answer.map_err(of_device)? {
                NodeAnswer::Done => nodes += 1,
                NodeAnswer::NoNode => {}
                NodeAnswer::PastLast => break,
            }
        }
        Ok(Restored { nodes, found })
    }

    /// Writes the file from fresh output of every node, and returns their number.
    ///
    /// # Errors
    ///
    /// [`ModuleSeedsError`].
    pub fn save(&self) -> Result<usize, ModuleSeedsError> {
        // With room for the most nodes from the start: a vector that grows leaves copies behind.
        let mut fresh = Zeroizing::new(Vec::with_capacity(1024));
        for node in 0.. {
            let mut seed = NodeSeed {
                node,
                credit_bits: 0,
                bytes: [0; 32],
            };
            let answer = self.module.save(&mut seed);
            if answer == Ok(NodeAnswer::Done) {
                fresh.push(seed.bytes);
            }
            seed.bytes.zeroize();
            if answer.map_err(of_device)? == NodeAnswer::PastLast {
                break;
            }
        }
        self.store.save(&fresh, FULL_CREDIT_BITS)?;
        Ok(fresh.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_device_say_what_is_missing() {
        let of = |error: Errno| of_device(error.into());
        for error in [Errno::NOENT, Errno::NODEV, Errno::NXIO] {
            assert_eq!(of(error), ModuleSeedsError::NotLoaded);
        }
        assert_eq!(of(Errno::AGAIN), ModuleSeedsError::NotSeeded);
        let refused = ModuleSeedsError::Device(Errno::PERM.into());
        assert_eq!(of(Errno::PERM), refused);
        assert!(refused.to_string().starts_with("/dev/wellspring: "));
    }
}
