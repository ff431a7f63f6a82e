//! What a passing shortage of memory leaves behind: nothing.

mod common;

use common::in_child;
use wellspring_sys::owned::OwnedState;
use wellspring_sys::thread_state::ThreadStates;

fn count(owned: &mut OwnedState<u64>) -> Option<u64> {
    owned.with(
        || 0,
        |value, _| {
            *value += 1;
            *value
        },
    )
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
        // Those that were refused, and others.
        let served = held.iter_mut().filter_map(count).count();
        i32::from(served != held.len() || count(&mut new()) != Some(1))
    });
    assert_eq!(code, 0);
}
