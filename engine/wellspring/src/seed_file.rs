//! The file that carries seeds over a reboot: how engines use it, and how to show one without its secrets.
//!
//! [`EngineBuilder::seed_file`](crate::EngineBuilder::seed_file) gives an engine one. While the engine is built, the file
//! is read, replaced, and only then mixed in: no content is used twice. It is written again every ten minutes by an
//! engine with a harvester, by [`Engine::save_seed`](crate::Engine::save_seed), and when the last handle of the engine
//! is dropped, if the engine has reseeded since the last write of its own output. The format, and the credit of a seed
//! case by case: [`wellspring_core::seed_file`].
//!
//! The content of a file is mixed in, credited or not, unless the file is refused. A link, a device, a file of another
//! user, and a file that does not begin as a seed file does, are refused and not changed. [`SeedFound`] is the result. An
//! engine fails because of its seed file only if it
//! [requires](crate::EngineBuilder::require_seed_file) it.
//!
//! ```text
//! inspect        shows a file without its secrets
//! SeedStore      the seed file of an engine: read, replace, write again
//! Found          a seed file on the disk
//! Identity       the identity of a file: a copy has another one
//! SeedFound      the result of reading a file
//! SeedFileError  the reason why a file was not written
//! ```

use crate::fresh_entropy::FreshEntropy;
use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
#[cfg(target_os = "linux")]
use rustix::fs::{AtFlags, StatxFlags, fstatfs, fstatvfs, statx};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use wellspring_core::node::Seed;
use wellspring_core::seed_file::{
    Boot, FULL_CREDIT_BITS, FileId, MAX_BYTES, SeedFile, UNKNOWN_FILE,
};
pub use wellspring_core::seed_file::{Damage, Uncredited};
use wellspring_core::sha256::{DIGEST_BYTES, Sha256};
use wellspring_os::descriptor::{AsFd, BorrowedFd};
use wellspring_os::os;
use wellspring_os::os::read_file;
use wellspring_os::trusted_file::{Access, Directory, FileFault};
use zeroize::Zeroizing;

/// The content of a seed file, without its secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The sections: one for each node of the engine that wrote it.
    pub sections: usize,
    /// How often the file has been written. An engine writes it at least twice: before its first use, and at its end.
    pub counter: u64,
    /// The credit that its writer claims, in bits.
    pub claimed_bits: u32,
    /// Whether this boot wrote it.
    pub is_of_this_boot: bool,
    /// Whether the file differs from its copies: the machine and the file system have an identity.
    pub has_file_id: bool,
    /// The result that an engine would get now.
    pub found: SeedFound,
}

/// Returns the content of a seed file, without its secrets. Does not change the file.
///
/// # Errors
///
/// [`SeedFound::Nothing`] if there is no file, [`SeedFound::Refused`] or [`SeedFound::Damaged`].
pub fn inspect(path: &Path, identity: &Identity) -> Result<Report, SeedFound> {
    let found = read(path, identity);
    let found = found
        .map_err(SeedFound::Refused)?
        .ok_or(SeedFound::Nothing)?;
    let file = SeedFile::parse(&found.bytes).map_err(SeedFound::Damaged)?;
    Ok(Report {
        sections: file.sections(),
        counter: file.counter,
        claimed_bits: file.claimed_bits(),
        is_of_this_boot: file.boot == identity.boot,
        has_file_id: file.file_id != UNKNOWN_FILE,
        found: match found.credit(&file, identity) {
            Ok(bits) => SeedFound::Credited(bits),
            Err(reason) => SeedFound::Mixed(reason),
        },
    })
}

// The seed file of an engine: read and replaced at the start, written again later.

/// A harvester writes the seed file again after ten minutes.
pub(crate) const SAVE_INTERVAL_MS: u64 = 600_000;

/// The owner alone can read a seed file.
const MODE: u32 = 0o600;

/// A seed file that is read, replaced and written again: an engine's, or another generator's.
#[doc(hidden)]
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

// A seed file on the disk.

/// A seed file as it was found, not judged yet.
struct Found {
    bytes: Zeroizing<Vec<u8>>,
    file_id: FileId,
    /// Other users could read it, or put another file in its place.
    is_exposed: bool,
}

/// Reads the file. `None` if it does not exist.
fn read(path: &Path, identity: &Identity) -> Result<Option<Found>, SeedFileError> {
    let (directory, name) = Directory::of(path)?;
    let file = match directory.open_file(name, Access::Read) {
        Err(FileFault::System(error)) if error.is_not_found() => return Ok(None),
        file => file?,
    };
    // One byte more than a seed file can have shows that it is not a seed file.
    let mut bytes = Zeroizing::new(vec![0; MAX_BYTES + 1]);
    let length = file.read(&mut bytes)?;
    bytes.truncate(length);
    Ok(Some(Found {
        bytes,
        file_id: identity.file_id(file.as_fd()),
        is_exposed: !file.is_secret() || !directory.is_private()?,
    }))
}

impl Found {
    /// The credit of the seed where it was found, in bits.
    fn credit(&self, file: &SeedFile, identity: &Identity) -> Result<u32, Uncredited> {
        match file.judge(&self.file_id, &identity.boot) {
            Ok(_) if self.is_exposed => Err(Uncredited::Exposed),
            credit => credit,
        }
    }
}

// The identity of a seed file, which its copies do not have: the machine, the boot, the file system, the file.

/// Files in which firmware or a hypervisor names the machine. They are not on a disk, so a copy of the disk does not have them.
const HARDWARE: [&[u8]; 4] = [
    b"/sys/class/dmi/id/product_uuid",
    b"/sys/hypervisor/uuid",
    b"/proc/device-tree/vm,uuid",
    b"/proc/device-tree/serial-number",
];

/// `OVERLAYFS_SUPER_MAGIC`, of containers' layers: any number of containers find the same file in one layer, under the
/// same inode.
#[cfg(target_os = "linux")]
const OVERLAY: u64 = 0x794c_7630;

/// The identity of this machine and of this boot.
///
/// An engine uses [`system`](Self::system): `/etc/machine-id`, hashed with the identity of the hardware (DMI's product
/// UUID, which only root can read; Xen's; the device tree's), and the kernel's boot id. Where no identity of the
/// hardware can be read, seeds are mixed and never credited. A program that knows a better one (a TPM's key, a cloud's
/// instance id) gives it to [`new`](Self::new).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    machine: Option<[u8; 32]>,
    boot: Boot,
}

impl Identity {
    /// This machine and this boot, as the system tells.
    #[must_use]
    pub fn system() -> Self {
        let mut hash = Sha256::ZERO;
        let mut buffer = [0; 256];
        let mut is_known = false;
        for path in HARDWARE {
            if let Some(text) = read_file(path, &mut buffer).filter(|text| identifies(text)) {
                is_known = true;
                hash.update(text.trim_ascii());
            }
            hash.update(&[0]);
        }
        // It is on the disk and copied with it: not enough alone.
        if let Some(text) = read_file(b"/etc/machine-id", &mut buffer) {
            hash.update(text.trim_ascii());
        }
        let boot = read_file(b"/proc/sys/kernel/random/boot_id", &mut buffer);
        Self {
            machine: is_known.then(|| finish(hash)),
            boot: boot.and_then(parse_uuid).unwrap_or_default(),
        }
    }

    /// A machine with the identity `machine`, of any length, in the boot `boot`. A copy of the machine must have
    /// another identity, and each boot another `boot`.
    #[must_use]
    pub fn new(machine: &[u8], boot: [u8; 16]) -> Self {
        Self {
            machine: Some(Sha256::digest(machine)),
            boot,
        }
    }

    /// The identity of an open file on this machine. A copy of the file has another identity.
    fn file_id(&self, file: BorrowedFd<'_>) -> FileId {
        self.known_file_id(file).unwrap_or(UNKNOWN_FILE)
    }

    fn known_file_id(&self, file: BorrowedFd<'_>) -> Option<FileId> {
        let mut hash = Sha256::ZERO;
        hash.update(b"wellspring seed file place");
        hash.update(&self.machine?);
        add_place(file, &mut hash)?;
        Some(finish(hash))
    }
}

/// Hashes where a file is, and when it was born, which differs for a copy of it. `None` where the system does not tell all
/// of it.
#[cfg(target_os = "linux")]
fn add_place(file: BorrowedFd<'_>, hash: &mut Sha256) -> Option<()> {
    if fstatfs(file).ok()?.f_type as u64 == OVERLAY {
        return None;
    }
    let wanted = StatxFlags::INO | StatxFlags::BTIME;
    let status = statx(file, c"", AtFlags::EMPTY_PATH, wanted).ok()?;
    if !StatxFlags::from_bits_retain(status.stx_mask).contains(wanted) {
        return None;
    }
    hash.update(&fstatvfs(file).ok()?.f_fsid.to_le_bytes());
    hash.update(&status.stx_ino.to_le_bytes());
    hash.update(&status.stx_btime.tv_sec.to_le_bytes());
    hash.update(&status.stx_btime.tv_nsec.to_le_bytes());
    Some(())
}

/// Not known on other systems: seeds are mixed there and never credited.
#[cfg(not(target_os = "linux"))]
fn add_place(_: BorrowedFd<'_>, _: &mut Sha256) -> Option<()> {
    None
}

fn finish(mut hash: Sha256) -> [u8; DIGEST_BYTES] {
    let mut digest = [0; DIGEST_BYTES];
    hash.finish_into(&mut digest);
    digest
}

/// Whether a text can be an identity. Firmware without one says zeros, ones, or that it was not specified.
fn identifies(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    let is_hexadecimal = |byte: &&u8| byte.is_ascii_hexdigit();
    let mut digits: Vec<u8> = text.iter().filter(is_hexadecimal).copied().collect();
    digits.sort_unstable();
    digits.dedup();
    // "Not Specified" and "To Be Filled By O.E.M." have letters that no hexadecimal number has, and no digit.
    text.len() >= 8 && digits.len() >= 3 && text.iter().any(u8::is_ascii_digit)
}

fn parse_uuid(text: &[u8]) -> Option<[u8; 16]> {
    let digits = str::from_utf8(text).ok()?.trim_ascii().replace('-', "");
    let number = u128::from_str_radix(&digits, 16).ok()?;
    (digits.len() == 32).then(|| number.to_be_bytes())
}

// The results of reading a seed file, and the reasons why one was not written.

/// The result of reading an engine's seed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SeedFound {
    /// No file: as on a first start.
    Nothing,
    /// A seed, mixed in, with this credit in bits.
    Credited(u32),
    /// A seed, mixed in without credit.
    Mixed(Uncredited),
    /// Something that is no seed, or no longer one; mixed in without credit.
    Damaged(Damage),
    /// Something that was not read and stays as it is.
    Refused(SeedFileError),
}

impl SeedFound {
    /// Whether an operator should look at it.
    #[must_use]
    pub fn is_fault(self) -> bool {
        match self {
            SeedFound::Nothing | SeedFound::Credited(_) => false,
            SeedFound::Mixed(reason) => {
                matches!(reason, Uncredited::Exposed | Uncredited::NotReplaced)
            }
            SeedFound::Damaged(_) | SeedFound::Refused(_) => true,
        }
    }
}

impl fmt::Display for SeedFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SeedFound::Nothing => f.write_str("no file"),
            SeedFound::Credited(bits) => write!(f, "a seed, credited {bits} bits"),
            SeedFound::Mixed(reason) => write!(f, "a seed, not credited: {reason}"),
            SeedFound::Damaged(damage) => write!(f, "damaged: {damage}"),
            SeedFound::Refused(reason) => write!(f, "refused: {reason}"),
        }
    }
}

/// The reason why a seed file was not written or not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SeedFileError {
    /// The engine has no seed file.
    Absent,
    /// The engine is not seeded: it has no secret to keep.
    NotSeeded,
    /// A self-test of the engine has failed: its secrets may be known.
    SelfTest,
    /// A file of another kind is there. It stays as it is.
    NotASeedFile,
    /// The file cannot be believed or replaced: `System` with `ENOSPC` for a full disk, with `EROFS` for a read-only one.
    File(FileFault),
}

impl fmt::Display for SeedFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SeedFileError::Absent => f.write_str("the engine has no seed file"),
            SeedFileError::NotSeeded => f.write_str("the engine is not seeded"),
            SeedFileError::SelfTest => f.write_str("a self-test of the engine has failed"),
            SeedFileError::NotASeedFile => f.write_str("not a seed file; it stays as it is"),
            SeedFileError::File(fault) => fault.fmt(f),
        }
    }
}

impl core::error::Error for SeedFileError {}

impl From<FileFault> for SeedFileError {
    fn from(fault: FileFault) -> Self {
        Self::File(fault)
    }
}

/// The seed file of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SeedFileStats {
    /// The path.
    pub path: PathBuf,
    /// The result of reading the file when the engine was built.
    pub found: SeedFound,
    /// Whether an unfinished file of a process that was killed was found and removed.
    pub removed_unfinished: bool,
    /// How often this engine has written it. The replacement at the start counts.
    pub writes: u64,
    /// The reason why the last attempt to write it failed, if it did.
    pub last_error: Option<SeedFileError>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn firmware_that_knows_no_identity_identifies_nothing() {
        for text in [
            "",
            "00000000-0000-0000-0000-000000000000\n",
            "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF\n",
            "Not Specified\n",
            "To Be Filled By O.E.M.\n",
            "0\n",
        ] {
            assert!(!identifies(text.as_bytes()), "{text}");
        }
        assert!(identifies(b"4c4c4544-0042-3510-8059-b4c04f433532\n"));
    }

    #[test]
    fn a_boot_id_is_sixteen_bytes_or_none() {
        let uuid = b"00112233-4455-6677-8899-aabbccddeeff\n";
        let expected = core::array::from_fn(|i| 0x11 * i as u8);
        assert_eq!(parse_uuid(uuid), Some(expected));
        for wrong in [&b""[..], b"0011", b"x", &uuid[..30]] {
            assert_eq!(parse_uuid(wrong), None);
        }
        if cfg!(target_os = "linux") {
            assert_ne!(Identity::system().boot, [0; 16]);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_copy_of_a_file_has_another_id() {
        use wellspring_os::descriptor::AsFd;
        let path = std::env::temp_dir().join(format!("wellspring-file-id-{}", std::process::id()));
        let copy = path.with_extension("copy");
        std::fs::write(&path, "x").unwrap();
        std::fs::copy(&path, &copy).unwrap();
        let here = Identity::new(b"machine", [1; 16]);
        let elsewhere = Identity::new(b"another", [1; 16]);
        let id = |identity: Identity, path| {
            let file = std::fs::File::open(path).unwrap();
            identity.file_id(file.as_fd())
        };
        let original = id(here, &path);
        if original == UNKNOWN_FILE {
            eprintln!("SKIPPED: the file system does not know when a file was born");
        } else {
            assert_eq!(original, id(here, &path));
            assert_ne!(original, id(here, &copy));
            assert_ne!(original, id(elsewhere, &path));
        }
        for path in [path, copy] {
            std::fs::remove_file(path).unwrap();
        }
    }
}
