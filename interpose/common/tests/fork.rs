//! A thread that goes on in a child is one more thread.

#![cfg(target_os = "linux")]

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use testkit::process::in_child;
use wellspring_interpose::door_counters::{Door, DoorCounters};

#[test]
fn a_thread_that_goes_on_in_a_child_is_counted_there_as_well() {
    let file = memfd_create("counters", MemfdFlags::CLOEXEC).unwrap();
    ftruncate(&file, 4096).unwrap();
    let counters = DoorCounters::map(&file).unwrap();
    let count = || (0..3).for_each(|_| counters.count(Door::Getrandom, 32));
    let threads = || counters.counts(Door::Getrandom).threads;
    count();
    for children in 1..=3 {
        let code = in_child(|| {
            let before = threads();
            count();
            // A child of a child, and again the child.
            let of_child = in_child(|| {
                count();
                0
            });
            count();
            of_child + i32::from(threads() != before + 2)
        });
        assert_eq!((code, threads()), (0, 1 + 2 * children));
    }
    count();
    assert_eq!(threads(), 1 + 2 * 3, "the parent is counted once");
}
