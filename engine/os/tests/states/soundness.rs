//! Safe programs that once read freed memory or held two `&mut` to one state. Miri runs the quick ones.
#![forbid(unsafe_code)]

use crate::common::{Counters, value, with_owned, with_state};
use std::sync::atomic::{AtomicBool, Ordering};
use wellspring_os::clone_words::CloneWords;
use wellspring_os::owned::OwnedState;
use wellspring_os::shared_page::SharedPage;
use wellspring_os::signals::SignalsBlocked;
use wellspring_os::thread_state::{DEPTHS, ThreadRead};

#[test]
fn an_owned_state_that_was_never_used_is_not_current() {
    let states = Counters::new();
    let mut owned = OwnedState::<u64>::new(&states);
    assert!(owned.begin().is_none());
    assert!(!owned.was_current());
    assert!(owned.try_current(&states).is_none());
}

#[test]
#[cfg_attr(miri, ignore = "it takes minutes")]
fn an_owned_state_outlives_the_states_that_it_stands_beside() {
    let mut states = Some(Counters::new());
    let others = Counters::new();
    let mut owned = OwnedState::<u64>::new(states.as_ref().unwrap());
    let generation = states.as_ref().unwrap().generation();
    let seen = with_owned(&mut owned, 0, |read| {
        let value = read.state();
        *value = 5;
        drop(states.take());
        // One of these would get its memory: the first 8 states lie side by side.
        let mut all: Vec<_> = (0..20).map(|_| OwnedState::<u64>::new(&others)).collect();
        for other in &mut all {
            with_owned(other, 0, |other| *other.state() = 6);
        }
        let seen = *value;
        read.mark_current(generation, 0);
        seen
    });
    assert_eq!(seen, Some(5));
    assert!(owned.try_current(&others).is_none());
    assert_eq!(with_owned(&mut owned, 0, |read| *read.state()), Some(5));
}

#[test]
fn no_read_begins_at_a_depth_whose_state_is_in_use() {
    let states = Counters::new();
    for depth in 0..DEPTHS {
        descend(&states, depth, &mut |state| {
            let signals = SignalsBlocked::new();
            let from_here = state.states_from_here(&signals);
            assert_eq!(from_here.outermost.is_some(), depth == 0);
            assert_eq!(from_here.nested.len(), (DEPTHS - depth).min(DEPTHS - 1));
            from_here.nested.fill(5);
            let read = with_state(&states, |state| core::mem::replace(value(state), 6));
            assert_eq!((read, from_here.nested[0]), (None, 5));
        });
        let next = descend(&states, depth, &mut |state| *value(state) = 0);
        assert_eq!(next, Some(()), "the depths are free again");
    }
}

#[test]
fn the_states_of_deeper_reads_at_work_are_not_given_out() {
    let states = Counters::new();
    with_state(&states, |outer| {
        with_state(&states, |inner| {
            let inner = value(inner);
            *inner = 5;
            let signals = SignalsBlocked::new();
            outer.states_from_here(&signals).nested.fill(6);
            assert_eq!(*inner, 5);
        })
    });
}

#[test]
fn a_panic_on_the_states_of_all_depths_leaves_the_depths_free() {
    let states = Counters::new();
    let panics = || {
        with_state(&states, |state| {
            let signals = SignalsBlocked::new();
            let _from_here = state.states_from_here(&signals);
            panic!("in a read")
        })
    };
    let panics = std::panic::AssertUnwindSafe(panics);
    assert!(std::panic::catch_unwind(panics).is_err());
    assert_eq!(descend(&states, DEPTHS - 1, &mut |_| ()), Some(()));
}

/// Runs `work` on the state of a depth, within reads at all depths above it.
fn descend<R>(
    states: &Counters,
    depth: usize,
    work: &mut dyn FnMut(&mut ThreadRead<'_, u64, u64>) -> R,
) -> Option<R> {
    let read = with_state(states, |state| match depth {
        0 => Some(work(state)),
        _ => descend(states, depth - 1, work),
    });
    read?
}

/// A reader that stands still between two instructions, while the page is replaced: with more readers than processors there
/// are some.
#[test]
#[cfg_attr(miri, ignore = "it maps no files")]
fn a_reader_never_loads_from_a_page_that_is_gone() {
    let file = |name: &str, number: u64| {
        let name = format!("wellspring-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, number.to_ne_bytes().repeat(512)).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        file
    };
    let (watched, other) = (file("watched", 0), file("other", 1));
    let (words, is_done) = (CloneWords::new(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    for _ in 0..1000 {
                        assert_eq!(words.sum(), 0, "a page that was never watched");
                    }
                }
            });
        }
        let mut others = Vec::new();
        for _ in 0..ROUNDS {
            let page = SharedPage::map(&watched).unwrap();
            words.watch(0, page, 64).unwrap();
            // They take the addresses that are free.
            others.push(SharedPage::map(&other).unwrap());
            others.truncate(others.len() % 500);
        }
        is_done.store(true, Ordering::Relaxed);
    });
}

const ROUNDS: usize = 20_000;
