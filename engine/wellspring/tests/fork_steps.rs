//! A fork in a signal handler, at every instruction of a read.
#![cfg(target_arch = "x86_64")]

mod common;

use common::door::{Door, engine};
use common::process::{self, Fork, Shared};
use common::repeats::{assert_no_zero_run, assert_nothing_in_common};
use common::rows::{Rows, Step};
use common::stepping::{Next, step};
use std::cell::RefCell;
use std::sync::Mutex;
use wellspring::clone_detection::PageState;
use wellspring::{LocalRng, Mode};
use wellspring_os::thread_state::CurrentThread;

/// The read that is interrupted.
const READ_BYTES: usize = 16;

/// The bytes that parent and child read after it, to see what it left in a buffer.
const AFTER_BYTES: usize = 2560;

const REPORT_BYTES: usize = READ_BYTES + AFTER_BYTES;

/// The steps at the end of a read that each get a child: all of a short read. The rest of a long read,
/// mostly keystream, gets [`SPREAD_FORKS`] children.
const LAST_STEPS: usize = 160;
const SPREAD_FORKS: usize = 20;
const MOST_FORKS: usize = LAST_STEPS + 2 * SPREAD_FORKS;
/// A read of ready bytes from a tap has fewer.
const MOST_STEPS_OF_A_SHORT_READ: usize = 600;
/// A read with fewer forks than this and than steps is not the read whose steps were counted.
const FEWEST_FORKS: usize = 101;

/// The instructions from the last check for a fork to the return of the read: 17 to 60 in a build with little
/// optimisation, where the compiler inlines more or fewer of the calls.
const MOST_LATE_FORKS: usize = 70;

/// The same where this machine has a page that tells of clones: to compare it takes 17 instructions.
const MOST_LATE_FORKS_WITH_A_PAGE: usize = 90;

/// The buffers of a thread's tap and of an owned one.
const THREAD_BUFFER_BYTES: usize = 6656;
const OWNED_BUFFER_BYTES: usize = 3840;

/// Forks at every step of `read`, on a state from `make`; the child runs `in_handler` before it goes on with
/// its copy of the read. `rows`: the rows of the table that the steps of this read have, if it is in the table.
fn fork_at_every_step<S>(
    what: &str,
    rows: Option<&'static str>,
    make: impl Fn() -> S + Sync,
    read: impl Fn(&mut S, &mut [u8]) + Sync,
    in_handler: impl Fn(&mut S) + Sync,
) {
    // Work that a process does once, like asking for the features of its CPU, is done before anything is counted. Each
    // runs on its own thread, which may draw for the first time.
    on_new_thread(|| read(&mut make(), &mut [0; READ_BYTES]));
    let is_done = (0..10).any(|_| {
        let steps = count_steps(&make, &read);
        forks_in_steps(what, rows, steps, &make, &read, &in_handler)
    });
    assert!(is_done, "{what}: no two reads had the same number of steps");
}

/// How many steps a read takes.
fn count_steps<S>(make: impl Fn() -> S + Sync, read: impl Fn(&mut S, &mut [u8]) + Sync) -> usize {
    on_new_thread(|| {
        let mut state = make();
        let mut steps = 0;
        let mut count = |number| {
            steps = number;
            Next::Step
        };
        step(&mut count, || read(&mut state, &mut [0; READ_BYTES]));
        steps
    })
}

/// Forks in a read of `steps`. Returns false if the read took fewer steps: the sources of a first read may need
/// fewer samples.
fn forks_in_steps<S>(
    what: &str,
    rows: Option<&'static str>,
    steps: usize,
    make: impl Fn() -> S + Sync,
    read: impl Fn(&mut S, &mut [u8]) + Sync,
    in_handler: impl Fn(&mut S) + Sync,
) -> bool {
    on_new_thread(|| {
        let stride = steps.div_ceil(SPREAD_FORKS);
        let is_due = |number: usize| number + LAST_STEPS > steps || number.is_multiple_of(stride);
        let mut shared = Shared::new(MOST_FORKS * REPORT_BYTES);
        let mut reports = shared.bytes().chunks_exact_mut(REPORT_BYTES);
        let mut state = make();
        let interrupted = &raw mut state;
        let (mut forks, mut is_child) = (0, false);
        let mut value = [0; READ_BYTES];
        let (place, depth) = (&raw const value, CurrentThread::find().depth());
        // Of each fork, and of the instruction before.
        let (mut places, mut before) = (Vec::with_capacity(MOST_FORKS), None);
        let mut fork = |number: usize| {
            let now = Step::now(depth, place);
            let is_new = before.replace(now) != Some(now);
            if !(is_due(number) || is_new) || forks == MOST_FORKS {
                return Next::Step;
            }
            match Fork::RawClone.call() {
                0 => {
                    is_child = true;
                    // SAFETY: `in_handler` leaves alone what the interrupted read uses.
                    unsafe { in_handler(&mut *interrupted) };
                    Next::Run
                }
                pid => {
                    process::Child(pid).join();
                    places.push(now);
                    forks += 1;
                    Next::Step
                }
            }
        };
        step(&mut fork, || read(&mut state, &mut value));
        let mut finish = |report: &mut [u8]| {
            let (first, after) = report.split_at_mut(READ_BYTES);
            first.copy_from_slice(&value);
            after
                .chunks_mut(64)
                .for_each(|after| read(&mut state, after));
        };
        if is_child {
            process::run_and_exit(|| finish(reports.nth(forks).unwrap()));
        }
        let mut parent = vec![0; REPORT_BYTES];
        finish(&mut parent);
        // Optimised code reads from a buffer in 60 steps, and each gets a fork.
        if forks < steps.min(FEWEST_FORKS) {
            return false;
        }
        let children = shared.bytes().chunks_exact(REPORT_BYTES).take(forks);
        // A fork after the last check for a fork counts as after the read: both processes have its output.
        let is_late = |child: &[u8]| child[..READ_BYTES] == parent[..READ_BYTES];
        let late = children.clone().position(is_late);
        if let Some(of) = rows {
            let mut rows = Rows::of(of);
            for (child, &place) in children.clone().zip(&places) {
                rows.see(place, if is_late(child) { "late" } else { "again" });
            }
            rows.check_seen(what);
            // A reseed makes a long read of a short one. And a long read may have more steps than were counted: the sources
            // decide how many.
            if steps < MOST_STEPS_OF_A_SHORT_READ && of == "fork tap" && !rows.are_all() {
                return false;
            }
        }
        let late_forks = forks - late.unwrap_or(forks);
        println!("{what}: {forks} forks in {steps} steps, {late_forks} of them too late");
        let watched = wellspring::stats().clone_detection;
        let most = if watched.page == PageState::Watched || watched.vmclock {
            MOST_LATE_FORKS_WITH_A_PAGE
        } else {
            MOST_LATE_FORKS
        };
        assert!(late_forks < most, "{what}: {most} are allowed");
        let drawn = children.enumerate().map(|(number, child)| {
            if number < forks - late_forks {
                child
            } else {
                &child[READ_BYTES..]
            }
        });
        let drawn: Vec<&[u8]> = drawn.chain([&*parent]).collect();
        assert_nothing_in_common(&drawn, what);
        true
    })
}

/// One at a time: a fork has every other thread of a process copy its pages.
fn on_new_thread<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock();
    std::thread::scope(|scope| scope.spawn(work).join().unwrap())
}

fn nothing<S>(_: &mut S) {}

const TAP: Option<&str> = Some("fork tap");
const NODE: Option<&str> = Some("fork node");

/// A door of `mode` whose tap, if it has one, has `left_bytes` in its buffer.
fn with_left(mode: Mode, left_bytes: usize) -> Door {
    warm(Door::Engine(engine(mode)), THREAD_BUFFER_BYTES - left_bytes)
}

/// The same for an owned tap.
fn owned_with_left(left_bytes: usize) -> Door {
    let door = Door::Owned(engine(Mode::PerThread).rng());
    warm(door, OWNED_BUFFER_BYTES - left_bytes)
}

/// Has the door fill a buffer, and takes `taken_bytes` of it.
fn warm(mut door: Door, taken_bytes: usize) -> Door {
    // This read seeds the engine, after which the tap's key is of the generation before.
    door.fill(&mut [0; 1]);
    fill_whole_buffer(&mut |destination| door.fill(destination));
    door.fill(&mut vec![0; taken_bytes - 1]);
    door
}

/// Has a tap fill all of its buffer and give away one byte of it. The first read under a new key fills a part only.
fn fill_whole_buffer(fill: &mut dyn FnMut(&mut [u8])) {
    fill(&mut [0; 1]);
    // The rest of that buffer, then bytes that go straight to the destination.
    fill(&mut [0; THREAD_BUFFER_BYTES]);
    fill(&mut [0; 1]);
}

#[test]
fn a_read_from_the_buffer_is_not_repeated() {
    let make = || with_left(Mode::PerThread, 64);
    fork_at_every_step("a read from the buffer", TAP, make, Door::fill, nothing);
}

#[test]
fn a_read_that_refills_the_buffer_is_not_repeated() {
    let make = || with_left(Mode::PerThread, 8);
    fork_at_every_step("a refill", TAP, make, Door::fill, nothing);
}

#[test]
fn a_read_in_another_mode_is_not_repeated() {
    for mode in [Mode::Canonical, Mode::PerNode] {
        let make = || with_left(mode, 0);
        fork_at_every_step(&format!("mode {mode}"), NODE, make, Door::fill, nothing);
    }
}

#[test]
fn the_first_read_of_an_engine_is_not_repeated() {
    for mode in [Mode::Canonical, Mode::PerThread] {
        let make = || Door::Engine(engine(mode));
        fork_at_every_step(
            &format!("first in mode {mode}"),
            None,
            make,
            Door::fill,
            nothing,
        );
    }
}

#[test]
fn a_read_of_an_owned_generator_is_not_repeated() {
    // A read that refills is below, in a crowd.
    let buffered = || owned_with_left(64);
    fork_at_every_step("a generator's buffer", None, buffered, Door::fill, nothing);
    let new = || Door::Owned(engine(Mode::PerThread).rng());
    fork_at_every_step("a new generator", None, new, Door::fill, nothing);
}

#[test]
fn a_statistical_read_is_not_repeated() {
    let seeded = || {
        Door::Pseudo.fill(&mut [0; 8]);
        Door::Pseudo
    };
    fork_at_every_step("statistical", None, seeded, Door::fill, nothing);
    let unseeded = || {
        Door::Global.fill(&mut [0; 8]);
        Door::Pseudo
    };
    fork_at_every_step("statistical, first", None, unseeded, Door::fill, nothing);
}

#[test]
fn a_read_whose_slot_is_taken_again_in_the_child_changes_no_other_read() {
    /// More than any chunk of slots has.
    const GENERATORS: usize = 130;

    struct Crowd {
        door: Door,
        generators: RefCell<Vec<LocalRng>>,
        turn: usize,
        next: usize,
    }

    let others = engine(Mode::PerThread);
    for (what, make) in [
        (
            "buffered",
            &(|| with_left(Mode::PerThread, 64)) as &(dyn Fn() -> Door + Sync),
        ),
        ("owned, buffered", &|| owned_with_left(64)),
        ("owned, refilling", &|| owned_with_left(8)),
        ("statistical", &|| {
            Door::Pseudo.fill(&mut [0; 8]);
            Door::Pseudo
        }),
    ] {
        let make = || Crowd {
            door: make(),
            generators: RefCell::new(Vec::with_capacity(GENERATORS)),
            turn: 0,
            next: 0,
        };
        let read = |crowd: &mut Crowd, destination: &mut [u8]| {
            crowd.turn += 1;
            let generators = crowd.generators.get_mut();
            if generators.is_empty() || crowd.turn.is_multiple_of(8) {
                return crowd.door.fill(destination);
            }
            for destination in destination.chunks_mut(16) {
                let generator = &mut generators[crowd.next];
                generator.fill(destination);
                // The rest of its buffer, which must not have a trace of another reader.
                let mut rest = [0; OWNED_BUFFER_BYTES - 32];
                generator.fill(&mut rest);
                assert_no_zero_run(&rest, what);
                crowd.next = (crowd.next + 1) % GENERATORS;
            }
        };
        let crowd_in = |crowd: &mut Crowd| {
            let mut generators = crowd.generators.borrow_mut();
            for _ in 0..GENERATORS {
                let mut generator = others.rng();
                fill_whole_buffer(&mut |destination| generator.fill(destination));
                generators.push(generator);
            }
        };
        fork_at_every_step(&format!("crowded, {what}"), None, make, read, crowd_in);
    }
}
