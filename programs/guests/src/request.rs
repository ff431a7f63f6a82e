//! One request of a guest: a chain of descriptors, which name buffers in its memory.

use core::ops::Deref;
use virtio_queue::{DescriptorChain, Queue, QueueOwnedT, QueueT};
use vm_memory::{Bytes, GuestAddress, GuestMemory, GuestMemoryMmap, Permissions};
use wellspring_service_core::process::wipe;

/// The most bytes of one request. virtio lets a device give fewer than the guest asks for.
pub const MAX_REQUEST_BYTES: usize = 64 * 1024;

/// The least that a buffer costs of the guest's share, and a request without one. Each buffer can be a page that nothing
/// has touched: Linux then charges 4096 bytes to the service, not to the hypervisor.
pub const MIN_COST_BYTES: u64 = 64;

/// The most buffers of one request. Linux asks with one.
pub const MAX_BUFFERS: usize = 64;

/// The fate of the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No request waits.
    Idle,
    /// It was completed with this number of bytes.
    Done(u32),
    /// Its descriptors are wrong. It was completed with no bytes.
    Faulty,
    /// It has to wait for this time in nanoseconds, and was left where it is.
    Wait(u64),
    /// The engine has no seed yet. The request was left where it is.
    NotSeeded,
}

/// The ring itself is wrong: nothing more can be read from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenRing;

/// Serves the next request of a ring. `reserve` takes a number of bytes from the guest's share, or returns the time to
/// wait in nanoseconds; it also learns the number of buffers. `fill` makes random bytes, or returns `false` before the
/// seed. `scratch` has [`MAX_REQUEST_BYTES`], and is wiped.
///
/// # Errors
///
/// [`BrokenRing`].
pub fn serve_next(
    queue: &mut Queue,
    memory: &GuestMemoryMmap,
    scratch: &mut [u8],
    reserve: impl FnOnce(u64, usize) -> u64,
    fill: impl FnOnce(&mut [u8]) -> bool,
) -> Result<Outcome, BrokenRing> {
    let next = queue.iter(memory).map_err(|_| BrokenRing)?.next();
    let Some(chain) = next else {
        return Ok(Outcome::Idle);
    };
    let head = chain.head_index();
    let buffers = buffers(chain);
    let asked = buffers.as_ref().map_or(0, |buffers| asked_bytes(buffers));
    let length = asked.min(scratch.len() as u64) as usize;
    let count = buffers.as_ref().map_or(0, Vec::len);
    let min_cost = MIN_COST_BYTES * count.max(1) as u64;
    let wait_ns = reserve(min_cost.max(length as u64), count);
    if wait_ns > 0 {
        queue.go_to_previous_position();
        return Ok(Outcome::Wait(wait_ns));
    }
    let mut written = None;
    if let Some(buffers) = buffers.filter(|_| length > 0) {
        let bytes = &mut scratch[..length];
        if !fill(bytes) {
            wipe(bytes);
            queue.go_to_previous_position();
            return Ok(Outcome::NotSeeded);
        }
        written = write(memory, &buffers, bytes);
        wipe(bytes);
    }
    let given = written.unwrap_or(0);
    queue
        .add_used(memory, head, given)
        .map_err(|_| BrokenRing)?;
    Ok(written.map_or(Outcome::Faulty, Outcome::Done))
}

type Buffer = (GuestAddress, u32);

/// The buffers of a chain. `None` if one is read-only or outside the memory, if there are too many, or if the chain goes
/// in a loop or ends in a descriptor that does not exist.
fn buffers<M>(chain: DescriptorChain<M>) -> Option<Vec<Buffer>>
where
    M: Deref + Clone,
    M::Target: GuestMemory,
{
    let memory = chain.clone();
    let mut buffers = Vec::new();
    let mut is_whole = false;
    for descriptor in chain {
        let (at, length) = (descriptor.addr(), descriptor.len());
        let range = length as usize;
        let is_inside = memory.memory().check_range(at, range, Permissions::Write);
        let is_good = descriptor.is_write_only() && is_inside;
        if !is_good || buffers.len() == MAX_BUFFERS {
            return None;
        }
        buffers.push((at, length));
        is_whole = !descriptor.has_next();
    }
    is_whole.then_some(buffers)
}

fn asked_bytes(buffers: &[Buffer]) -> u64 {
    buffers.iter().map(|(_, length)| u64::from(*length)).sum()
}

/// Writes the bytes to the buffers, in their order. `None` if the memory does not take them.
fn write(memory: &GuestMemoryMmap, buffers: &[Buffer], mut bytes: &[u8]) -> Option<u32> {
    let length = bytes.len() as u32;
    for (at, room) in buffers {
        let (now, later) = bytes.split_at(bytes.len().min(*room as usize));
        memory.write_slice(now, *at).ok()?;
        bytes = later;
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RING_AT: u64 = 0x4000;
    const WRITE_ONLY_AND_NEXT: u16 = 2 | 1;

    /// The cost of a request of that many buffers, of one byte each.
    fn cost(buffers: u16) -> u64 {
        let regions = [(GuestAddress(0), 0x1_0000)];
        let memory = GuestMemoryMmap::<()>::from_ranges(&regions).unwrap();
        for number in 0..buffers {
            let is_last = number + 1 == buffers;
            let flags = WRITE_ONLY_AND_NEXT - u16::from(is_last);
            let mut descriptor = [0; 16];
            descriptor[..8].copy_from_slice(&0x8000u64.to_le_bytes());
            descriptor[8..12].copy_from_slice(&1u32.to_le_bytes());
            descriptor[12..14].copy_from_slice(&flags.to_le_bytes());
            descriptor[14..].copy_from_slice(&(number + 1).to_le_bytes());
            let at = GuestAddress(16 * u64::from(number));
            memory.write_slice(&descriptor, at).unwrap();
        }
        // One request is available: its index is 1.
        memory
            .write_slice(&[1, 0], GuestAddress(RING_AT + 2))
            .unwrap();
        let mut queue = Queue::new(256).unwrap();
        queue.set_size(256);
        queue
            .try_set_avail_ring_address(GuestAddress(RING_AT))
            .unwrap();
        queue
            .try_set_used_ring_address(GuestAddress(0x6000))
            .unwrap();
        queue.set_ready(true);
        let mut cost = 0;
        let reserve = |bytes, _| {
            cost = bytes;
            0
        };
        let mut scratch = vec![0; MAX_REQUEST_BYTES];
        let served = serve_next(&mut queue, &memory, &mut scratch, reserve, |_| true);
        assert_eq!(served, Ok(Outcome::Done(buffers.into())));
        cost
    }

    #[test]
    fn every_buffer_costs_a_part_of_the_share() {
        for buffers in [1, 2, 64] {
            assert_eq!(cost(buffers), 64 * u64::from(buffers));
        }
    }
}
