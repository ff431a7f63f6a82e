//! The hot path: a state is read while it is current, and by the outermost read only.

use crate::common::{Counters, exit_status, next, value, with_owned, with_state};
use core::cell::Cell;
use wellspring_os::owned::OwnedState;
use wellspring_os::thread_state::CurrentThread;

/// Adds one and marks the state as current.
fn make_current(states: &Counters) -> u64 {
    let generation = states.generation();
    let count = with_state(states, |state| {
        state.mark_current(generation, 0);
        *value(state) += 1;
        *value(state)
    });
    count.unwrap()
}

fn count(states: &Counters) -> Option<u64> {
    try_current(states, |value| {
        *value += 1;
        *value
    })
}

fn try_current<R>(states: &Counters, read: impl FnOnce(&mut u64) -> R) -> Option<R> {
    let mut current = states.try_current(CurrentThread::find())?;
    let result = read(current.state());
    current.end().map(|_| result)
}

#[test]
fn a_state_is_current_from_its_mark_to_the_end_of_the_generation() {
    let states = Counters::new();
    assert_eq!(count(&states), None);
    assert_eq!(next(&states), Some(1));
    assert_eq!(count(&states), None, "it was not marked");
    assert_eq!(make_current(&states), 2);
    assert_eq!((count(&states), count(&states)), (Some(3), Some(4)));
    assert_eq!(next(&states), Some(5));
    assert_eq!(count(&states), Some(6), "still current");
    states.bump();
    assert_eq!(count(&states), None);
    assert_eq!(make_current(&states), 7);
    assert_eq!(count(&states), Some(8));
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(count(&states), None, "not on another thread"));
    });
}

#[test]
fn a_generation_that_ended_before_the_mark_is_over() {
    let states = Counters::new();
    let generation = states.generation();
    states.bump();
    with_state(&states, |state| state.mark_current(generation, 0));
    assert_eq!(count(&states), None);
}

#[test]
fn a_generation_of_other_states_marks_nothing() {
    let (states, other) = (Counters::new(), Counters::new());
    with_state(&states, |state| state.mark_current(other.generation(), 0));
    assert_eq!((count(&states), count(&other)), (None, None));
    let mut owned = OwnedState::<u64>::new(&states);
    with_owned(&mut owned, 0, |read| {
        read.mark_current(other.generation(), 0);
    });
    assert!(owned.try_current(&states).is_none());
    assert!(owned.try_current(&other).is_none());
}

#[test]
fn a_read_that_interrupts_another_gets_another_state() {
    let states = Counters::new();
    make_current(&states);
    let inner = try_current(&states, |value| {
        assert_eq!(count(&states), None);
        let nested = next(&states);
        *value += 1;
        (nested, *value)
    });
    assert_eq!(inner, Some((Some(1), 2)));
    with_state(&states, |_| assert_eq!(count(&states), None));
    assert_eq!(count(&states), Some(3));
}

#[test]
fn the_first_states_of_a_thread_stay_current_beside_others_until_they_lose_their_place() {
    let states = Counters::new();
    make_current(&states);
    let others: Vec<Counters> = (0..15).map(|_| Counters::new()).collect();
    for other in &others {
        make_current(other);
        assert_eq!(count(other), None, "the first has the place");
    }
    assert_eq!(count(&states), Some(2));
    drop((states, others));
    let next = Counters::new();
    make_current(&next);
    assert_eq!(count(&next), Some(2), "the place is free again");
    let crowd: Vec<Counters> = (0..64).map(|_| Counters::new()).collect();
    for states in &crowd {
        make_current(states);
        // No state, or its own: never another's.
        assert!([None, Some(2)].contains(&count(states)));
    }
    assert!([None, Some(3)].contains(&count(&next)));
}

#[test]
fn a_fork_under_the_hot_path_is_noticed_and_the_next_read_erases_what_it_wrote() {
    fork_under_the_hot_path(|_| ());
    // As a handler in the child does, which acquires the slot again while the interrupted read goes on.
    fork_under_the_hot_path(|states| _ = next(states));
    let other = Counters::new();
    fork_under_the_hot_path(|_| _ = next(&other));
}

fn fork_under_the_hot_path(in_child: impl Fn(&Counters)) {
    const SECRET: u64 = 0x5eed_5eed_5eed_5eed;
    let states = Counters::new();
    make_current(&states);
    let (pid, place) = (Cell::new(-1), Cell::new(core::ptr::null_mut()));
    let result = try_current(&states, |value| {
        place.set(core::ptr::from_mut(value));
        // SAFETY: the child ends with _exit below.
        pid.set(unsafe { libc::fork() });
        if pid.get() == 0 {
            in_child(&states);
            *value = SECRET;
        }
    });
    if pid.get() == 0 {
        let is_noticed = result.is_none() && count(&states).is_none();
        in_child(&Counters::new());
        let is_erased = next(&states) == Some(1);
        // SAFETY: the memory of a slot is never unmapped.
        let left = unsafe { core::ptr::read_volatile(place.get()) };
        let is_right = is_noticed && is_erased && left == 1;
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(!is_right)) };
    }
    assert_eq!((result, exit_status(pid.get())), (Some(()), 0));
}

#[test]
fn a_child_finds_its_current_state_wiped() {
    let states = Counters::new();
    make_current(&states);
    let mut owned = OwnedState::<u64>::new(&states);
    with_owned(&mut owned, 0, |read| {
        *read.state() = 7;
        read.mark_current(states.generation(), 0);
    });
    assert_eq!(
        owned.try_current(&states).map(|mut read| *read.state()),
        Some(7)
    );
    let code = crate::common::in_child(|| {
        let is_wiped = try_current(&states, |value| assert_eq!(*value, 0)).is_none();
        let owned_is_wiped = owned.try_current(&states).is_none_or(|mut read| {
            assert_eq!(*read.state(), 0);
            read.end().is_none()
        });
        i32::from(!is_wiped || !owned_is_wiped || next(&states) != Some(1))
    });
    assert_eq!(code, 0);
}

#[test]
fn a_bump_on_another_thread_is_seen() {
    let states = Counters::new();
    make_current(&states);
    for _ in 0..100 {
        std::thread::scope(|scope| {
            scope.spawn(|| states.bump());
        });
        assert_eq!(count(&states), None);
        make_current(&states);
        assert!(count(&states).is_some());
    }
}
