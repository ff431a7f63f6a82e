//! `kernel save FILE`, `kernel restore FILE`: the module's nodes over a reboot.

use super::ioctl::{self, Seed};
use super::open::{DEVICE, open_device};
use crate::failure::Failure;
use crate::output::Output;
use clap::{Args, Subcommand};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{self, CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest, Sha256};
use std::fmt::Display;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use wellspring_core::seed_file::{
    Boot, FULL_CREDIT_BITS, MAX_BYTES, Place, SeedFile, UNPLACED, Uncredited,
};
use zeroize::Zeroizing;

/// Carry the kernel module's seeds over a reboot
///
/// The file has a section for each node of the module, is for its owner alone, and is replaced in one step. It needs
/// CAP_SYS_ADMIN. Exit status 3: the module is not loaded.
#[derive(Args)]
#[command(after_help = "\
Examples:
  wellspring kernel save /var/lib/wellspring/kernel-seed       at shutdown, and now and then
  wellspring kernel restore /var/lib/wellspring/kernel-seed    at boot")]
pub(crate) struct KernelRequest {
    #[command(subcommand)]
    action: Action,
}

/// What to do with the file.
#[derive(Subcommand)]
enum Action {
    /// Write FILE from fresh output of every node
    Save {
        /// The seed file
        file: PathBuf,
    },
    /// Give every node a seed from FILE, and replace FILE
    ///
    /// FILE is replaced before the module hears of it, so that no seed is credited twice; one that was written in
    /// this boot, or is a copy, or comes from another machine, is mixed in without credit.
    Restore {
        /// The seed file
        file: PathBuf,
    },
}

/// Runs the command.
pub(crate) fn run(request: &KernelRequest) -> Result<(), Failure> {
    let device = open_device(DEVICE, "wellspring")?;
    match &request.action {
        Action::Save { file } => {
            let old = read(file)?.map(|(old, _)| old);
            let nodes = save(&device, file, old.as_ref())?;
            print(&format!("{}: {nodes} nodes saved\n", file.display()))
        }
        Action::Restore { file } => restore(&device, file),
    }
}

fn print(text: &str) -> Result<(), Failure> {
    Output::standard()?.print(text)
}

fn fault(path: &Path, reason: impl Display) -> Failure {
    Failure::work(format!("{}: {reason}", path.display()))
}

fn restore(device: &OwnedFd, path: &Path) -> Result<(), Failure> {
    let Some((file, found)) = read(path)? else {
        return Err(Failure::input(format!("{}: no file", path.display())));
    };
    let judged = match found.is_private {
        true => file.judge(&found.place, &boot()),
        false => Err(Uncredited::Exposed),
    };
    let (credit_bits, remark) = match judged {
        Ok(bits) => (bits, String::new()),
        Err(reason) => (0, format!(", because {reason}")),
    };
    // From here on the old seed is worth nothing, even if the power fails before the module has it.
    let mut fresh = Zeroizing::new([0; 32]);
    getrandom(&mut fresh[..], GetRandomFlags::INSECURE).map_err(Failure::work)?;
    replace(path, SeedFile::successor(Some(&file), &[*fresh], 0))?;
    let seed = file.seed();
    let mut nodes = 0;
    for node in 0.. {
        let mut hash = Sha256::new_with_prefix(b"wellspring kernel node");
        hash.update(u64::from(node).to_le_bytes());
        hash.update(&seed[..]);
        let seed = Seed {
            node,
            credit_bits,
            bytes: hash.finalize().into(),
        };
        match ioctl::restore(device, seed) {
            Ok(()) => nodes += 1,
            Err(Errno::NODATA) => {}
            Err(Errno::NXIO) => break,
            Err(error) => return Err(fault(Path::new(DEVICE), error)),
        }
    }
    let saved = match save(device, path, Some(&file)) {
        Ok(_) => "",
        Err(_) => "; the module has no seed to save yet",
    };
    let name = path.display();
    print(&format!(
        "{name}: {nodes} nodes restored, {credit_bits} bits credited{remark}{saved}\n"
    ))
}

/// Writes fresh output of every node, and returns their number.
fn save(device: &OwnedFd, path: &Path, old: Option<&SeedFile>) -> Result<usize, Failure> {
    let mut fresh = Zeroizing::new(Vec::new());
    for node in 0.. {
        let mut seed = Seed {
            node,
            credit_bits: 0,
            bytes: [0; 32],
        };
        match ioctl::save(device, &mut seed) {
            Ok(()) => fresh.push(seed.bytes),
            // A number without a generator has nothing to carry.
            Err(Errno::NODATA) => {}
            Err(Errno::NXIO) => break,
            Err(Errno::AGAIN) => return Err(fault(Path::new(DEVICE), "is not seeded yet")),
            Err(error) => return Err(fault(Path::new(DEVICE), error)),
        }
    }
    replace(path, SeedFile::successor(old, &fresh, FULL_CREDIT_BITS))?;
    Ok(fresh.len())
}

/// Where a seed file was found.
struct Found {
    place: Place,
    /// Nobody but its owner, who is us, can read or write it.
    is_private: bool,
}

/// The file, and where it lies; `None` if there is none.
fn read(path: &Path) -> Result<Option<(SeedFile, Found)>, Failure> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = match fs::open(path, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(fault(path, error)),
    };
    let status = fs::fstat(&file).map_err(|error| fault(path, error))?;
    let found = Found {
        place: place(&file).map_err(|error| fault(path, error))?,
        is_private: status.st_mode & 0o077 == 0
            && status.st_uid == rustix::process::geteuid().as_raw(),
    };
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_BYTES + 1));
    let file = std::fs::File::from(file);
    let read = file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| fault(path, error))?;
    let parsed = SeedFile::parse(&bytes).map_err(|damage| fault(path, damage))?;
    Ok(Some((parsed, found)))
}

/// Puts a seed in the place of what is there, at once or not at all, and on the disk before this returns.
fn replace(path: &Path, mut seed: SeedFile) -> Result<(), Failure> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new = PathBuf::from(name);
    let mut write = || {
        // Left behind by a save that was interrupted; nobody reads it.
        match fs::unlink(&new) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = fs::open(&new, flags, Mode::RUSR | Mode::WUSR)?;
        (seed.place, seed.boot) = (place(&file)?, boot());
        std::fs::File::from(file.try_clone()?).write_all(&seed.to_bytes())?;
        fs::fsync(&file)?;
        fs::rename(&new, path)?;
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let folder = fs::openat(
            CWD,
            folder.unwrap_or(Path::new(".")),
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        fs::fsync(folder)?;
        Ok::<(), std::io::Error>(())
    };
    write().map_err(|error| fault(path, error))
}

/// What tells a file from its copies: the machine and the file's number. A copy gets a number of its own.
fn place(file: impl AsFd) -> Result<Place, Errno> {
    let machine = std::fs::read("/etc/machine-id").unwrap_or_default();
    if machine.trim_ascii().is_empty() {
        return Ok(UNPLACED);
    }
    let mut hash = Sha256::new_with_prefix(b"wellspring kernel seed place");
    hash.update(fs::fstat(file)?.st_ino.to_le_bytes());
    hash.update(&machine);
    Ok(hash.finalize().into())
}

/// Which boot this is; zeros if the kernel does not say.
fn boot() -> Boot {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits = text.trim().replace('-', "");
    u128::from_str_radix(&digits, 16).map_or(Boot::default(), u128::to_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn folder(name: &str) -> PathBuf {
        let name = format!("wellspring-kernel-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).unwrap();
        folder
    }

    #[test]
    fn a_file_is_replaced_for_its_owner_alone_and_a_copy_is_told_from_it() {
        let folder = folder("replace");
        let path = folder.join("seed");
        assert!(read(&path).unwrap().is_none());
        let first = SeedFile::successor(None, &[[1; 32], [2; 32]], FULL_CREDIT_BITS);
        replace(&path, first).unwrap();
        let (first, found) = read(&path).unwrap().unwrap();
        assert!(found.is_private);
        assert_eq!((first.sections(), first.counter), (2, 1));
        assert_eq!(first.place, found.place);
        assert_eq!(first.boot, boot());
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);

        let copy = folder.join("copy");
        std::fs::copy(&path, &copy).unwrap();
        let (copied, elsewhere) = read(&copy).unwrap().unwrap();
        assert!(copied.judge(&elsewhere.place, &[9; 16]).is_err());

        replace(&path, SeedFile::successor(Some(&first), &[[3; 32]], 0)).unwrap();
        let (second, _) = read(&path).unwrap().unwrap();
        assert_eq!((second.counter, second.claimed_bits()), (2, 0));
        assert_ne!(second.seed()[..], first.seed()[..]);
        assert!(!folder.join("seed.new").exists());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_others_can_read_or_no_seed_file_is_noticed() {
        let folder = folder("damage");
        let path = folder.join("seed");
        let file = SeedFile::successor(None, &[[1; 32]], FULL_CREDIT_BITS);
        replace(&path, file).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(!read(&path).unwrap().unwrap().1.is_private);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[80] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        assert!(read(&path).is_err());
        std::os::unix::fs::symlink(&path, folder.join("link")).unwrap();
        assert!(read(&folder.join("link")).is_err());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
