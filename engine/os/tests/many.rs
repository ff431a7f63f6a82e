//! Many states at once.

mod common;

use common::{Counters, eventually, in_child, mappings, next, with_owned};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::Duration;
use wellspring_os::thread_state::{OwnedState, unlocked_bytes};

/// One test at a time: each looks at the mappings of the whole process.
static ALONE: Mutex<()> = Mutex::new(());

/// A state that fills a slot.
type Words = [u64; 500];

#[test]
fn owned_states_share_mappings_though_they_are_locked() {
    let _alone = ALONE.lock();
    const STATES: usize = 5000;
    let owner = Counters::new();
    let before = mappings();
    let mut states: Vec<OwnedState<Words>> = Vec::with_capacity(STATES);
    for _ in 0..STATES {
        let mut state = OwnedState::<Words>::new(&owner);
        assert_eq!(with_owned(&mut state, 0, |read| read.state()[499]), Some(0));
        states.push(state);
    }
    // 8 + 16 + ... + 512 slots, then 512 each: 15 chunks, of a mapping or two.
    let more = mappings() - before;
    assert!(more <= 32, "{more} mappings for {STATES} states");
}

#[test]
fn sixteen_engines_on_a_thread_keep_their_states() {
    let _alone = ALONE.lock();
    let all: [Counters; 16] = core::array::from_fn(|_| Counters::new());
    std::thread::scope(|scope| {
        let work = || {
            for round in 1..=3 {
                for states in &all {
                    assert_eq!(next(states), Some(round));
                }
            }
        };
        scope.spawn(work).join().unwrap();
    });
}

/// How many bytes of memory that is wiped on fork are in use.
fn resident_bytes() -> usize {
    let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let (mut resident, mut all) = (0, 0);
    for line in smaps.lines() {
        if let Some(kib) = line.strip_prefix("Rss:") {
            resident = kib.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10;
        }
        if let Some(flags) = line.strip_prefix("VmFlags:") {
            let has = |flag| flags.split_whitespace().any(|other| other == flag);
            all += if has("wf") && !has("dp") { resident } else { 0 };
        }
    }
    all
}

#[test]
fn a_state_touches_no_more_of_its_chunk_than_itself() {
    let _alone = ALONE.lock();
    let owner = Counters::new();
    let before = resident_bytes();
    let (has_limit, locked) = (limits_locked_memory(), locked_bytes());
    // A node that no other test uses: five chunks, 248 slots, 992 KiB.
    assert!(OwnedState::<Words>::reserve(77, 200));
    let locked = locked_bytes() - locked;
    assert!(
        has_limit || locked >= 200 << 12,
        "{locked} bytes locked: no read may do it later"
    );
    let mut state = OwnedState::<Words>::new(&owner);
    assert_eq!(
        with_owned(&mut state, 77, |read| read.state()[499]),
        Some(0)
    );
    let more = resident_bytes() - before;
    assert!((1..=32 << 10).contains(&more), "{more} bytes");
}

/// Allows the process to lock what it likes. Returns whether the system refused that.
fn limits_locked_memory() -> bool {
    let no_limit = libc::rlimit {
        rlim_cur: libc::RLIM_INFINITY,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: the pointer is to the limit.
    unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const no_limit) != 0 }
}

/// How many bytes this process has locked, or was refused to lock.
fn locked_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mut lines = status.lines();
    let kib = lines.find_map(|line| line.strip_prefix("VmLck:")).unwrap();
    let kib: usize = kib.trim().trim_end_matches(" kB").parse().unwrap();
    (kib << 10) + unlocked_bytes()
}

/// Runs in a child, where no other test has locked anything.
#[test]
fn at_every_number_of_threads_a_slot_is_locked_for_each() {
    let _alone = ALONE.lock();
    let code = in_child(|| {
        let _ = limits_locked_memory();
        let states = Counters::new();
        let before = locked_bytes();
        let read = || assert_eq!(next(&states), Some(1));
        let (arrived, gate) = (AtomicUsize::new(0), RwLock::new(()));
        let (mut first, mut each) = (0, Vec::new());
        std::thread::scope(|scope| {
            let _closed = gate.write();
            let mut threads = 0;
            for count in [1, 16, 64, 128, 256] {
                while threads < count {
                    scope.spawn(|| {
                        read();
                        arrived.fetch_add(1, Ordering::Relaxed);
                        drop(gate.read());
                    });
                    threads += 1;
                }
                assert!(eventually(|| arrived.load(Ordering::Relaxed) == count));
                // Threads that end beside them take one slot in turn.
                for _ in 0..100 {
                    std::thread::scope(|scope| scope.spawn(read).join()).unwrap();
                }
                let locked = locked_bytes() - before;
                if count == 1 {
                    first = locked;
                } else {
                    each.push((locked - first) / count);
                }
            }
        });
        println!("{first} bytes, then {each:?} each");
        let is_right = each.iter().all(|each| (7000..=9000).contains(each));
        i32::from(first != 8 * 8192 || !is_right)
    });
    assert_eq!(code, 0);
}

/// The process's time on a CPU.
fn cpu_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to the time.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// It maps no memory each time, as there was room for it.
#[test]
fn a_state_that_gets_no_slot_learns_so_in_microseconds() {
    let _alone = ALONE.lock();
    let code = in_child(|| {
        let owner = Counters::new();
        let take = || {
            let mut state = OwnedState::<u64>::new(&owner);
            with_owned(&mut state, 0, |_| ()).map(|()| state)
        };
        let held: Vec<_> = core::iter::from_fn(take).collect();
        let start = cpu_time();
        let refused = (0..200).filter(|_| take().is_none()).count();
        let time = cpu_time() - start;
        println!("{refused} refusals in {time:?} after {} states", held.len());
        i32::from(refused != 200 || held.len() < 60_000 || time > Duration::from_millis(20))
    });
    assert_eq!(code, 0);
}
