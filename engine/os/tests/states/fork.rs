//! A fork in the middle of a read leaves nothing of the parent's state in the child.

use crate::common::{Counters, in_child, next, value, with_state};
use core::cell::Cell;
use core::ptr;

const SECRET: u64 = 0x5eed_5eed_5eed_5eed;

/// A read of `states` at the outermost depth; the process forks in it, as in a handler, and the child runs
/// `in_handler` before it goes on with its copy of the read, which writes what it knew from before the fork.
fn fork_in_a_read(states: &Counters, in_handler: impl Fn()) -> i32 {
    let pid = Cell::new(-1);
    let is_child = Cell::new(false);
    let place = Cell::new(ptr::null_mut::<u64>());
    next(states);
    with_state(states, |state| {
        if pid.get() != -1 {
            return;
        }
        place.set(ptr::from_mut(value(state)));
        // SAFETY: the child ends with _exit below.
        pid.set(unsafe { libc::fork() });
        if pid.get() == 0 {
            is_child.set(true);
            in_handler();
            *value(state) = SECRET;
        }
    });
    if is_child.get() {
        // SAFETY: the memory of a slot is never unmapped.
        let left = unsafe { ptr::read_volatile(place.get()) };
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(left == SECRET)) };
    }
    crate::common::exit_status(pid.get())
}

#[test]
fn an_interrupted_read_erases_the_very_state_it_used() {
    let (states, other) = (Counters::new(), Counters::new());
    assert_eq!(fork_in_a_read(&states, || ()), 0, "nothing in the handler");
    let draw_own = || assert!(next(&states).is_some());
    assert_eq!(fork_in_a_read(&states, draw_own), 0, "its own states");
    let draw_other = || assert!(next(&other).is_some());
    assert_eq!(fork_in_a_read(&states, draw_other), 0, "other states");
    let many: [Counters; 40] = core::array::from_fn(|_| Counters::new());
    let draw_many = || many.iter().for_each(|states| _ = next(states));
    assert_eq!(fork_in_a_read(&states, draw_many), 0, "many other states");
}

#[test]
fn a_child_takes_over_the_slots_of_threads_that_it_does_not_have() {
    const THREADS: usize = 300;
    let states = Counters::new();
    let barrier = std::sync::Barrier::new(THREADS + 1);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                next(&states);
                barrier.wait();
                barrier.wait();
            });
        }
        barrier.wait();
        let code = in_child(|| {
            assert_eq!(next(&states), Some(1));
            assert_eq!(states.count(), 1);
            // Threads of the child find the slots of the parent's: no mapping is made for them.
            let before = crate::common::mappings();
            for _ in 0..20 {
                let others: Vec<Counters> = (0..10).map(|_| Counters::new()).collect();
                assert!(others.iter().all(|states| next(states) == Some(1)));
            }
            i32::from(crate::common::mappings() > before + 1)
        });
        barrier.wait();
        assert_eq!(code, 0);
    });
}
