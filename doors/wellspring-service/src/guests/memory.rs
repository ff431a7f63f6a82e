//! The parts of a guest's memory that the other end gives to map.

use super::sigbus::Regions;
use rustix::fs::{FileType, fstat, fstatfs};
use std::fs::File;
use std::io;
use std::sync::Arc;
use vm_memory::{
    FileOffset, GuestAddress, GuestMemoryBackend, GuestMemoryMmap, GuestMemoryRegion,
    GuestRegionMmap, MmapRegion,
};

/// The most regions of one guest: what QEMU assumes where a device does not say.
pub const MAX_REGIONS: usize = 32;

/// The most memory of one guest: 1 TiB. The addresses of a process, 128 TiB, last for 64 such guests.
pub const MAX_GUEST_BYTES: u64 = 1 << 40;

/// Where a region is.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The address that the guest uses.
    pub guest: u64,
    /// The address that the other end uses.
    pub user: u64,
    /// The length in bytes.
    pub bytes: u64,
    /// Where it begins in its file.
    pub offset: u64,
}

/// The memory of one guest.
#[derive(Debug, Default)]
pub struct Memory {
    mapped: GuestMemoryMmap,
    places: Vec<Place>,
    regions: Regions,
}

impl Memory {
    /// The memory as the rings and requests use it. Use it inside [`guard`](Self::guard).
    #[must_use]
    pub fn mapped(&self) -> &GuestMemoryMmap {
        &self.mapped
    }

    /// Does `work` on the memory. Returns `None` if the other end has cut some of it off.
    pub fn guard<T>(&self, work: impl FnOnce(&GuestMemoryMmap) -> T) -> Option<T> {
        self.regions.guard(|| work(&self.mapped))
    }

    /// Adds a region.
    ///
    /// # Errors
    ///
    /// It cannot be mapped, overlaps another one, or is beyond a limit.
    pub fn add(&mut self, place: Place, file: File) -> io::Result<()> {
        let total: u64 = self.places.iter().map(|place| place.bytes).sum();
        let is_too_much = place.bytes > MAX_GUEST_BYTES - total.min(MAX_GUEST_BYTES);
        if self.places.len() == MAX_REGIONS || is_too_much {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        let region = Arc::new(map(place, file)?);
        let mapped = self.mapped.insert_region(region);
        self.mapped = mapped.map_err(io::Error::other)?;
        self.places.push(place);
        self.note_regions();
        Ok(())
    }

    /// Removes a region. Returns whether there was one.
    pub fn remove(&mut self, guest: u64, bytes: u64) -> bool {
        let Ok((mapped, _)) = self.mapped.remove_region(GuestAddress(guest), bytes) else {
            return false;
        };
        self.mapped = mapped;
        self.places.retain(|place| place.guest != guest);
        self.note_regions();
        true
    }

    /// The guest's address for an address of the other end.
    #[must_use]
    pub fn translate(&self, user: u64) -> Option<GuestAddress> {
        self.places.iter().find_map(|place| {
            let offset = user.checked_sub(place.user)?;
            let is_inside = offset < place.bytes;
            is_inside.then(|| GuestAddress(place.guest + offset))
        })
    }

    fn note_regions(&mut self) {
        let all = self.mapped.iter();
        let mapped = all.map(|region| (region.as_ptr() as usize, region.len() as usize));
        self.regions.mapped = mapped.collect();
    }
}

/// Maps a region of a file.
fn map(place: Place, file: File) -> io::Result<GuestRegionMmap> {
    // Memory of a guest is a file of tmpfs or hugetlbfs. With a file of another kind, the other end could serve each
    // access itself (FUSE), and stop this thread.
    const KINDS: [u64; 2] = [0x0102_1994, 0x9584_58f6];
    let kind = fstatfs(&file)?.f_type as u64 & 0xffff_ffff;
    let stat = fstat(&file)?;
    let end = place.offset.checked_add(place.bytes);
    let is_inside = end.is_some_and(|end| end <= stat.st_size as u64);
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    if !KINDS.contains(&kind) || !is_file || !is_inside {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let bytes = usize::try_from(place.bytes).map_err(io::Error::other)?;
    let region = MmapRegion::from_file(FileOffset::new(file, place.offset), bytes);
    let region = region.map_err(io::Error::other)?;
    // The service locks its memory (`mlockall`). The guest's memory stays as the hypervisor wants it.
    // SAFETY: the range is the mapping that was just made; unlocking changes no byte of it.
    let _ = unsafe { rustix::mm::munlock(region.as_ptr().cast(), bytes) };
    GuestRegionMmap::new(region, GuestAddress(place.guest))
        .ok_or_else(|| io::ErrorKind::InvalidInput.into())
}
