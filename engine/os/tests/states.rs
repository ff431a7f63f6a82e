//! The states of threads: who reads one, when, and what a fork or a sandbox leaves of it. Children are made by fork(3): in one
//! of a raw clone(2) a lock of malloc(3) that another test held would stay locked, so those tests are in `raw_clones`.
//!
//! ```text
//! hot path   a state is read while it is current
//! fork       a fork in the middle of a read
//! sandbox    no system call after the preparation
//! soundness  safe programs that once read freed memory
//! ```

mod common;

use crate::common::{Counters, exit_status, in_child, next, value, with_owned, with_state};
use core::cell::Cell;
use core::ptr;
use testkit::filter;
use testkit::filter::Forbidden;
use wellspring_os::lock::Lock;
use wellspring_os::memory::Wiped;
use wellspring_os::signals::SignalsBlocked;
use wellspring_os::thread_state::{CurrentThread, OwnedState};
#[cfg(all(target_os = "linux", not(miri)))]
use wellspring_os::vdso;
use wellspring_os::{cpu, os, sandbox};

// The hot path: a state is read while it is current, and by the outermost read only.

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

// A fork in the middle of a read leaves nothing of the parent's state in the child.

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
            let draw_on_others = || {
                let others: Vec<Counters> = (0..10).map(|_| Counters::new()).collect();
                assert!(others.iter().all(|states| next(states) == Some(1)));
            };
            // Threads of the child find the slots of the parent's: no mapping is made for them. The first ones lock their slots,
            // which cuts mappings.
            draw_on_others();
            let before = crate::common::mappings();
            (0..20).for_each(|_| draw_on_others());
            i32::from(crate::common::mappings() > before + 1)
        });
        barrier.wait();
        assert_eq!(code, 0);
    });
}

// After `sandbox::prepare` reads make no system call: under a filter that ends the process at the first one.

/// The only system call that the filter allows: the end of the process.
const ALLOWED: libc::c_long = libc::SYS_exit_group;

/// Returns `None` if the system has no seccomp(2).
fn forbid_system_calls() -> Option<()> {
    filter::allow_only(&[ALLOWED], Forbidden::Kills).then_some(())
}

/// Runs `code` in a child that may make no system call, and which RDTSC ends, as under strict seccomp(2).
fn in_sandbox(prepare: impl FnOnce(), code: impl FnOnce() -> bool) {
    let code = in_child(|| {
        prepare();
        // On arm64 strict mode leaves the counter, which Linux 6.12 takes by this call alone.
        if cfg!(target_arch = "x86_64") {
            // SAFETY: the call takes a number.
            unsafe { libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV, 0, 0, 0) };
        }
        if forbid_system_calls().is_none() {
            return 2;
        }
        let code = i32::from(!code());
        // SAFETY: ends the child, which may not even unwind.
        unsafe { libc::_exit(code) }
    });
    if code == 2 {
        println!("SKIPPED: no seccomp filter can be installed here");
    } else {
        assert_eq!(code, 0, "1031 is SIGSYS: a system call");
    }
}

#[test]
fn the_filter_ends_a_process_that_makes_a_system_call() {
    let code = in_child(|| {
        if forbid_system_calls().is_none() {
            return 2;
        }
        drop(SignalsBlocked::new());
        0
    });
    assert!(code == 2 || code == 1000 + libc::SIGSYS, "{code}");
}

#[test]
fn reads_and_locks_and_new_states_make_no_system_call() {
    let (known, new) = (Counters::new(), Counters::new());
    let lock = Wiped::<Lock<u64>>::new(None).unwrap();
    let mut owned: Vec<_> = (0..20).map(|_| OwnedState::<u64>::new(&known)).collect();
    let prepare = || {
        next(&known);
        assert!(known.reserve(0, 10) && OwnedState::<u64>::reserve(0, 20));
        let _ = os::now_ms();
        sandbox::prepare();
    };
    in_sandbox(prepare, || {
        *lock.lock(&SignalsBlocked::new()) += 1;
        let mut is_right = next(&known) == Some(2) && next(&new) == Some(1);
        for owned in &mut owned {
            let count = with_owned(owned, 0, |read| {
                let (value, mut vdso) = read.state_and_vdso();
                *value += 1;
                (*value, vdso.fill(&mut [0; 32]))
            });
            is_right &= count == Some((1, false));
        }
        is_right && cpu::cycles() > 0 && os::now_ms() > 0
    });
}

#[test]
#[cfg(all(target_os = "linux", not(miri)))]
fn the_vdsos_getrandom_is_not_used_once_its_image_changed() {
    // SAFETY: getauxval only looks the value up.
    let image = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } as *mut u8;
    if image.is_null() {
        return println!("SKIPPED: there is no vDSO here");
    }
    let code = in_child(|| {
        let counters = Counters::new();
        let mut owned = OwnedState::<u64>::new(&counters);
        let mut fills = || {
            vdso::forget_if_changed();
            with_owned(&mut owned, 0, |read| {
                read.state_and_vdso().1.fill(&mut [0; 16])
            })
        };
        if fills() != Some(true) || fills() != Some(true) {
            return 2;
        }
        // As CRIU does in the image of another kernel: a byte changes, in the part of the header that has no meaning. The kernel
        // changes the rights of the whole image alone.
        let rights = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        // SAFETY: the image, of which this process gets a copy once it writes.
        let is_changed = (1..=16).any(|pages| unsafe {
            let is_whole = libc::mprotect(image.cast(), pages * 4096, rights) == 0;
            is_whole && core::mem::replace(&mut *image.add(15), 1) == 0
        });
        if !is_changed {
            return 3;
        }
        let is_used = fills() == Some(true);
        // New states look the function up again.
        let mut new: Vec<_> = (0..20).map(|_| OwnedState::<u64>::new(&counters)).collect();
        let fill = |owned| with_owned(owned, 0, |read| read.state_and_vdso().1.fill(&mut [0; 16]));
        i32::from(is_used || new.iter_mut().any(|owned| fill(owned) == Some(true)))
    });
    match code {
        2 => println!("SKIPPED: the vDSO here has no getrandom"),
        3 => println!("SKIPPED: the vDSO is sealed here"),
        code => assert_eq!(code, 0),
    }
}

#[test]
fn a_handler_learns_that_locks_may_be_held() {
    let states = Counters::new();
    let prepare = || {
        next(&states);
        sandbox::prepare();
    };
    in_sandbox(prepare, || {
        // The situation of a handler that interrupts a read.
        let nested = || with_state(&states, |_| SignalsBlocked::try_new().is_some());
        let free = with_state(&states, |_| nested());
        let held = with_state(&states, |state| {
            let signals = SignalsBlocked::new();
            let same_read = SignalsBlocked::try_new().is_some();
            *value(state) += 1;
            let answer = (same_read, nested());
            drop(signals);
            (answer, nested())
        });
        free == Some(Some(true)) && held == Some(((true, Some(false)), Some(true)))
    });
}

mod soundness {
    //! Safe programs that once read freed memory or held two `&mut` to one state. Miri runs the quick ones.
    #![forbid(unsafe_code)]

    use crate::common::{Counters, value, with_owned, with_state};
    use std::sync::atomic::{AtomicBool, Ordering};
    use wellspring_os::clone_words::CloneWords;
    use wellspring_os::shared_page::SharedPage;
    use wellspring_os::signals::SignalsBlocked;
    use wellspring_os::thread_state::{DEPTHS, OwnedState, ThreadRead};

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
}
