//! What a seed file says: secrets that outlive a boot, one section for each node.
//!
//! Only the format and the rules are here; files, clocks and machines belong to whoever calls. All numbers are
//! little endian:
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 8 | `wellseed` |
//! | 8 | 2 | version: 1 |
//! | 10 | 2 | n, the sections: 1 to 64 |
//! | 12 | 4 | the credit in bits: 0, or up to 256 |
//! | 16 | 8 | the counter: one more with every writing |
//! | 24 | 32 | the place: a hash of the machine and of the file itself; zeros if copies cannot be told apart |
//! | 56 | 16 | the boot in which it was written |
//! | 72 | 32 n | the sections: section i comes from the generator of node i |
//! | 72 + 32 n | 32 | SHA-256 of all before it |
//!
//! A machine with another number of nodes loses nothing: what is mixed into an engine is a hash over *all* sections,
//! and so is every section of the file's successor. (The per-node pools once proposed for Linux saved node 0 alone.)
//!
//! # Credit
//!
//! A seed is worth its credit once. So it is credited only where its writer was seeded, where it was written in
//! another boot, and where it lies in the very place it was written to: see [`SeedFile::judge`].

use crate::hash::{DIGEST_BYTES, sha_d256};
use crate::topology::MAX_NODES;
use alloc::vec::Vec;
use core::fmt;
use sha2::{Digest, Sha256};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

const MAGIC: &[u8; 8] = b"wellseed";
const VERSION: u16 = 1;
const HEADER_BYTES: usize = 72;
const SECTION_BYTES: usize = DIGEST_BYTES;

/// The credit of a seed in bits: that of a section.
pub const FULL_CREDIT_BITS: u32 = 8 * SECTION_BYTES as u32;

/// The longest seed file in bytes: 64 sections.
pub const MAX_BYTES: usize = HEADER_BYTES + (MAX_NODES + 1) * SECTION_BYTES;

/// A hash of what tells a place from its copies: the machine, the file system, the file. Zeros: nothing does.
pub type Place = [u8; 32];

/// The place of which copies cannot be told apart.
pub const UNPLACED: Place = [0; 32];

/// The identity of a boot: Linux's `/proc/sys/kernel/random/boot_id`, as 16 bytes. Zeros: unknown.
pub type Boot = [u8; 16];

/// A seed file's content. Erased on drop.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct SeedFile {
    /// How often the file has been written.
    pub counter: u64,
    /// Where it was written.
    pub place: Place,
    /// The boot in which it was written.
    pub boot: Boot,
    credit_bits: u32,
    sections: Vec<[u8; SECTION_BYTES]>,
}

/// Why bytes are no seed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Damage {
    /// Too short, too long, or not as long as its sections.
    Length,
    /// It does not begin as a seed file does.
    Magic,
    /// Of a version that is not known here.
    Version,
    /// The checksum does not fit: torn, or changed.
    Checksum,
    /// A number in it cannot be.
    Number,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Damage::Length => "truncated or too long",
            Damage::Magic => "not a seed file",
            Damage::Version => "of an unknown version",
            Damage::Checksum => "the checksum does not fit",
            Damage::Number => "a number in it cannot be",
        })
    }
}

impl core::error::Error for Damage {}

/// Why a whole seed is mixed without credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Uncredited {
    /// Its writer was not seeded itself.
    Unseeded,
    /// It was written in this very boot. A restart needs no credit: the system's generator, which credited
    /// the first, is there. And a machine restored twice from a snapshot would credit it twice.
    SameBoot,
    /// Written elsewhere: the file was copied, or the machine was.
    Elsewhere,
    /// Nothing here tells a copy from its original, or one boot from another.
    Unplaced,
    /// Others could read or replace it.
    Exposed,
    /// It could not be replaced, so the same seed will be found once more.
    NotReplaced,
}

impl fmt::Display for Uncredited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Uncredited::Unseeded => "its writer was not seeded",
            Uncredited::SameBoot => "written in this boot",
            Uncredited::Elsewhere => "a copy, or of another machine",
            Uncredited::Unplaced => "nothing tells it from a copy",
            Uncredited::Exposed => "others could read or replace it",
            Uncredited::NotReplaced => "it could not be replaced",
        })
    }
}

impl SeedFile {
    /// Reads a file's bytes. Never panics, whatever they are.
    ///
    /// # Errors
    ///
    /// What is wrong with them, the first of it.
    pub fn parse(bytes: &[u8]) -> Result<Self, Damage> {
        if bytes.len() < HEADER_BYTES + 2 * SECTION_BYTES || bytes.len() > MAX_BYTES {
            // An empty or cut file is told from something else entirely, as far as it goes.
            let known = bytes.len().min(MAGIC.len());
            return Err(match bytes[..known] == MAGIC[..known] {
                true => Damage::Length,
                false => Damage::Magic,
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
        if Sha256::digest(content).as_slice() != checksum {
            return Err(Damage::Checksum);
        }
        let credit_bits = u32::from_le_bytes(field(header, 12));
        if credit_bits > FULL_CREDIT_BITS {
            return Err(Damage::Number);
        }
        let sections = body.chunks_exact(SECTION_BYTES);
        Ok(Self {
            counter: u64::from_le_bytes(field(header, 16)),
            place: field(header, 24),
            boot: field(header, 56),
            credit_bits,
            sections: sections.map(|section| field(section, 0)).collect(),
        })
    }

    /// The file's bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        // Room for all of it at once: a vector that grows leaves copies behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_BYTES));
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(self.sections.len() as u16).to_le_bytes());
        bytes.extend_from_slice(&self.credit_bits.to_le_bytes());
        bytes.extend_from_slice(&self.counter.to_le_bytes());
        bytes.extend_from_slice(&self.place);
        bytes.extend_from_slice(&self.boot);
        for section in &self.sections {
            bytes.extend_from_slice(section);
        }
        let checksum = Sha256::digest(bytes.as_slice());
        bytes.extend_from_slice(&checksum);
        bytes
    }

    /// The file to write next, from a fresh secret for each node, up to 64 of them, and from what the file held
    /// until now. One way: it tells nothing of either.
    ///
    /// `credit_bits` is what the fresh secrets alone are worth, at most 256: what is old is never counted again.
    #[must_use]
    pub fn successor(old: Option<&Self>, fresh: &[[u8; 32]], credit_bits: u32) -> Self {
        let old_sections = old.map_or(&[][..], |old| old.sections.as_flattened());
        let section = |(number, fresh): (usize, &[u8; 32])| {
            let number = (number as u64).to_le_bytes();
            sha_d256(&[b"wellspring seed file next", &number, fresh, old_sections])
        };
        let fresh = fresh.iter().take(MAX_NODES).enumerate();
        Self {
            counter: old.map_or(0, |old| old.counter).saturating_add(1),
            place: UNPLACED,
            boot: Boot::default(),
            credit_bits: credit_bits.min(FULL_CREDIT_BITS),
            sections: fresh.map(section).collect(),
        }
    }

    /// What is mixed into the first node of an engine, from which all others are initialised: every section has
    /// a part in it. It shares nothing with the [`successor`](Self::successor).
    #[must_use]
    pub fn seed(&self) -> Zeroizing<[u8; 32]> {
        let sections = self.sections.as_flattened();
        Zeroizing::new(sha_d256(&[b"wellspring seed file use", sections]))
    }

    /// The number of sections.
    #[must_use]
    pub fn sections(&self) -> usize {
        self.sections.len()
    }

    /// What its writer says it is worth, in bits. See [`judge`](Self::judge).
    #[must_use]
    pub const fn claimed_bits(&self) -> u32 {
        self.credit_bits
    }

    /// What the seed is worth here and now, in bits.
    ///
    /// | what happened | written in | its place | worth |
    /// |---|---|---|---|
    /// | a reboot, a crash, a loss of power | another boot | here | its credit |
    /// | the writer had no seed | | | nothing |
    /// | a restart; a snapshot restored, once or twice | this boot | | nothing |
    /// | `cp`, `tar`, `rsync`, a backup put back | another boot | another file | nothing |
    /// | a disk image, cloned | another boot | another machine | nothing |
    /// | a container's layer | another boot | none, said by the caller | nothing |
    /// | a machine without an identity | another boot | none | nothing |
    ///
    /// What no place can tell: a disk that is put back to an earlier state underneath the same machine.
    ///
    /// # Errors
    ///
    /// Why it is worth nothing.
    pub fn judge(&self, here: &Place, now: &Boot) -> Result<u32, Uncredited> {
        if self.credit_bits == 0 {
            Err(Uncredited::Unseeded)
        } else if [*now, self.boot].contains(&Boot::default()) {
            Err(Uncredited::Unplaced)
        } else if self.boot == *now {
            Err(Uncredited::SameBoot)
        } else if [*here, self.place].contains(&UNPLACED) {
            Err(Uncredited::Unplaced)
        } else if self.place != *here {
            Err(Uncredited::Elsewhere)
        } else {
            Ok(self.credit_bits)
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HERE: Place = [7; 32];
    const NOW: Boot = [8; 16];
    const BEFORE: Boot = [9; 16];

    fn file(sections: usize) -> SeedFile {
        let fresh: Vec<[u8; 32]> = (0..sections).map(|i| [i as u8; 32]).collect();
        let mut file = SeedFile::successor(None, &fresh, 256);
        (file.place, file.boot) = (HERE, BEFORE);
        file
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
            let mut other = old.clone();
            other.sections[changed][31] ^= 1;
            assert_ne!(*old.seed(), *other.seed());
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
        all.extend([*old.seed(), *next.seed()]);
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        assert_eq!((next.counter, next.sections()), (old.counter + 1, 5));
    }

    #[test]
    fn a_seed_is_credited_in_another_boot_in_its_own_place_and_nowhere_else() {
        let file = file(1);
        assert_eq!(file.judge(&HERE, &NOW), Ok(256));
        assert_eq!(file.judge(&HERE, &BEFORE), Err(Uncredited::SameBoot));
        assert_eq!(file.judge(&[6; 32], &NOW), Err(Uncredited::Elsewhere));
        assert_eq!(file.judge(&UNPLACED, &NOW), Err(Uncredited::Unplaced));
        assert_eq!(file.judge(&HERE, &[0; 16]), Err(Uncredited::Unplaced));
        let mut unplaced = file.clone();
        unplaced.place = UNPLACED;
        assert_eq!(unplaced.judge(&UNPLACED, &NOW), Err(Uncredited::Unplaced));
        let mut unseeded = file.clone();
        unseeded.credit_bits = 0;
        assert_eq!(unseeded.judge(&HERE, &NOW), Err(Uncredited::Unseeded));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parser_panic(bytes in proptest::collection::vec(any::<u8>(), 0..3000)) {
            let _ = SeedFile::parse(&bytes);
            let begun = [&MAGIC[..], &bytes].concat();
            let _ = SeedFile::parse(&begun);
        }
    }
}
