//! The content of a seed file: secrets that outlive a boot, one section for each node.
//!
//! Files, clocks and machines belong to the caller. All numbers are little endian:
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 8 | `wellseed` |
//! | 8 | 2 | version: 1 |
//! | 10 | 2 | n, the sections: 1 to 64 |
//! | 12 | 4 | the credit in bits: 0, or up to 256 |
//! | 16 | 8 | the counter: one more with every writing |
//! | 24 | 32 | the [identity](FileId) of the file; zeros if copies cannot be told apart |
//! | 56 | 16 | the [boot](Boot) in which it was written |
//! | 72 | 32 n | the sections: section i comes from the generator of node i |
//! | 72 + 32 n | 32 | SHA-256 of all before it |
//!
//! A machine with another number of nodes loses nothing: an engine mixes in a hash over *all* sections, and every
//! section of the file's successor depends on all of them too. (The per-node pools once proposed for Linux saved
//! node 0 alone.)

use crate::generator::{DIGEST_BYTES, Sha256, finish_twice, for_node, sha_d256_into};
use crate::topology::MAX_NODES;
use alloc::vec::Vec;
use core::fmt;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

// The bytes of a seed file, and the file that comes after it.

const MAGIC: &[u8; 8] = b"wellseed";
const VERSION: u16 = 1;
const HEADER_BYTES: usize = 72;
const SECTION_BYTES: usize = DIGEST_BYTES;

/// The credit of a seed in bits: the size of a section.
pub const FULL_CREDIT_BITS: u32 = 8 * SECTION_BYTES as u32;

/// The longest seed file in bytes: 64 sections.
pub const MAX_BYTES: usize = HEADER_BYTES + (MAX_NODES + 1) * SECTION_BYTES;

/// The identity of a file: a hash of the machine, the file system and the file itself, which no copy shares.
pub type FileId = [u8; 32];

/// The identity of a file that cannot be distinguished from its copies.
pub const UNKNOWN_FILE: FileId = [0; 32];

/// The identity of a boot: Linux's `/proc/sys/kernel/random/boot_id`, as 16 bytes.
pub type Boot = [u8; 16];

/// A boot that has no identity.
pub const UNKNOWN_BOOT: Boot = [0; 16];

/// A seed file's content. Its secrets are on the heap, never move, and are wiped on drop.
#[derive(PartialEq, Eq)]
pub struct SeedFile {
    /// How often the file has been written.
    pub counter: u64,
    /// The file that it was written to.
    pub file_id: FileId,
    /// The boot in which it was written.
    pub boot: Boot,
    credit_bits: u32,
    sections: Vec<[u8; SECTION_BYTES]>,
}

/// The reason why bytes are not a seed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Damage {
    /// Too short, too long, or not as long as its sections.
    Length,
    /// It does not begin as a seed file does.
    Magic,
    /// Its version is unknown here.
    Version,
    /// The checksum is wrong: the file is torn, or was changed.
    Checksum,
    /// A number in it is out of range.
    Number,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Damage::Length => "truncated or too long",
            Damage::Magic => "not a seed file",
            Damage::Version => "of an unknown version",
            Damage::Checksum => "wrong checksum",
            Damage::Number => "a number in it is out of range",
        })
    }
}

impl core::error::Error for Damage {}

impl SeedFile {
    /// Reads a file's bytes. Any bytes are allowed: it never panics.
    ///
    /// # Errors
    ///
    /// The first fault found in them.
    pub fn parse(bytes: &[u8]) -> Result<Self, Damage> {
        if bytes.len() < HEADER_BYTES + 2 * SECTION_BYTES || bytes.len() > MAX_BYTES {
            // Tells a seed file that was cut, even to nothing, from a file that never was a seed file.
            let known = bytes.len().min(MAGIC.len());
            return Err(if bytes[..known] == MAGIC[..known] {
                Damage::Length
            } else {
                Damage::Magic
            });
        }
        let (content, checksum) = bytes.split_at(bytes.len() - SECTION_BYTES);
        let (header, body) = content.split_at(HEADER_BYTES);
        if header[..8] != *MAGIC {
            return Err(Damage::Magic);
        }
        if u16::from_le_bytes(field(header, 8)) != VERSION {
            return Err(Damage::Version);
        }
        let sections = usize::from(u16::from_le_bytes(field(header, 10)));
        if body.len() != sections * SECTION_BYTES {
            return Err(Damage::Length);
        }
        if Sha256::digest(content) != checksum {
            return Err(Damage::Checksum);
        }
        let credit_bits = u32::from_le_bytes(field(header, 12));
        if credit_bits > FULL_CREDIT_BITS {
            return Err(Damage::Number);
        }
        let (sections, _) = body.as_chunks::<SECTION_BYTES>();
        Ok(Self {
            counter: u64::from_le_bytes(field(header, 16)),
            file_id: field(header, 24),
            boot: field(header, 56),
            credit_bits,
            sections: sections.to_vec(),
        })
    }

    /// The file's bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        // With room for the longest file from the start: a vector that grows leaves copies behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_BYTES));
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(self.sections.len() as u16).to_le_bytes());
        bytes.extend_from_slice(&self.credit_bits.to_le_bytes());
        bytes.extend_from_slice(&self.counter.to_le_bytes());
        bytes.extend_from_slice(&self.file_id);
        bytes.extend_from_slice(&self.boot);
        bytes.extend_from_slice(self.sections.as_flattened());
        let checksum = Sha256::digest(bytes.as_slice());
        bytes.extend_from_slice(&checksum);
        bytes
    }

    /// The file to write next, from a fresh secret for each node, up to 64 of them, and from the file's content
    /// until now. One way: neither can be computed from it.
    ///
    /// `credit_bits` is the credit of the fresh secrets alone, at most 256: an old secret is never credited again.
    #[must_use]
    pub fn successor(old: Option<&Self>, fresh: &[[u8; 32]], credit_bits: u32) -> Self {
        let old_sections = old.map_or(&[][..], |old| old.sections.as_flattened());
        let count = fresh.len().min(MAX_NODES);
        let mut sections = alloc::vec![[0; SECTION_BYTES]; count];
        for (number, (section, fresh)) in sections.iter_mut().zip(fresh).enumerate() {
            let mut hash = for_node(b"wellspring seed file next", number);
            hash.update(fresh);
            hash.update(old_sections);
            finish_twice(&mut hash, section);
        }
        Self {
            counter: old.map_or(0, |old| old.counter).saturating_add(1),
            file_id: UNKNOWN_FILE,
            boot: UNKNOWN_BOOT,
            credit_bits: credit_bits.min(FULL_CREDIT_BITS),
            sections,
        }
    }

    /// Writes the seed for the first node of an engine, which initialises all others, to `seed`. It depends on every
    /// section, and shares nothing with the [`successor`](Self::successor).
    pub fn seed_into(&self, seed: &mut [u8; 32]) {
        let sections = self.sections.as_flattened();
        sha_d256_into(&[b"wellspring seed file use", sections], seed);
    }

    /// The number of sections.
    #[must_use]
    pub fn sections(&self) -> usize {
        self.sections.len()
    }

    /// The credit that its writer gave it, in bits. See [`judge`](Self::judge).
    #[must_use]
    pub const fn claimed_bits(&self) -> u32 {
        self.credit_bits
    }
}

impl Zeroize for SeedFile {
    fn zeroize(&mut self) {
        self.sections.as_flattened_mut().zeroize();
        self.credit_bits = 0;
    }
}

impl Drop for SeedFile {
    fn drop(&mut self) {
        self.zeroize();
    }
}

impl ZeroizeOnDrop for SeedFile {}

impl fmt::Debug for SeedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeedFile")
            .field("counter", &self.counter)
            .field("credit_bits", &self.credit_bits)
            .field("sections", &self.sections.len())
            .finish_non_exhaustive()
    }
}

/// `N` bytes from `offset`, which are there.
fn field<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&bytes[offset..offset + N]);
    field
}

// The credit of a file's seed, on this machine and in this boot.
//
// A seed is credited once. So it is credited only if its writer was seeded, if it was written in
// another boot, and if the file is the file that was written, not a copy.

/// The reason why a whole seed is mixed without credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Uncredited {
    /// Its writer was not seeded itself.
    Unseeded,
    /// It was written in this boot. A restart of the program needs no credit, since the generator of the operating
    /// system is seeded. And a machine restored twice from a snapshot would credit the seed twice.
    SameBoot,
    /// It has another identity than it was written under: the file was copied, or the machine was.
    Elsewhere,
    /// The file or the boot has no identity: a copy cannot be distinguished from its original, or one boot from
    /// another.
    Unplaced,
    /// Other users could read or replace it.
    Exposed,
    /// It could not be replaced, so the next start finds the same seed again.
    NotReplaced,
}

impl fmt::Display for Uncredited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Uncredited::Unseeded => "its writer was not seeded",
            Uncredited::SameBoot => "written in this boot",
            Uncredited::Elsewhere => "a copy, or from another machine",
            Uncredited::Unplaced => "its file or this boot has no identity",
            Uncredited::Exposed => "other users could read or replace it",
            Uncredited::NotReplaced => "it could not be replaced",
        })
    }
}

impl SeedFile {
    /// The credit of the seed, in bits: `file` is the file that it was read from, `boot` this boot.
    ///
    /// | what happened | written in | its identity | credit |
    /// |---|---|---|---|
    /// | a reboot, a crash, a loss of power | another boot | the same | its credit |
    /// | the writer had no seed | | | none |
    /// | a restart; a snapshot restored, once or twice | this boot | | none |
    /// | `cp`, `tar`, `rsync`, a backup put back | another boot | another file | none |
    /// | a disk image, cloned | another boot | another machine | none |
    /// | a container's layer | another boot | unknown | none |
    /// | a machine without an identity | another boot | unknown | none |
    ///
    /// No identity shows one case: a disk that is put back to an earlier state under the same machine.
    ///
    /// # Errors
    ///
    /// The reason why it gets no credit.
    pub fn judge(&self, file: &FileId, boot: &Boot) -> Result<u32, Uncredited> {
        if self.claimed_bits() == 0 {
            Err(Uncredited::Unseeded)
        } else if [*boot, self.boot].contains(&UNKNOWN_BOOT) {
            Err(Uncredited::Unplaced)
        } else if self.boot == *boot {
            Err(Uncredited::SameBoot)
        } else if [*file, self.file_id].contains(&UNKNOWN_FILE) {
            Err(Uncredited::Unplaced)
        } else if self.file_id != *file {
            Err(Uncredited::Elsewhere)
        } else {
            Ok(self.claimed_bits())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HERE: FileId = [7; 32];
    const BEFORE: Boot = [9; 16];

    fn file(sections: usize) -> SeedFile {
        let fresh: Vec<[u8; 32]> = (0..sections).map(|i| [i as u8; 32]).collect();
        let mut file = SeedFile::successor(None, &fresh, 256);
        (file.file_id, file.boot) = (HERE, BEFORE);
        file
    }

    fn seed(file: &SeedFile) -> [u8; 32] {
        let mut seed = [0; 32];
        file.seed_into(&mut seed);
        seed
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        for sections in [1, 2, 5, MAX_NODES] {
            let file = file(sections);
            let bytes = file.to_bytes();
            assert!(bytes.len() <= MAX_BYTES);
            assert_eq!(SeedFile::parse(&bytes), Ok(file));
        }
    }

    #[test]
    fn a_file_that_was_cut_anywhere_is_damaged() {
        let bytes = file(4).to_bytes();
        for length in 0..bytes.len() {
            assert_eq!(SeedFile::parse(&bytes[..length]), Err(Damage::Length));
        }
        let longer = [bytes.as_slice(), &[0]].concat();
        assert_eq!(SeedFile::parse(&longer), Err(Damage::Length));
    }

    #[test]
    fn a_file_with_any_bit_flipped_is_damaged() {
        let bytes = file(2).to_bytes();
        for bit in 0..8 * bytes.len() {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(SeedFile::parse(&flipped).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn numbers_that_cannot_be_are_refused_under_a_right_checksum() {
        let with = |offset: usize, value: &[u8]| {
            let mut bytes = file(1).to_bytes();
            bytes[offset..offset + value.len()].copy_from_slice(value);
            let end = bytes.len() - 32;
            let checksum = Sha256::digest(&bytes[..end]);
            bytes[end..].copy_from_slice(&checksum);
            SeedFile::parse(&bytes).err()
        };
        assert_eq!(with(0, b"wellseed"), None);
        assert_eq!(with(0, b"x"), Some(Damage::Magic));
        assert_eq!(with(8, &[2]), Some(Damage::Version));
        assert_eq!(with(10, &[0]), Some(Damage::Length));
        assert_eq!(with(10, &[2]), Some(Damage::Length));
        assert_eq!(with(12, &[1, 1]), Some(Damage::Number));
    }

    #[test]
    fn every_node_of_the_old_machine_has_a_part_in_every_node_of_the_new() {
        let old = file(4);
        for changed in 0..4 {
            let mut other = file(4);
            other.sections[changed][31] ^= 1;
            assert_ne!(seed(&old), seed(&other));
            for nodes in [1, 2, 4, 7] {
                let fresh = alloc::vec![[0; 32]; nodes];
                let [next, other] =
                    [&old, &other].map(|old| SeedFile::successor(Some(old), &fresh, 0));
                let differ = |(a, b): (&[u8; 32], &[u8; 32])| a != b;
                assert!(next.sections.iter().zip(&other.sections).all(differ));
            }
        }
    }

    #[test]
    fn no_two_sections_are_equal_and_none_is_the_seed() {
        let old = file(3);
        let next = SeedFile::successor(Some(&old), &[[1; 32]; 5], 256);
        let mut all: Vec<[u8; 32]> = [&old, &next]
            .iter()
            .flat_map(|file| file.sections.clone())
            .collect();
        all.extend([seed(&old), seed(&next)]);
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        assert_eq!((next.counter, next.sections()), (old.counter + 1, 5));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parser_panic(bytes in proptest::collection::vec(any::<u8>(), 0..3000)) {
            let _ = SeedFile::parse(&bytes);
            let begun = [&MAGIC[..], &bytes].concat();
            let _ = SeedFile::parse(&begun);
        }
    }

    const NOW: Boot = [8; 16];

    fn credited_file(credit_bits: u32) -> SeedFile {
        let mut file = SeedFile::successor(None, &[[1; 32]], credit_bits);
        (file.file_id, file.boot) = (HERE, BEFORE);
        file
    }

    #[test]
    fn a_seed_is_credited_in_another_boot_in_its_own_file_and_nowhere_else() {
        let mut file = credited_file(256);
        assert_eq!(file.judge(&HERE, &NOW), Ok(256));
        assert_eq!(file.judge(&HERE, &BEFORE), Err(Uncredited::SameBoot));
        assert_eq!(file.judge(&[6; 32], &NOW), Err(Uncredited::Elsewhere));
        assert_eq!(file.judge(&UNKNOWN_FILE, &NOW), Err(Uncredited::Unplaced));
        assert_eq!(file.judge(&HERE, &UNKNOWN_BOOT), Err(Uncredited::Unplaced));
        file.file_id = UNKNOWN_FILE;
        assert_eq!(file.judge(&UNKNOWN_FILE, &NOW), Err(Uncredited::Unplaced));
        assert_eq!(
            credited_file(0).judge(&HERE, &NOW),
            Err(Uncredited::Unseeded)
        );
    }
}
