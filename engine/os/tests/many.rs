//! Many states at once.

mod common;

use common::{Counters, mappings, next, with_owned};
use std::sync::Mutex;
use wellspring_os::thread_state::OwnedState;

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
    // A node that no other test uses: five chunks, 248 slots, 992 KiB.
    assert!(OwnedState::<Words>::reserve(77, 200));
    let mut state = OwnedState::<Words>::new(&owner);
    assert_eq!(
        with_owned(&mut state, 77, |read| read.state()[499]),
        Some(0)
    );
    let more = resident_bytes() - before;
    assert!((1..=32 << 10).contains(&more), "{more} bytes");
}
