//! A child whose parent was seeded is seeded too, even if it may not ask the system for random bytes.

mod common;

use common::filter::{Forbidden, allow_only, forbid};
use common::process::{Fork, Shared, run_and_exit, start};
use common::repeats::assert_nothing_in_common;
use std::sync::Mutex;
use wellspring::{Engine, Error, Phase};

const REPORT_BYTES: usize = 256;

/// Every fork of this process takes from the same engine.
static ALONE: Mutex<()> = Mutex::new(());

/// From now on getrandom(2) fails.
fn forbid_getrandom(error: i32) {
    if !forbid(&[libc::SYS_getrandom], Forbidden::Fails(error)) {
        // The report stays empty.
        run_and_exit(|| {});
    }
}

fn is_filter_possible() -> bool {
    let mut answer = Shared::new(1);
    start(Fork::Library, || {
        answer.bytes()[0] = u8::from(forbid(&[libc::SYS_getppid], Forbidden::Kills));
    })
    .join();
    let is_possible = answer.bytes()[0] == 1;
    if !is_possible {
        common::skipped("no seccomp filter can be installed here");
    }
    is_possible
}

#[test]
fn children_without_getrandom_are_seeded_by_their_parent_and_repeat_nothing() {
    let _alone = ALONE.lock();
    if !is_filter_possible() {
        return;
    }
    let mut own = vec![wellspring::bytes::<REPORT_BYTES>().to_vec()];
    let mut reports = Shared::new(12 * REPORT_BYTES);
    for (number, report) in reports.bytes().chunks_mut(3 * REPORT_BYTES).enumerate() {
        let error = [libc::ENOSYS, libc::EPERM][number % 2];
        start(Fork::Library, || {
            forbid_getrandom(error);
            let (first, rest) = report.split_at_mut(REPORT_BYTES);
            let (second, third) = rest.split_at_mut(REPORT_BYTES);
            // A child of the child, which has drawn nothing yet when it forks.
            start(Fork::Library, || wellspring::fill(second)).join();
            wellspring::fill(first);
            // Another engine of the same process.
            Engine::builder().build().unwrap().fill(third);
        })
        .join();
        own.push(wellspring::bytes::<REPORT_BYTES>().to_vec());
    }
    own.extend(reports.bytes().chunks(REPORT_BYTES).map(<[u8]>::to_vec));
    assert!(
        own.iter()
            .all(|report| report.iter().any(|&byte| byte != 0))
    );
    assert_nothing_in_common(&own, "parent and children without getrandom");
}

#[test]
fn a_child_that_may_make_no_system_call_is_seeded_by_its_parent() {
    let _alone = ALONE.lock();
    if !is_filter_possible() {
        return;
    }
    let mut report = Shared::new(2 * REPORT_BYTES);
    start(Fork::Library, || {
        Engine::process().prepare_for_sandbox().unwrap();
        let (own, child) = report.bytes().split_at_mut(REPORT_BYTES);
        start(Fork::Library, || {
            assert!(allow_only(&[libc::SYS_exit_group], Forbidden::Kills));
            wellspring::fill(child);
        })
        .join();
        wellspring::fill(own);
    })
    .join();
    let reports: Vec<_> = report
        .bytes()
        .chunks(REPORT_BYTES)
        .map(<[u8]>::to_vec)
        .collect();
    assert!(
        reports
            .iter()
            .all(|report| report.iter().any(|&byte| byte != 0))
    );
    assert_nothing_in_common(&reports, "parent and child in a sandbox");
}

#[test]
fn a_child_of_a_parent_that_was_not_seeded_is_not_seeded() {
    let _alone = ALONE.lock();
    if !is_filter_possible() {
        return;
    }
    let mut answer = Shared::new(1);
    start(Fork::Library, || {
        forbid_getrandom(libc::ENOSYS);
        // A raw clone, which libc does not notice: the secret that the parent left for its child is wiped.
        start(Fork::RawClone, || {
            assert_eq!(wellspring::try_fill(&mut [0; 16]), Err(Error::NotSeeded));
            start(Fork::Library, || {
                assert_eq!(wellspring::try_fill(&mut [0; 16]), Err(Error::NotSeeded));
                answer.bytes()[0] = 1;
            })
            .join();
        })
        .join();
    })
    .join();
    assert_eq!(answer.bytes()[0], 1);
}

#[test]
fn threads_that_fork_at_the_same_time_seed_each_child_by_another_secret() {
    const THREADS: usize = 4;
    const FORKS: usize = 8;
    let _alone = ALONE.lock();
    if !is_filter_possible() {
        return;
    }
    let _ = wellspring::u64();
    let mut reports = Shared::new(THREADS * FORKS * REPORT_BYTES);
    std::thread::scope(|scope| {
        for reports in reports.bytes().chunks_mut(FORKS * REPORT_BYTES) {
            scope.spawn(|| {
                for report in reports.chunks_mut(REPORT_BYTES) {
                    start(Fork::Library, || {
                        forbid_getrandom(libc::ENOSYS);
                        wellspring::fill(report);
                    })
                    .join();
                }
            });
        }
    });
    let reports: Vec<_> = reports
        .bytes()
        .chunks(REPORT_BYTES)
        .map(<[u8]>::to_vec)
        .collect();
    assert!(
        reports
            .iter()
            .all(|report| report.iter().any(|&byte| byte != 0))
    );
    assert_nothing_in_common(&reports, "children of one moment");
}

#[test]
fn an_engine_without_sources_takes_nothing_from_the_parent_of_its_process() {
    let _alone = ALONE.lock();
    let _ = wellspring::u64();
    let engine = Engine::builder()
        .sources([])
        .seed(&[7; 32])
        .build()
        .unwrap();
    let _ = engine.u64();
    start(Fork::Library, || {
        assert_eq!(engine.try_fill(&mut [0; 16]), Err(Error::NotSeeded));
        assert_eq!(engine.stats().phase, Phase::Empty);
    })
    .join();
}
