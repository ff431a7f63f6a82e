//! A shortage of memory that has passed leaves nothing behind.

mod common;

use common::{in_child, with_owned};
use wellspring_os::memory::Wiped;
use wellspring_os::thread_state::{OwnedState, ThreadStates, unlocked_bytes};

fn count(owned: &mut OwnedState<u64>) -> Option<u64> {
    with_owned(owned, 0, |read| {
        *read.state() += 1;
        *read.state()
    })
}

fn limit_address_space(bytes: Option<u64>) {
    // SAFETY: all zeros is a `rlimit`, and the pointers are to one.
    unsafe {
        let mut limit: libc::rlimit = core::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_AS, &raw mut limit);
        limit.rlim_cur = bytes.map_or(limit.rlim_max, |bytes| bytes as libc::rlim_t);
        assert_eq!(libc::setrlimit(libc::RLIMIT_AS, &raw const limit), 0);
    }
}

/// Ends this process's right to lock more than `bytes`.
fn limit_locked_memory(bytes: libc::rlim_t) -> bool {
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: bytes,
    };
    // SAFETY: the pointer is to the limit. Root may lock what it likes, so be another user; not by way of libc, which
    // would tell threads that a forked child does not have.
    unsafe {
        libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const limit) == 0
            && (libc::geteuid() != 0
                || libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534) == 0)
    }
}

#[test]
fn memory_that_could_not_be_locked_is_counted_for_as_long_as_it_is_in_use() {
    /// A node that no other test uses: its chunks have 8, 16 and 32 slots, of 4 KiB each.
    const NODE: u32 = 55;
    let code = in_child(|| {
        // An eighth of it is ours.
        if !limit_locked_memory(800 << 10) {
            return 2;
        }
        let owner = ThreadStates::<u64, u64>::new();
        let new = |_| {
            let mut owned = OwnedState::<u64>::new(&owner);
            assert_eq!(with_owned(&mut owned, NODE, |read| *read.state()), Some(0));
            owned
        };
        let locked: Vec<_> = (0..24).map(new).collect();
        let before = unlocked_bytes();
        let mut unlocked: Vec<_> = (0..10).map(new).collect();
        let ten = unlocked_bytes();
        unlocked.truncate(3);
        let three = unlocked_bytes();
        drop((locked, unlocked));
        let sizes = [before, ten, three, unlocked_bytes()];
        i32::from(sizes != [0, 10 << 12, 3 << 12, 0])
    });
    if code == 2 {
        println!("SKIPPED: this process may not become another user");
    } else {
        assert_eq!(code, 0);
    }
}

/// The rest of the limit is the program's.
#[test]
fn no_more_than_an_eighth_of_the_limit_is_taken_in_a_child_too() {
    const LIMIT: usize = 64 << 10;
    let code = in_child(|| {
        if !limit_locked_memory(LIMIT as libc::rlim_t) {
            return 2;
        }
        let owner = ThreadStates::<u64, u64>::new();
        let mut owned: Vec<_> = (0..20).map(|_| OwnedState::<u64>::new(&owner)).collect();
        let wiped: Vec<_> = (0..4).map(|_| Wiped::<u64>::new(None).unwrap()).collect();
        let mut is_right = true;
        for _ in 0..2 {
            is_right &= owned.iter_mut().filter_map(count).count() == 20;
            is_right &= unlocked_bytes() >= 20 << 12;
            wiped.iter().for_each(Wiped::lock_pages);
            is_right &= can_lock(LIMIT - LIMIT / 8);
            // SAFETY: the child does the same and ends.
            if unsafe { libc::fork() } != 0 {
                break;
            }
        }
        let mut status = 0;
        // SAFETY: the pointer is to the status. The child has none.
        unsafe { libc::wait(&raw mut status) };
        i32::from(!is_right || status != 0)
    });
    if code == 2 {
        println!("SKIPPED: this process may not become another user");
    } else {
        assert_eq!(code, 0);
    }
}

/// Whether the program can lock this many bytes.
fn can_lock(bytes: usize) -> bool {
    let (access, kind) = (libc::PROT_READ, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping, which nothing uses.
    unsafe {
        let start = libc::mmap(core::ptr::null_mut(), bytes, access, kind, -1, 0);
        let is_locked = libc::mlock(start, bytes) == 0;
        libc::munmap(start, bytes);
        is_locked
    }
}

#[test]
fn after_a_shortage_of_memory_every_state_gets_its_slot() {
    let code = in_child(|| {
        let states = ThreadStates::<u64, u64>::new();
        let new = || OwnedState::<u64>::new(&states);
        let mut held = Vec::with_capacity(10_000);
        held.push(new());
        assert_eq!(count(&mut held[0]), Some(1));
        // No new mapping fits: the slots that are mapped go first.
        limit_address_space(Some(1 << 20));
        let mut refused = 0;
        while refused < 1100 {
            let mut owned = new();
            refused += usize::from(count(&mut owned).is_none());
            held.push(owned);
        }
        limit_address_space(None);
        // States that were refused, and the others.
        let served = held.iter_mut().filter_map(count).count();
        i32::from(served != held.len() || count(&mut new()) != Some(1))
    });
    assert_eq!(code, 0);
}
