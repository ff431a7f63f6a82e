//! What an engine does with its seed file.

use super::folder::{Folder, Found};
use super::{Identity, SeedFileError, SeedFileStats, SeedFound};
use crate::noise::Noise;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use rustix::process::{Pid, getpid};
use sha2::{Digest, Sha256};
use std::path::PathBuf;
use std::sync::Mutex;
use wellspring_core::pool::Seed;
use wellspring_core::seed_file::{FULL_CREDIT_BITS, SeedFile, Uncredited};
use zeroize::Zeroizing;

/// How old a seed file gets under a harvester: ten minutes.
pub(crate) const SAVE_INTERVAL_MS: u64 = 600_000;

/// An engine's seed file.
#[derive(Debug)]
pub(crate) struct Keeper {
    path: PathBuf,
    identity: Identity,
    /// Who built the engine. A child made by fork is not the file's keeper.
    process: Pid,
    found: SeedFound,
    removed_unfinished: AtomicBool,
    writes: AtomicU64,
    /// Whether what is in the file now is worth anything after a reboot.
    is_worth_something: AtomicBool,
    last_error: Mutex<Option<SeedFileError>>,
}

impl Keeper {
    /// Reads the file and replaces it; what comes back, if anything, is to be mixed into the first node.
    pub(crate) fn start(path: PathBuf, identity: Identity, nodes: usize) -> (Self, Option<Seed>) {
        let mut keeper = Self {
            // The program may change its folder.
            path: std::path::absolute(&path).unwrap_or(path),
            identity,
            process: getpid(),
            found: SeedFound::Nothing,
            removed_unfinished: AtomicBool::new(false),
            writes: AtomicU64::new(0),
            is_worth_something: AtomicBool::new(false),
            last_error: Mutex::new(None),
        };
        let noise = Noise::now();
        // Node by node the same: the successor hashes the node's number in.
        let fresh = vec![*noise.digest(); nodes];
        let credit_bits = if noise.is_of_system() {
            FULL_CREDIT_BITS
        } else {
            0
        };
        let seed = match keeper.replace(&fresh, credit_bits) {
            Ok(found) => found.and_then(|found| keeper.judge(&found, true)),
            Err(error) => match keeper.read() {
                Ok(found) => found.and_then(|found| keeper.judge(&found, false)),
                Err(_) => {
                    keeper.found = SeedFound::Refused(error);
                    None
                }
            },
        };
        (keeper, seed)
    }

    /// Writes the file from a secret of each node.
    pub(crate) fn save(&self, secrets: &[[u8; 32]], credit_bits: u32) -> Result<(), SeedFileError> {
        self.replace(secrets, credit_bits).map(drop)
    }

    /// Whether this process built the engine.
    pub(crate) fn is_ours(&self) -> bool {
        self.process == getpid()
    }

    pub(crate) fn is_worth_something(&self) -> bool {
        self.is_worth_something.load(Ordering::Relaxed)
    }

    pub(crate) fn stats(&self) -> SeedFileStats {
        SeedFileStats {
            path: self.path.clone(),
            found: self.found,
            removed_unfinished: self.removed_unfinished.load(Ordering::Relaxed),
            writes: self.writes.load(Ordering::Relaxed),
            // Not in a child whose parent was writing: there nobody would ever give the lock back.
            last_error: self.last_error.try_lock().ok().and_then(|error| *error),
        }
    }

    /// Replaces the file by its successor; returns what it was. The error is kept for the stats.
    fn replace(
        &self,
        fresh: &[[u8; 32]],
        credit_bits: u32,
    ) -> Result<Option<Found>, SeedFileError> {
        let replaced = self.try_replace(fresh, credit_bits);
        if let Ok(mut last_error) = self.last_error.try_lock() {
            *last_error = replaced.as_ref().err().copied();
        }
        replaced
    }

    fn try_replace(
        &self,
        fresh: &[[u8; 32]],
        credit_bits: u32,
    ) -> Result<Option<Found>, SeedFileError> {
        let folder = Folder::open(&self.path)?;
        let (next, removed) = folder.begin()?;
        self.removed_unfinished.fetch_or(removed, Ordering::Relaxed);
        let found = folder.read(&self.identity)?;
        let old = found
            .as_ref()
            .and_then(|found| SeedFile::parse(&found.bytes).ok());
        let mut file = SeedFile::successor(old.as_ref(), fresh, credit_bits);
        file.place = next.place(&self.identity);
        file.boot = self.identity.boot;
        next.replace(&file.to_bytes())?;
        self.writes.fetch_add(1, Ordering::Relaxed);
        self.is_worth_something
            .store(credit_bits > 0, Ordering::Relaxed);
        Ok(found)
    }

    fn read(&self) -> Result<Option<Found>, SeedFileError> {
        Folder::open(&self.path)?.read(&self.identity)
    }

    /// Notes what was found, and makes a seed of it with what it is worth.
    fn judge(&mut self, found: &Found, replaced: bool) -> Option<Seed> {
        let (secret, worth) = match SeedFile::parse(&found.bytes) {
            Ok(file) => {
                let worth = worth(&file, found, &self.identity);
                let worth = if replaced {
                    worth
                } else {
                    Err(Uncredited::NotReplaced)
                };
                self.found = match worth {
                    Ok(bits) => SeedFound::Credited(bits),
                    Err(reason) => SeedFound::Mixed(reason),
                };
                (file.seed(), worth.unwrap_or(0))
            }
            Err(damage) => {
                self.found = SeedFound::Damaged(damage);
                (Zeroizing::new(Sha256::digest(&found.bytes).into()), 0)
            }
        };
        // With noise of this moment: where the file comes back, what is made of it does not.
        let seed = Zeroizing::new([*secret, *Noise::now().digest()]);
        Some(Seed::new(seed.as_flattened(), worth))
    }
}

/// What a seed file is worth where it was found, in bits.
pub(super) fn worth(
    file: &SeedFile,
    found: &Found,
    identity: &Identity,
) -> Result<u32, Uncredited> {
    match file.judge(&found.place, &identity.boot) {
        Ok(_) if found.exposed => Err(Uncredited::Exposed),
        worth => worth,
    }
}
