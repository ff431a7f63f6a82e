use super::*;
use crate::thread::ENTRIES;

fn value<'a>(level: &'a mut StateRef<'_, u64, u64>) -> &'a mut u64 {
    match level.state() {
        State::Outermost(value) | State::Nested(value) => value,
    }
}

fn next(threads: &ThreadStates<u64, u64>) -> Option<u64> {
    threads.try_with(
        || 0,
        |level| {
            *value(level) += 1;
            *value(level)
        },
    )
}

#[test]
fn every_thread_starts_from_zero_and_keeps_its_state() {
    let threads = ThreadStates::<u64, u64>::new();
    assert_eq!((next(&threads), next(&threads)), (Some(1), Some(2)));
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!((next(&threads), next(&threads)), (Some(1), Some(2))));
    });
    assert_eq!(next(&threads), Some(3));
}

#[test]
fn a_nested_use_never_sees_the_state_it_interrupts() {
    let threads = ThreadStates::<u64, u64>::new();
    fn descend(threads: &ThreadStates<u64, u64>, depth: usize) -> usize {
        let below = threads.try_with(
            || 0,
            |level| {
                assert_eq!(*value(level), 0);
                *value(level) = 1;
                let below = descend(threads, depth + 1);
                assert_eq!(*value(level), 1);
                below
            },
        );
        below.unwrap_or(depth)
    }
    assert_eq!(descend(&threads, 0), DEPTHS, "the fifth level is refused");
}

#[test]
fn a_panic_costs_no_depth() {
    let threads = ThreadStates::<u64, u64>::new();
    for _ in 0..2 * DEPTHS {
        let panics =
            std::panic::AssertUnwindSafe(|| threads.try_with(|| 0, |_| panic!("in a read")));
        assert!(std::panic::catch_unwind(panics).is_err());
    }
    assert_eq!(next(&threads), Some(1));
}

#[test]
fn more_states_than_a_thread_keeps_are_lost_and_nothing_else() {
    let all: [ThreadStates<u64, u64>; 3 * ENTRIES] = core::array::from_fn(|_| ThreadStates::new());
    for _ in 0..3 {
        for threads in &all {
            assert!(next(threads).is_some());
        }
    }
    assert!(all.iter().map(ThreadStates::count).sum::<usize>() <= ENTRIES);
}

#[test]
fn slots_of_ended_threads_and_dropped_states_are_used_again() {
    let threads = ThreadStates::<u64, u64>::new();
    for _ in 0..200 {
        std::thread::scope(|scope| {
            let first = scope.spawn(|| next(&threads)).join().unwrap();
            assert_eq!(first, Some(1), "a slot comes back erased");
        });
    }
    assert_eq!(threads.count(), 0);
    next(&threads);
    let owner = threads.owner;
    assert_eq!(slots::count(owner), 1);
    drop(threads);
    assert_eq!(slots::count(owner), 0);
}
