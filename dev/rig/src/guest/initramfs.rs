//! The guest's files, as a cpio archive: the form "newc", which the kernel unpacks by itself
//! (Documentation/driver-api/early-userspace/buffer-format.rst).

use super::outcome::{Result, at};
use std::fs;
use std::path::Path;

const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_777;

/// An archive, entry by entry.
#[derive(Clone)]
pub(crate) struct Initramfs {
    archive: Vec<u8>,
    entries: u32,
}

impl Initramfs {
    /// An archive without files.
    pub(crate) fn new() -> Self {
        Self {
            archive: Vec::new(),
            entries: 0,
        }
    }

    /// A folder. Its parent comes first.
    pub(crate) fn folder(&mut self, path: &str) {
        self.entry(path, FOLDER, b"");
    }

    /// A file, which may be run.
    pub(crate) fn program(&mut self, path: &str, bytes: &[u8]) {
        self.entry(path, PROGRAM, bytes);
    }

    /// A symbolic link.
    pub(crate) fn link(&mut self, path: &str, target: &str) {
        self.entry(path, LINK, target.as_bytes());
    }

    /// A file of this machine, under another name.
    pub(crate) fn copy(&mut self, path: &str, from: &Path) -> Result {
        let bytes = fs::read(from).map_err(at(from.display()))?;
        self.program(path, &bytes);
        Ok(())
    }

    /// The archive, ended as it should.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, b"");
        self.archive
    }

    fn entry(&mut self, path: &str, mode: u32, bytes: &[u8]) {
        self.entries += 1;
        let length =
            |bytes: usize| u32::try_from(bytes).expect("a file of the guest is below 4 GiB");
        // Inode, mode, owner and group, links, time, size, device and device file, the name's length, a sum.
        let fields = [
            self.entries,
            mode,
            0,
            0,
            1,
            0,
            length(bytes.len()),
            0,
            0,
            0,
            0,
            length(path.len() + 1),
            0,
        ];
        self.archive.extend(b"070701");
        for field in fields {
            self.archive.extend(format!("{field:08X}").as_bytes());
        }
        self.archive.extend(path.as_bytes());
        self.archive.push(0);
        self.align();
        self.archive.extend(bytes);
        self.align();
    }

    /// Names and contents begin and end at multiples of 4 bytes.
    fn align(&mut self) {
        let length = self.archive.len().next_multiple_of(4);
        self.archive.resize(length, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_the_fields_of_the_format_and_ends_at_a_multiple_of_four() {
        let mut initramfs = Initramfs::new();
        initramfs.program("init", b"12345");
        let archive = initramfs.finish();
        let head = "070701 00000001 000081ED 00000000 00000000 00000001 00000000 00000005 00000000 00000000 \
                    00000000 00000000 00000005 00000000";
        let head: String = head.split_whitespace().collect();
        let entry = [head.as_bytes(), b"init\0\0", b"12345\0\0\0"].concat();
        assert_eq!(archive[..entry.len()], entry[..]);
        assert_eq!(&archive[entry.len()..][..6], b"070701");
        assert_eq!(archive.len() % 4, 0);
        assert!(
            archive.ends_with(b"TRAILER!!!\0\0\0\0"),
            "{:?}",
            archive.last_chunk::<16>()
        );
    }
}
