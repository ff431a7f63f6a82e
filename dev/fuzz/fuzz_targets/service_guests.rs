//! A guest's ring and descriptors of any bytes: no panic, no byte outside the buffers that it names, and no request
//! that gets more than it asked for or than the service gives at once.

#![no_main]

use libfuzzer_sys::fuzz_target;
use virtio_queue::{Queue, QueueT};
use vm_memory::{Bytes, GuestAddress, GuestMemoryMmap};
use wellspring_guests::request::{MAX_BUFFERS, MAX_REQUEST_BYTES, Outcome, serve_next};

const MEMORY_BYTES: usize = 0x2_0000;

fuzz_target!(|data: &[u8]| {
    // The first bytes choose the size of the ring, where it is, and how far the guest has come.
    let Some((&[size, avail, used, next], ring)) = data.split_first_chunk::<4>() else {
        return;
    };
    let regions = [(GuestAddress(0x1000), MEMORY_BYTES)];
    let memory = GuestMemoryMmap::<()>::from_ranges(&regions).expect("memory");
    let length = ring.len().min(MEMORY_BYTES);
    memory
        .write_slice(&ring[..length], GuestAddress(0x1000))
        .expect("inside");
    let mut queue = Queue::new(256).expect("a power of two");
    let set = queue
        .try_set_size(1 << (size % 9))
        .and_then(|()| queue.try_set_desc_table_address(GuestAddress(0x1000)))
        .and_then(|()| {
            queue.try_set_avail_ring_address(GuestAddress(0x1000 + 16 * u64::from(avail)))
        })
        .and_then(|()| {
            queue.try_set_used_ring_address(GuestAddress(0x1000 + 16 * u64::from(used)))
        });
    set.expect("aligned");
    queue.set_ready(true);
    queue.set_next_avail(next.into());
    let mut scratch = vec![0; MAX_REQUEST_BYTES];
    for _ in 0..64 {
        let mut asked = 0;
        let reserve = |bytes, buffers| {
            assert!(buffers <= MAX_BUFFERS);
            asked = bytes;
            0
        };
        let fill = |bytes: &mut [u8]| {
            bytes.fill(0xa5);
            true
        };
        let before = queue.next_avail();
        match serve_next(&mut queue, &memory, &mut scratch, reserve, fill) {
            Ok(Outcome::Done(given)) => {
                assert!(
                    u64::from(given) <= asked && given as usize <= MAX_REQUEST_BYTES && given > 0
                );
            }
            Ok(Outcome::Faulty) => assert!(asked >= 64),
            Ok(Outcome::Idle) => {
                assert_eq!(before, queue.next_avail());
                break;
            }
            Ok(other) => panic!("{other:?} without a limit"),
            Err(_) => break,
        }
        assert!(
            scratch.iter().all(|byte| *byte == 0),
            "bytes were left behind"
        );
    }
});
