//! The files by name and number.

use crate::doors::Door;
use fuser::{FileAttr, FileType, INodeNo};
use std::ffi::OsStr;
use std::time::SystemTime;

/// The folder of the mount, or a file in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Root,
    File(Door),
}

/// The files, in the order of their numbers, which begin behind that of the folder.
pub(super) const FILES: [Door; 3] = [Door::Random, Door::Urandom, Door::Pseudo];

/// The best size of a read that stat(2) reports. Programs that buffer their input, such as Python, read this much even
/// for one byte. /dev/urandom reports the same.
const BLOCK_BYTES: u32 = 4096;

/// The size that stat(2) reports. Reads beyond it succeed. `openssl -rand FILE` stops after this many bytes; with a
/// size of 0 it would never stop.
const SIZE_BYTES: u64 = 4096;

/// The blocks of 512 bytes that stat(2) reports: all of the size. `cp` takes a file with fewer for one with holes, and
/// copies 4096 bytes of it.
const BLOCKS: u64 = SIZE_BYTES / 512;

impl Node {
    pub(super) fn of(number: INodeNo) -> Option<Self> {
        match number.0 {
            1 => Some(Self::Root),
            number => {
                let place = usize::try_from(number.checked_sub(2)?).ok()?;
                FILES.get(place).copied().map(Self::File)
            }
        }
    }

    pub(super) fn named(name: &OsStr) -> Option<Self> {
        let found = FILES.into_iter().find(|door| name == door.name());
        found.map(Self::File)
    }

    pub(super) fn number(self) -> INodeNo {
        let place = |door| FILES.iter().position(|file| *file == door);
        match self {
            Self::Root => INodeNo(1),
            Self::File(door) => INodeNo(2 + place(door).unwrap_or_default() as u64),
        }
    }

    pub(super) fn attributes(self) -> FileAttr {
        let (kind, perm, nlink, size, blocks) = match self {
            Self::Root => (FileType::Directory, 0o755, 2, 0, 0),
            Self::File(_) => (FileType::RegularFile, 0o666, 1, SIZE_BYTES, BLOCKS),
        };
        let time = SystemTime::UNIX_EPOCH;
        FileAttr {
            ino: self.number(),
            size,
            blocks,
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind,
            perm,
            nlink,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: BLOCK_BYTES,
            flags: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_is_found_by_its_number_and_its_name() {
        for node in [Node::Root].into_iter().chain(FILES.map(Node::File)) {
            assert_eq!(Node::of(node.number()), Some(node));
        }
        for door in FILES {
            assert_eq!(Node::named(OsStr::new(door.name())), Some(Node::File(door)));
        }
        assert_eq!(Node::of(INodeNo(0)), None);
        assert_eq!(Node::of(INodeNo(5)), None);
        assert_eq!(Node::named(OsStr::new("egd")), None);
    }
}
