//! Children of a raw clone(2): a lock of malloc(3) that another thread held would stay locked there, so no test makes one while
//! another test runs.
//!
//! ```text
//! steps         a handler, and a fork in it, at every instruction of a read
//! wipe_at_fork  the way of macOS, where no kernel wipes a child
//! ```

#![cfg(any(target_arch = "x86_64", wellspring_test_at_fork))]

mod common;

use std::sync::Mutex;

/// The lock of the thread that makes a child.
static ALONE: Mutex<()> = Mutex::new(());

#[cfg(target_arch = "x86_64")]
mod steps {
    //! A signal handler, and a fork in it, at every instruction of a read: no value is read twice.

    use crate::ALONE;
    use crate::common::stepping::{Next, step};
    use crate::common::with_state;
    use std::cell::Cell;
    use std::collections::HashSet;
    use std::sync::atomic::{AtomicU64, Ordering};
    use wellspring_os::thread_state::{CurrentThread, State, ThreadStates};

    /// A model of a tap: it hands out `key + left`, and no other tap gets the key.
    type Tap = [u64; 2];
    type Taps = ThreadStates<Tap, Tap>;

    const KEY: usize = 0;
    const LEFT: usize = 1;
    const BUFFERED: u64 = 8;

    /// A key of this process: a child's are others.
    fn new_key() -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let process = u64::from(std::process::id());
        process << 32 | NEXT.fetch_add(1, Ordering::Relaxed) << 8
    }

    fn take(tap: &mut Tap) -> Option<u64> {
        let left = tap[LEFT];
        if left == 0 || left > BUFFERED {
            return None;
        }
        tap[LEFT] = left - 1;
        Some(tap[KEY] + left)
    }

    fn read(taps: &Taps) -> u64 {
        if let Some(mut current) = taps.try_current(CurrentThread::find()) {
            let taken = take(current.state());
            if let (Some(_), Some(value)) = (current.end(), taken) {
                return value;
            }
        }
        let generation = taps.generation();
        let value = with_state(taps, |state| {
            let tap = match state.state() {
                State::Outermost(tap) | State::Nested(tap) => tap,
            };
            let value = take(tap).unwrap_or_else(|| {
                *tap = [new_key(), BUFFERED - 1];
                tap[KEY] + BUFFERED
            });
            state.mark_current(generation, 0);
            value
        });
        // Deeper than there are states.
        value.unwrap_or_else(new_key)
    }

    /// Taps whose outermost one on this thread has `left` values; `None` for a thread that has none yet.
    fn taps(left: Option<u64>) -> Taps {
        let taps = Taps::new();
        if let Some(left) = left {
            for _ in left..BUFFERED {
                read(&taps);
            }
        }
        taps
    }

    const LEFT_BEFORE: [Option<u64>; 4] = [Some(4), Some(1), Some(0), None];

    /// Each on a thread of its own: a fork copies every thread's pages.
    fn on_new_thread<R: Send>(work: impl FnOnce() -> R + Send) -> R {
        let _alone = ALONE.lock();
        std::thread::scope(|scope| scope.spawn(work).join().unwrap())
    }

    #[test]
    fn a_handler_at_any_instruction_reads_other_values() {
        for left in LEFT_BEFORE {
            on_new_thread(|| {
                let taps = taps(left);
                let mut values = Vec::with_capacity(1 << 16);
                let mut handled = Vec::with_capacity(1 << 16);
                let mut on_step = |_| {
                    handled.push(read(&taps));
                    Next::Step
                };
                values.push(step(&mut on_step, || read(&taps)));
                let steps = handled.len();
                values.append(&mut handled);
                values.extend((0..2 * BUFFERED).map(|_| read(&taps)));
                let different: HashSet<u64> = values.iter().copied().collect();
                assert_eq!(different.len(), values.len(), "{left:?} left");
                assert!(steps > 10, "{steps} steps");
            });
        }
    }

    /// Memory that parent and child share.
    fn shared_words(count: usize) -> &'static mut [u64] {
        // SAFETY: a new mapping, never unmapped.
        unsafe {
            let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
            let flags = kind | libc::MAP_ANONYMOUS;
            let start = libc::mmap(core::ptr::null_mut(), count * 8, access, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            core::slice::from_raw_parts_mut(start.cast(), count)
        }
    }

    /// The length of each process's report: the values of the interrupted read and of the reads after it.
    const REPORT: usize = 1 + 2 * BUFFERED as usize;
    const MAX_FORKS: usize = 400;

    /// The instructions of a read after its last check for a fork: on the hot path, and on the long way.
    const MAX_LATE_FORKS: [usize; 2] = [24, 80];

    fn fork_at_every_step(left: Option<u64>, in_handler: impl Fn(&Taps) + Sync) {
        on_new_thread(|| {
            // How many steps there are, and which of them get a child: all of the last ones.
            let counted = taps(left);
            let mut steps = 0;
            let mut count = |number| {
                steps = number;
                Next::Step
            };
            step(&mut count, || read(&counted));
            // The next ones take its place as the thread's first.
            drop(counted);
            let is_hot = left.is_some_and(|left| left > 0);
            let stride = steps.div_ceil(100);
            let is_due = |number: usize| number + 200 > steps || number.is_multiple_of(stride);

            let taps = taps(left);
            let reports = shared_words(MAX_FORKS * REPORT);
            let (mut forks, mut is_child) = (0, false);
            let is_done = Cell::new(false);
            let mut on_step = |number| {
                if is_done.get() || !is_due(number) || forks == MAX_FORKS {
                    return Next::Step;
                }
                // SAFETY: the child reads, writes to the shared words, and ends.
                match unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as i32 } {
                    0 => {
                        is_child = true;
                        in_handler(&taps);
                        Next::Run
                    }
                    pid => {
                        assert_eq!(
                            crate::common::exit_status(pid),
                            0,
                            "at step {number} of {steps}"
                        );
                        forks += 1;
                        Next::Step
                    }
                }
            };
            let value = step(&mut on_step, || {
                let value = read(&taps);
                is_done.set(true);
                value
            });
            let report = |report: &mut [u64]| {
                report[0] = value;
                report[1..].fill_with(|| read(&taps));
            };
            if is_child {
                let words = &mut reports[forks * REPORT..][..REPORT];
                report(words);
                // Nothing is left of a tap that was wiped and written to: all is made with the child's own keys.
                let own = u64::from(std::process::id());
                let is_own = words[1..].iter().all(|value| value >> 32 == own);
                // SAFETY: ends the child.
                unsafe { libc::_exit(i32::from(!is_own)) };
            }
            let mut parent = [0; REPORT];
            report(&mut parent);
            let known: HashSet<u64> = parent.into_iter().collect();
            let mut late = 0;
            for child in reports.chunks_exact(REPORT).take(forks) {
                late += usize::from(child[0] == parent[0]);
                assert!(
                    child[1..].iter().all(|value| !known.contains(value)),
                    "{left:?} left"
                );
            }
            println!("{left:?} left: {forks} forks in {steps} steps, {late} of them late");
            assert!(
                forks > 20 && late < MAX_LATE_FORKS[usize::from(!is_hot)],
                "{late} of {forks}"
            );
        });
    }

    #[test]
    fn a_child_forked_at_any_instruction_reads_other_values() {
        let other = Taps::new();
        for left in LEFT_BEFORE {
            fork_at_every_step(left, |_| ());
            fork_at_every_step(left, |taps| _ = read(taps));
            fork_at_every_step(left, |_| _ = read(&other));
        }
    }

    /// Reads the mark of `states`; a state without one gets it.
    fn mark_of(states: &Taps, mark: u64) -> u64 {
        if let Some(mut current) = states.try_current(CurrentThread::find()) {
            let found = current.state()[0];
            if current.end().is_some() {
                return found;
            }
        }
        let generation = states.generation();
        let found = with_state(states, |state| {
            state.mark_current(generation, 0);
            match state.state() {
                State::Outermost(state) | State::Nested(state) => state[0] = mark,
            }
        });
        found.map_or(mark, |()| mark)
    }

    /// Interrupts the hot path at one of its steps with reads of `others`. `false`: it has fewer steps.
    fn interrupt_by_many(others: &[Taps], at_step: usize) -> bool {
        let states = Taps::new();
        mark_of(&states, 1);
        let mut was_interrupted = false;
        let mut on_step = |number| {
            if number == at_step {
                was_interrupted = true;
                for (number, other) in others.iter().enumerate() {
                    let mark = 2 + number as u64;
                    assert_eq!(mark_of(other, mark), mark);
                }
            }
            Next::Step
        };
        let found = step(&mut on_step, || mark_of(&states, 1));
        assert_eq!(found, 1, "interrupted at step {at_step}");
        assert_eq!(mark_of(&states, 1), 1);
        was_interrupted
    }

    #[test]
    fn a_handler_that_uses_many_states_puts_none_in_the_place_of_those_that_are_read() {
        // More than a thread keeps, at every place among them.
        let others: Vec<Taps> = (0..40).map(|_| Taps::new()).collect();
        let interrupt = |at_step| on_new_thread(|| interrupt_by_many(&others, at_step));
        let steps = (1..).take_while(|&at_step| interrupt(at_step)).count();
        assert!(steps > 10, "{steps} steps");
    }
}

#[cfg(wellspring_test_at_fork)]
mod wipe_at_fork {
    //! The way of macOS, where no kernel wipes a child: a handler of fork(3) does, and else the number of the process tells.
    //! Built on Linux by `.ci/steps chore systems`.

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
        let child = crate::common::in_child(|| {
            i32::from(unsafe { start.cast::<u64>().read_volatile() } != 7)
        });
        assert_eq!(child, 0);
    }
}
