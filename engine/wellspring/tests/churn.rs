//! Threads, generators and engines that come and go leave nothing behind.

mod common;

use common::door::engine;
use common::process::{mappings, status_kib};
use std::sync::Mutex;
use wellspring::{Engine, Mode};

/// The most memory that an allocator and a test harness take meanwhile, in KiB.
const SLACK_KIB: usize = 4096;

/// The stacks of ended threads that glibc keeps, at most, in KiB of address space. How many depends on the scheduler.
const STACKS_KIB: usize = 40 << 10;

/// One at a time: they measure the process.
static ALONE: Mutex<()> = Mutex::new(());

/// Lets glibc reserve no 64 MiB for each thread that allocates while another one does: that depends on the scheduler.
fn allocate_in_one_arena() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it sets a number.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Mappings, and KiB of address space and of memory.
#[derive(Clone, Copy, Debug)]
struct Footprint {
    mappings: usize,
    virtual_kib: usize,
    resident_kib: usize,
}

impl Footprint {
    fn now() -> Self {
        Self {
            mappings: mappings(),
            virtual_kib: status_kib("VmSize:"),
            resident_kib: status_kib("VmRSS:"),
        }
    }

    fn assert_not_beyond(self, early: Self, what: &str) {
        println!("{what}: {early:?}, later {self:?}");
        assert!(self.mappings <= early.mappings + 16, "{what}");
        let virtual_kib = early.virtual_kib + SLACK_KIB + STACKS_KIB;
        assert!(self.virtual_kib <= virtual_kib, "{what}");
        assert!(
            self.resident_kib <= early.resident_kib + SLACK_KIB,
            "{what}"
        );
    }
}

#[test]
fn a_hundred_thousand_threads_take_no_more_memory_than_ten_thousand() {
    const SPAWNERS: usize = 4;
    let _alone = ALONE.lock();
    allocate_in_one_arena();
    let engine = engine(Mode::PerThread);
    let spawn = |threads: usize| {
        std::thread::scope(|scope| {
            for _ in 0..SPAWNERS {
                scope.spawn(|| {
                    for _ in 0..threads / SPAWNERS {
                        let engine = engine.clone();
                        let short = std::thread::spawn(move || (engine.u64(), wellspring::u64()));
                        let (first, second) = short.join().unwrap();
                        assert_ne!(first, second);
                    }
                });
            }
        });
    };
    spawn(10_000);
    let early = Footprint::now();
    spawn(90_000);
    Footprint::now().assert_not_beyond(early, "threads");
    let taps = engine.stats().taps;
    assert!(taps <= 1, "{taps} taps of threads that have ended");
}

#[test]
fn owned_generators_that_are_dropped_leave_nothing() {
    let _alone = ALONE.lock();
    allocate_in_one_arena();
    let engine = engine(Mode::PerThread);
    let draw = |times| {
        for _ in 0..times {
            engine.rng().fill(&mut [0; 16]);
        }
    };
    draw(2_000);
    let early = Footprint::now();
    draw(100_000);
    Footprint::now().assert_not_beyond(early, "generators");
    assert_eq!(engine.stats().taps, 0);
}

#[test]
fn engines_that_are_dropped_leave_nothing_on_any_thread() {
    const THREADS: usize = 3;
    let _alone = ALONE.lock();
    allocate_in_one_arena();
    let (done, finished) = std::sync::mpsc::channel();
    let draw = |times: usize| {
        // The threads outlive every engine that they draw from.
        let threads: [_; THREADS] = std::array::from_fn(|_| {
            let (work, engines) = std::sync::mpsc::channel::<Engine>();
            let done = done.clone();
            let thread = std::thread::spawn(move || {
                for engine in engines {
                    assert_ne!(engine.u64(), 0);
                    drop(engine);
                    done.send(()).unwrap();
                }
            });
            (work, thread)
        });
        for _ in 0..times {
            let engine = Engine::builder().build().unwrap();
            threads
                .iter()
                .for_each(|(work, _)| work.send(engine.clone()).unwrap());
            (0..THREADS).for_each(|_| finished.recv().unwrap());
        }
        for (work, thread) in threads {
            drop(work);
            thread.join().unwrap();
        }
    };
    draw(200);
    let early = Footprint::now();
    draw(800);
    Footprint::now().assert_not_beyond(early, "engines");
}
