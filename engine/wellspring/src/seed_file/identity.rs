//! The identity of a seed file, which its copies do not have: the machine, the boot, the file system, the file.

#[cfg(target_os = "linux")]
use rustix::fs::{AtFlags, StatxFlags, fstatfs, fstatvfs, statx};
use wellspring_core::seed_file::{Boot, FileId, UNKNOWN_FILE};
use wellspring_core::sha256::{DIGEST_BYTES, Sha256};
use wellspring_os::descriptor::BorrowedFd;
use wellspring_os::os::read_file;

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
    pub(super) boot: Boot,
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
    pub(super) fn file_id(&self, file: BorrowedFd<'_>) -> FileId {
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
