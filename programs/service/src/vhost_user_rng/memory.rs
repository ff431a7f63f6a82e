//! The parts of a guest's memory that the other end gives to map.

use super::limits::{Part, Pass};
use super::mapping::Mapping;
use super::sigbus::Regions;
use std::fs::File;
use std::io;
use std::sync::Arc;
use vhost::vhost_user::message::VhostUserMemoryRegion;
use vm_memory::{GuestAddress, GuestMemoryMmap, GuestRegionMmap, MmapRegion};

/// The most regions of one guest: what QEMU assumes where a device does not say.
pub(super) const MAX_REGIONS: usize = 32;

/// The most memory of one guest: 1 TiB.
pub(super) const MAX_GUEST_BYTES: u64 = 1 << 40;

/// The pages that requests may touch until the regions are mapped anew. Each can be in a page table of its own: of 4 KiB,
/// for 2 MiB of memory. Without this the page tables of 1 TiB take 2 GiB.
const MAX_TOUCHED: usize = 256;

/// The memory of one guest.
#[derive(Default)]
pub(super) struct Memory {
    /// The regions as virtio sees them. They point into the mappings, and are dropped first.
    view: GuestMemoryMmap,
    regions: Regions,
    /// The pages that requests have touched since the regions were mapped, at most: a page counts each time.
    touched: usize,
    /// Dropped last: memory counts until it is unmapped.
    parts: Vec<(VhostUserMemoryRegion, Part)>,
}

impl Memory {
    /// Does `work` on the memory. Returns `None` if the other end has cut some of it off.
    pub(super) fn guard<T>(&self, work: impl FnOnce(&GuestMemoryMmap) -> T) -> Option<T> {
        self.regions.guard(|| work(&self.view))
    }

    /// Adds a region, which counts for `pass`. Refused are one that overlaps another, and one beyond a limit.
    pub(super) fn add(
        &mut self,
        place: VhostUserMemoryRegion,
        file: &File,
        pass: &Pass,
    ) -> io::Result<()> {
        let total: u64 = self.parts.iter().map(|(place, _)| place.memory_size).sum();
        let is_too_much = place.memory_size > MAX_GUEST_BYTES - total.min(MAX_GUEST_BYTES);
        if self.parts.len() == MAX_REGIONS || is_too_much {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        let part = pass.take(place.memory_size);
        let part = part.ok_or(io::ErrorKind::QuotaExceeded)?;
        let mapping = Mapping::new(file, place.mmap_offset, place.memory_size)?;
        self.view = with_region(&self.view, place, &mapping)?;
        self.regions.mapped.push(mapping);
        self.parts.push((place, part));
        Ok(())
    }

    /// Notes that a request, or a start of the ring, has touched at most this number of pages. After [`MAX_TOUCHED`] the
    /// regions are mapped anew, which frees their page tables.
    pub(super) fn touch(&mut self, pages: usize) -> io::Result<()> {
        self.touched += pages;
        if self.touched <= MAX_TOUCHED {
            return Ok(());
        }
        self.touched = 0;
        let (mut view, mut all_again) = (GuestMemoryMmap::default(), Vec::new());
        for (mapping, (place, _)) in self.regions.mapped.iter().zip(&self.parts) {
            let again = (!mapping.is_huge()).then(|| mapping.again()).transpose()?;
            view = with_region(&view, *place, again.as_ref().unwrap_or(mapping))?;
            all_again.push(again);
        }
        // Before what the old view points into is unmapped.
        self.view = view;
        for (mapping, again) in self.regions.mapped.iter_mut().zip(all_again) {
            if let Some(again) = again {
                *mapping = again;
            }
        }
        Ok(())
    }

    /// Removes a region. Returns whether there was one.
    pub(super) fn remove(&mut self, guest: u64, bytes: u64) -> bool {
        let Ok((view, _)) = self.view.remove_region(GuestAddress(guest), bytes) else {
            return false;
        };
        self.view = view;
        // The regions, their mappings and their parts are in the same order.
        if let Some(place) = self
            .parts
            .iter()
            .position(|(at, _)| at.guest_phys_addr == guest)
        {
            self.regions.mapped.remove(place);
            self.parts.remove(place);
        }
        true
    }

    /// The guest's address for an address of the other end.
    pub(super) fn translate(&self, user: u64) -> Option<GuestAddress> {
        self.parts.iter().find_map(|(place, _)| {
            let offset = user.checked_sub(place.user_addr)?;
            let is_inside = offset < place.memory_size;
            is_inside.then(|| GuestAddress(place.guest_phys_addr + offset))
        })
    }
}

/// A view with one more region, which points into this mapping.
fn with_region(
    view: &GuestMemoryMmap,
    place: VhostUserMemoryRegion,
    mapping: &Mapping,
) -> io::Result<GuestMemoryMmap> {
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
    let from = mapping.from().as_ptr();
    // SAFETY: the range is mapped, and stays so until `Memory` has dropped the view.
    let region = unsafe { MmapRegion::build_raw(from, mapping.bytes(), access, flags) };
    let region = region.map_err(io::Error::other)?;
    let region = GuestRegionMmap::new(region, GuestAddress(place.guest_phys_addr));
    let region = region.ok_or(io::ErrorKind::InvalidInput)?;
    view.insert_region(Arc::new(region))
        .map_err(io::Error::other)
}
