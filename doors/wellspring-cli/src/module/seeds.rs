//! `kernel save FILE`, `kernel restore FILE`: the module's nodes over a reboot.

use super::ioctl::{self, Seed};
use super::open::{DEVICE, open_device};
use crate::failure::Failure;
use crate::output::Output;
use clap::{Args, Subcommand};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs;
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest, Sha256};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use wellspring_core::seed_file::{
    Boot, FULL_CREDIT_BITS, FileId, MAX_BYTES, SeedFile, UNKNOWN_FILE, Uncredited,
};
use wellspring_sys::trusted_file::{Access, Directory, FileFault};
use zeroize::Zeroizing;

/// Carry the kernel module's seeds over a reboot
///
/// The file has a section for each node of the module, is for its owner alone, and is replaced in one step. It needs
/// CAP_SYS_ADMIN. Exit status 3: the module is not loaded.
#[derive(Args)]
#[command(
    arg_required_else_help = false,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  wellspring kernel save /var/lib/wellspring/kernel-seed       at shutdown, and now and then
  wellspring kernel restore /var/lib/wellspring/kernel-seed    at boot"
)]
pub(crate) struct KernelRequest {
    #[command(subcommand)]
    action: Action,
}

/// The operation on the file.
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
    let judged = if found.is_private {
        file.judge(&found.file_id, &boot())
    } else {
        Err(Uncredited::Exposed)
    };
    let (credit_bits, remark) = match judged {
        Ok(bits) => (bits, String::new()),
        Err(reason) => (0, format!(", because {reason}")),
    };
    // From here on the old seed gets no credit, even if the power fails before the module has it.
    let mut fresh = Zeroizing::new([0; 32]);
    getrandom(&mut fresh[..], GetRandomFlags::INSECURE).map_err(Failure::work)?;
    replace(path, SeedFile::successor(Some(&file), &[*fresh], 0))?;
    let mut seed = Zeroizing::new([0; 32]);
    file.seed_into(&mut seed);
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
    file_id: FileId,
    /// Only this user can read or write it.
    is_private: bool,
}

/// The file, and its identity and mode; `None` if there is none.
fn read(path: &Path) -> Result<Option<(SeedFile, Found)>, Failure> {
    let open = || {
        let (directory, name) = Directory::of(path)?;
        directory.open_file(name, Access::Read)
    };
    let file = match open() {
        Err(FileFault::System(error)) if error.is_not_found() => return Ok(None),
        file => file.map_err(|error| fault(path, error))?,
    };
    let found = Found {
        file_id: file_id(&file).map_err(|error| fault(path, error))?,
        is_private: file.is_secret(),
    };
    let mut bytes = Zeroizing::new(vec![0; MAX_BYTES + 1]);
    let length = file.read(&mut bytes).map_err(|error| fault(path, error))?;
    let parsed = SeedFile::parse(&bytes[..length]).map_err(|damage| fault(path, damage))?;
    Ok(Some((parsed, found)))
}

/// Replaces the file in one step, and puts it on the disk before this returns.
fn replace(path: &Path, mut seed: SeedFile) -> Result<(), Failure> {
    let mut write = || {
        let (directory, name) = Directory::of(path)?;
        let mut next = directory.begin_next(name)?;
        (seed.file_id, seed.boot) = (file_id(&next)?, boot());
        next.write(&seed.to_bytes())?;
        next.replace(0o600)
    };
    write().map_err(|error: FileFault| fault(path, error))
}

/// The identity of a file: the machine and the file's number. A copy of the file has another number.
fn file_id(file: impl AsFd) -> Result<FileId, Errno> {
    let machine = std::fs::read("/etc/machine-id").unwrap_or_default();
    if machine.trim_ascii().is_empty() {
        return Ok(UNKNOWN_FILE);
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
        assert_eq!(first.file_id, found.file_id);
        assert_eq!(first.boot, boot());
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);

        let copy = folder.join("copy");
        std::fs::copy(&path, &copy).unwrap();
        let (copied, elsewhere) = read(&copy).unwrap().unwrap();
        assert!(copied.judge(&elsewhere.file_id, &[9; 16]).is_err());

        replace(&path, SeedFile::successor(Some(&first), &[[3; 32]], 0)).unwrap();
        let (second, _) = read(&path).unwrap().unwrap();
        assert_eq!((second.counter, second.claimed_bits()), (2, 0));
        let seed = |file: &SeedFile| {
            let mut seed = [0; 32];
            file.seed_into(&mut seed);
            seed
        };
        assert_ne!(seed(&second), seed(&first));
        assert!(!folder.join(".seed.next").exists());
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
