//! A child process never repeats its parent, whatever made it and whatever it interrupted.

mod common;

use common::door::{Door, engine};
use common::process::{self, Fork, Shared};
#[cfg(target_os = "linux")]
use common::repeats::assert_no_value_twice;
use common::repeats::assert_nothing_in_common;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wellspring::{Engine, Error, Mode};

/// The bytes that each process draws after a fork: more than any buffer, by reads that do not divide one.
const REPORT_BYTES: usize = 4608;

const FORKS: usize = 20;

#[test]
fn a_child_repeats_nothing_of_its_parent() {
    for mut door in Door::all() {
        for fork in Fork::BOTH {
            let mut reports = Shared::new(FORKS * REPORT_BYTES);
            let mut drawn = Vec::new();
            for report in reports.bytes().chunks_mut(REPORT_BYTES) {
                let mut before = vec![0; 48];
                door.fill_by(16, &mut before);
                let child = process::start(fork, || door.fill_by(48, report));
                let mut after = vec![0; REPORT_BYTES];
                door.fill_by(48, &mut after);
                child.join();
                drawn.extend([before, after]);
            }
            let children = reports.bytes().chunks(REPORT_BYTES).map(<[u8]>::to_vec);
            drawn.extend(children);
            assert_nothing_in_common(&drawn, &format!("{} after {fork:?}", door.name()));
        }
    }
}

#[test]
fn children_of_children_repeat_neither_their_parents_nor_each_other() {
    const CHILDREN: usize = 3;
    const GENERATIONS: u32 = 3;
    let processes: usize = (0..=GENERATIONS).map(|n| CHILDREN.pow(n)).sum();

    /// Draws, and has its children do the same, each with a part of the places.
    fn descend(door: &mut Door, fork: Fork, generations: u32, reports: &mut [[u8; REPORT_BYTES]]) {
        let (own, places) = reports.split_first_mut().unwrap();
        door.fill_by(48, &mut own[..48]);
        if generations > 0 {
            for places in places.chunks_mut(places.len() / CHILDREN) {
                let descend = || descend(door, fork, generations - 1, places);
                process::start(fork, descend).join();
            }
        }
        door.fill_by(48, &mut own[48..]);
    }

    for mut door in Door::all() {
        for fork in Fork::BOTH {
            let mut reports = Shared::new(processes * REPORT_BYTES);
            let (places, _) = reports.bytes().as_chunks_mut::<REPORT_BYTES>();
            descend(&mut door, fork, GENERATIONS, places);
            assert_nothing_in_common(places, &format!("{} after {fork:?}", door.name()));
        }
    }
}

struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_child_forked_under_eight_busy_threads_draws_at_once_and_repeats_none_of_them() {
    const THREADS: usize = 8;
    const FORKS: usize = 20;
    const KEPT_BYTES: usize = 400_000;
    for mode in Mode::ALL {
        let engine = engine(mode);
        let stop = AtomicBool::new(false);
        let mut reports = Shared::new(FORKS * REPORT_BYTES);
        let busy = |thread: usize| {
            let mut kept = Vec::with_capacity(KEPT_BYTES);
            let (mut small, mut large) = ([0; 16], vec![0; 100_000]);
            for round in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                match (round + thread) % 64 {
                    0 => engine.fill(&mut large),
                    1 => drop(engine.reseed()),
                    2 => engine.mix(&small),
                    3 => drop(engine.stats()),
                    _ => engine.fill(&mut small),
                }
                if kept.len() < KEPT_BYTES {
                    engine.fill(&mut small);
                    kept.extend(small);
                }
            }
            kept
        };
        let mut slowest = Duration::ZERO;
        let mut drawn: Vec<Vec<u8>> = std::thread::scope(|scope| {
            let busy = &busy;
            let threads: [_; THREADS] = std::array::from_fn(|n| scope.spawn(move || busy(n)));
            // When a child fails, too: the scope waits for the threads.
            let stop = StopOnDrop(&stop);
            for (number, report) in reports.bytes().chunks_mut(REPORT_BYTES).enumerate() {
                let fork = Fork::BOTH[number % 2];
                let begin = Instant::now();
                process::start(fork, || {
                    engine.fill(&mut report[..16]);
                    let _ = engine.reseed();
                    engine.fill(&mut report[16..64]);
                    engine.fill(&mut report[64..]);
                })
                .join();
                slowest = slowest.max(begin.elapsed());
            }
            drop(stop);
            threads.map(|thread| thread.join().unwrap()).into()
        });
        println!("{mode}: the slowest of {FORKS} children took {slowest:?}");
        let children = reports.bytes().chunks(REPORT_BYTES).map(<[u8]>::to_vec);
        drawn.extend(children);
        assert_nothing_in_common(&drawn, &format!("{mode} under threads"));
    }
}

#[test]
fn a_child_of_an_engine_that_has_only_a_seed_is_not_seeded() {
    for mode in Mode::ALL {
        let builder = Engine::builder().mode(mode).sources([]).seed(&[7; 32]);
        let engine = builder.build().unwrap();
        let mut drawn = [0; 64];
        engine.try_fill(&mut drawn).unwrap();
        process::start(Fork::RawClone, || {
            let mut untouched = [0x5a; 64];
            assert_eq!(engine.try_fill(&mut untouched), Err(Error::NotSeeded));
            assert_eq!(untouched, [0x5a; 64]);
        })
        .join();
        engine.try_fill(&mut drawn).unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_line_of_two_hundred_children_takes_no_more_memory_than_one() {
    const LINE: usize = 200;
    let mut counts = Shared::new((LINE + 1) * size_of::<u64>());

    /// Draws from everything, notes the mappings, and goes on in a child.
    fn descend(doors: &mut [Door], counts: &mut [[u8; 8]]) {
        let mut drawn = [0; 48];
        doors.iter_mut().for_each(|door| door.fill(&mut drawn));
        if let Some((count, rest)) = counts.split_first_mut() {
            *count = process::mappings().to_le_bytes();
            process::start(Fork::Library, || descend(doors, rest)).join();
        }
    }

    let (places, _) = counts.bytes().as_chunks_mut::<8>();
    // On a stack and heap of their own for the whole line, whatever other tests do meanwhile.
    process::start(Fork::Library, || descend(&mut Door::all(), places)).join();
    let counts: Vec<usize> = places.iter().map(|c| usize::from_le_bytes(*c)).collect();
    let (early, last) = (counts[5], counts[LINE]);
    println!("mappings: {early} in the 5th generation, {last} in the {LINE}th");
    assert!(last <= early + 4, "{early} mappings became {last}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_fork_in_a_handler_in_the_middle_of_megabytes_leaves_two_different_reads() {
    use common::timer::{Timer, handle};
    use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr};

    const BYTES: usize = 3 << 20;
    const FORKS: i64 = 6;
    /// The child of the last handler, 0 in that child, -1 before the handler ran.
    static FORKED: AtomicI32 = AtomicI32::new(-1);
    /// The last 16 bytes of the read, which are zero until the read wrote them.
    static END: AtomicPtr<[u8; 16]> = AtomicPtr::new(std::ptr::null_mut());
    /// Whether the handler found them written: it ran after the read, or in the instructions behind its last fork check, and
    /// parent and child have the same bytes, as they must.
    static WRITTEN: AtomicBool = AtomicBool::new(false);

    extern "C" fn on_signal(_: libc::c_int) {
        // SAFETY: the place is in the buffer of the running test, which stays until the last handler has run.
        let end = unsafe { END.load(Ordering::Relaxed).read_volatile() };
        WRITTEN.store(end != [0; 16], Ordering::Relaxed);
        let pid = Fork::RawClone.call();
        FORKED.store(pid, Ordering::Relaxed);
    }

    handle(libc::SIGUSR1, on_signal);
    let mut shared = Shared::new(BYTES);
    for mut door in Door::all() {
        let mut read = vec![0; BYTES];
        let begin = Instant::now();
        door.fill(&mut read);
        let read_ns = begin.elapsed().as_nanos() as i64;
        END.store(read[BYTES - 16..].as_mut_ptr().cast(), Ordering::Relaxed);
        for number in 0..FORKS {
            FORKED.store(-1, Ordering::Relaxed);
            read.fill(0);
            let when_ns = read_ns * (2 * number + 1) / (2 * FORKS);
            let timer = Timer::start(libc::SIGUSR1, when_ns, 0);
            door.fill(&mut read);
            let mut forked = FORKED.load(Ordering::Relaxed);
            while forked < 0 {
                // The read was faster than the last.
                std::hint::spin_loop();
                forked = FORKED.load(Ordering::Relaxed);
            }
            if forked == 0 && WRITTEN.load(Ordering::Relaxed) {
                process::run_and_exit(|| door.fill(shared.bytes()));
            }
            if forked == 0 {
                process::run_and_exit(|| shared.bytes().copy_from_slice(&read));
            }
            drop(timer);
            process::Child(forked).join();
            let (parent, _) = read.as_chunks::<16>();
            let (child, _) = shared.bytes().as_chunks::<16>();
            let what = format!("{}, {number} of {FORKS}", door.name());
            assert_no_value_twice(&mut [parent, child].concat(), &what);
        }
    }
}
