//! The way of macOS, where no kernel wipes a child: a handler of fork(3) does, and else the number of the process tells.
//! Built on Linux by `cargo xtask systems`.

use crate::ALONE;
use crate::common::{Counters, exit_status, next};

/// A child by a raw system call, which runs no handler of fork(3). Returns what `work` returned in it.
fn in_raw_child(work: impl FnOnce() -> i32) -> i32 {
    // SAFETY: a fork in all but the handlers; the child ends below, and calls nothing that a handler would have to repair.
    let pid = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
    if pid == 0 {
        let status = work();
        // SAFETY: ends the child.
        unsafe { libc::_exit(status) };
    }
    exit_status(pid as libc::pid_t)
}

#[test]
fn a_child_of_fork_finds_every_state_wiped() {
    let _alone = ALONE.lock();
    let states = Counters::new();
    assert_eq!([next(&states), next(&states)], [Some(1), Some(2)]);
    let child = crate::common::in_child(|| i32::from(next(&states) != Some(1)));
    assert_eq!(child, 0);
    assert_eq!(next(&states), Some(3));
}

#[test]
fn a_child_that_ran_no_handler_finds_every_state_wiped_once_it_reads_on_the_long_way() {
    let _alone = ALONE.lock();
    let states = Counters::new();
    assert_eq!([next(&states), next(&states)], [Some(1), Some(2)]);
    let child = in_raw_child(|| {
        let first = next(&states) == Some(1);
        // And so does the child of that child.
        let grandchild = in_raw_child(|| i32::from(next(&states) != Some(1)));
        i32::from(!first) + 2 * grandchild
    });
    assert_eq!(child, 0);
    assert_eq!(next(&states), Some(3));
}

#[test]
fn memory_that_was_unmapped_is_not_wiped_for_its_next_owner() {
    let _alone = ALONE.lock();
    use wellspring_os::memory::Wiped;
    let wiped = Wiped::<core::sync::atomic::AtomicU64>::new(None).unwrap();
    let start = core::ptr::from_ref(&*wiped).cast_mut();
    drop(wiped);
    let (access, bytes) = (libc::PROT_READ | libc::PROT_WRITE, 4096);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: nothing is mapped there, or the call fails.
    let taken = unsafe { libc::mmap(start.cast(), bytes, access, flags, -1, 0) };
    if taken == libc::MAP_FAILED {
        return println!("SKIPPED: another thread has mapped the page");
    }
    // SAFETY: the page is ours.
    unsafe { start.cast::<u64>().write_volatile(7) };
    // SAFETY: as above.
    let child =
        crate::common::in_child(|| i32::from(unsafe { start.cast::<u64>().read_volatile() } != 7));
    assert_eq!(child, 0);
}
