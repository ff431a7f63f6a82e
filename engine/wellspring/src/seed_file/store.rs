//! The seed file of an engine: read and replaced at the start, written again later.

use super::file::{Found, read};
use super::identity::Identity;
use super::outcome::{SeedFileError, SeedFileStats, SeedFound};
use crate::fresh_entropy::FreshEntropy;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::path::PathBuf;
use std::sync::Mutex;
use wellspring_core::node::Seed;
use wellspring_core::seed_file::{Damage, FULL_CREDIT_BITS, SeedFile, Uncredited};
use wellspring_core::sha256::Sha256;
use wellspring_os::descriptor::AsFd;
use wellspring_os::os;
use wellspring_os::trusted_file::Directory;
use zeroize::Zeroizing;

/// A harvester writes the seed file again after ten minutes.
pub(crate) const SAVE_INTERVAL_MS: u64 = 600_000;

/// The owner alone can read a seed file.
const MODE: u32 = 0o600;

/// A seed file that is read, replaced and written again: an engine's, or another generator's.
#[derive(Debug)]
pub struct SeedStore {
    path: PathBuf,
    identity: Identity,
    /// The process that built the engine. A child made by fork leaves the file alone.
    process: u32,
    /// The file as [`take`](Self::take) found it.
    found: SeedFound,
    removed_unfinished: AtomicBool,
    writes: AtomicU64,
    /// Whether the present file can be credited after a reboot.
    has_credit: AtomicBool,
    last_error: Mutex<Option<SeedFileError>>,
}

impl SeedStore {
    /// Neither reads nor writes the file.
    #[must_use]
    pub fn new(path: PathBuf, identity: Identity) -> Self {
        Self {
            // The program may change its directory later.
            path: std::path::absolute(&path).unwrap_or(path),
            identity,
            process: os::process_number(),
            found: SeedFound::Nothing,
            removed_unfinished: AtomicBool::new(false),
            writes: AtomicU64::new(0),
            has_credit: AtomicBool::new(false),
            last_error: Mutex::new(None),
        }
    }

    /// Reads the file and replaces it. Writes the bytes to mix into the first node to `seed`, which stays empty if
    /// there was no file to use.
    pub fn take(&mut self, nodes: usize, seed: &mut Seed) {
        let mut entropy = FreshEntropy::EMPTY;
        // The same for each node: the successor hashes the number of the node in.
        let fresh = Zeroizing::new(vec![*entropy.gather(); nodes]);
        let credit_bits = if entropy.has_system_output {
            FULL_CREDIT_BITS
        } else {
            0
        };
        match self.replace(&fresh, credit_bits) {
            Ok(Some(found)) => self.use_found(&found, true, seed),
            Ok(None) => {}
            Err(error @ SeedFileError::NotASeedFile) => self.found = SeedFound::Refused(error),
            Err(error) => match read(&self.path, &self.identity) {
                Ok(Some(found)) => self.use_found(&found, false, seed),
                Ok(None) => {}
                Err(_) => self.found = SeedFound::Refused(error),
            },
        }
    }

    /// The file as [`take`](Self::take) found it.
    #[must_use]
    pub fn found(&self) -> SeedFound {
        self.found
    }

    /// Writes the file from a secret of each node.
    ///
    /// # Errors
    ///
    /// The reason why the file was not written.
    pub fn save(&self, secrets: &[[u8; 32]], credit_bits: u32) -> Result<(), SeedFileError> {
        self.replace(secrets, credit_bits).map(drop)
    }

    /// Whether this process built the engine.
    pub(crate) fn is_ours(&self) -> bool {
        self.process == os::process_number()
    }

    /// Whether the present file can be credited after a reboot.
    pub(crate) fn has_credit(&self) -> bool {
        self.has_credit.load(Ordering::Relaxed)
    }

    pub(crate) fn stats(&self) -> SeedFileStats {
        SeedFileStats {
            path: self.path.clone(),
            found: self.found,
            removed_unfinished: self.removed_unfinished.load(Ordering::Relaxed),
            writes: self.writes.load(Ordering::Relaxed),
            // Never waits: in a child process the lock may be held by a thread that does not exist.
            last_error: self.last_error.try_lock().ok().and_then(|error| *error),
        }
    }

    /// Replaces the file by its successor, and returns the old file. Keeps the error for the stats.
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
        let (directory, name) = Directory::of(&self.path)?;
        let mut next = directory.begin_next(name)?;
        self.removed_unfinished
            .fetch_or(next.removed_stale(), Ordering::Relaxed);
        let found = read(&self.path, &self.identity)?;
        let old = found.as_ref().map(|found| SeedFile::parse(&found.bytes));
        if let Some(Err(Damage::Magic)) = old {
            return Err(SeedFileError::NotASeedFile);
        }
        let old = old.and_then(Result::ok);
        let mut file = SeedFile::successor(old.as_ref(), fresh, credit_bits);
        // The file keeps its inode when it is renamed.
        file.file_id = self.identity.file_id(next.as_fd());
        file.boot = self.identity.boot;
        next.write(&file.to_bytes())?;
        next.replace(MODE)?;
        self.writes.fetch_add(1, Ordering::Relaxed);
        self.has_credit.store(credit_bits > 0, Ordering::Relaxed);
        Ok(found)
    }

    /// Stores the result for the statistics, and makes a seed of the file with its credit.
    fn use_found(&mut self, found: &Found, is_replaced: bool, seed: &mut Seed) {
        let mut material = Zeroizing::new([[0; 32]; 2]);
        let mut credit_bits = 0;
        self.found = match SeedFile::parse(&found.bytes) {
            Ok(file) => {
                file.seed_into(&mut material[0]);
                let credit = if is_replaced {
                    found.credit(&file, &self.identity)
                } else {
                    Err(Uncredited::NotReplaced)
                };
                match credit {
                    Ok(bits) => {
                        credit_bits = bits;
                        SeedFound::Credited(bits)
                    }
                    Err(reason) => SeedFound::Mixed(reason),
                }
            }
            Err(damage) => {
                let mut hash = Sha256::ZERO;
                hash.update(&found.bytes);
                hash.finish_into(&mut material[0]);
                SeedFound::Damaged(damage)
            }
        };
        // With the entropy of this moment: if the same file comes back, this seed does not.
        let mut entropy = FreshEntropy::EMPTY;
        material[1].copy_from_slice(entropy.gather());
        seed.set(material.as_flattened(), credit_bits);
    }
}
