//! Identifiers in many threads and in great numbers. Their layouts are tested in `src/ids/tests.rs`, and children, signal
//! handlers and cancelled threads in the C library's torture tests.

use std::thread;
use testkit::programs::is_long;
use wellspring::ids;

const THREADS: usize = 4;

/// Each thread makes `count` identifiers, which ascend if they are ordered, and keeps those whose last byte is a multiple
/// of `share`. No two of all that were kept are equal.
fn all_differ(make: fn() -> [u8; 16], is_ordered: bool, count: usize, share: u8) {
    let kept = move || {
        let (mut kept, mut last) = (Vec::new(), [0; 16]);
        for _ in 0..count {
            let id = make();
            assert!(!is_ordered || id > last);
            last = id;
            if id[15].is_multiple_of(share) {
                kept.push(id);
            }
        }
        kept
    };
    let threads: Vec<_> = (0..THREADS).map(|_| thread::spawn(kept)).collect();
    let mut all: Vec<_> = threads
        .into_iter()
        .flat_map(|t| t.join().unwrap())
        .collect();
    let number = all.len();
    assert!(number > THREADS * count / usize::from(share) / 2);
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), number);
}

#[test]
fn identifiers_of_threads_all_differ_and_those_of_each_ascend() {
    all_differ(ids::uuid4, false, 100_000, 1);
    all_differ(ids::uuid7, true, 100_000, 1);
    all_differ(ids::ulid, true, 100_000, 1);
}

/// If a block of 64 identifiers comes twice, the test sees one of them.
#[test]
fn a_billion_identifiers_differ() {
    if is_long("it takes two to five minutes and 400 MB") {
        all_differ(ids::uuid4, false, 250_000_000, 64);
        all_differ(ids::uuid7, true, 250_000_000, 64);
        all_differ(ids::ulid, true, 250_000_000, 64);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_identifier_has_the_time_of_the_coarse_clock() {
    let clock_ms = || {
        // SAFETY: all zeros is a `timespec`, and the pointer is to one.
        let time = unsafe {
            let mut time: libc::timespec = core::mem::zeroed();
            libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &raw mut time);
            time
        };
        time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000
    };
    let before_ms = clock_ms();
    let id = ids::uuid7();
    let after_ms = clock_ms();
    let time_ms = u64::from_be_bytes(id[..8].try_into().unwrap()) >> 16;
    assert!((before_ms..=after_ms).contains(&time_ms));
}
