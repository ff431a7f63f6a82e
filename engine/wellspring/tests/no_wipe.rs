//! Linux where no kernel wipes a child: the sandbox gVisor refuses `MADV_WIPEONFORK`, Linux before 4.14 does not know it,
//! and the user mode of QEMU 7.2 only says that it obeys. Filters of system calls stand in for them.
#![cfg(all(target_os = "linux", not(wellspring_test_portable)))]

mod common;

use common::filter::{Forbidden, forbid, forbid_argument};
use common::process::{Fork, Shared, start};
use common::repeats::assert_nothing_in_common;
use common::timer::handle;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use wellspring::{Engine, Error, Mode};
use wellspring_os::memory::is_wiped_by_kernel;

const REPORT_BYTES: usize = 9000;

/// The kernels that the filters stand in for.
#[derive(Clone, Copy, Debug)]
enum Kernel {
    Refuses,
    OnlySaysSo,
    /// 3.17, the first one with getrandom(2).
    Old,
}

const KERNELS: [Kernel; 3] = [Kernel::Refuses, Kernel::OnlySaysSo, Kernel::Old];

/// From now on this process is on such a kernel. Returns `false` where no filter can be installed.
fn enter(kernel: Kernel) -> bool {
    let advice = libc::MADV_WIPEONFORK as u32;
    let refuse = |how| forbid_argument(libc::SYS_madvise, 2, advice, how);
    match kernel {
        Kernel::Refuses => refuse(Forbidden::Fails(libc::EINVAL)),
        Kernel::OnlySaysSo => forbid(&[libc::SYS_madvise], Forbidden::Fails(0)),
        Kernel::Old => {
            let later = [
                libc::SYS_mlock2,
                libc::SYS_membarrier,
                libc::SYS_statx,
                libc::SYS_copy_file_range,
                libc::SYS_preadv2,
                libc::SYS_clone3,
                libc::SYS_faccessat2,
                libc::SYS_openat2,
                libc::SYS_close_range,
            ];
            refuse(Forbidden::Fails(libc::EINVAL)) && forbid(&later, Forbidden::Fails(libc::ENOSYS))
        }
    }
}

/// Runs `work` on each kernel, in a child, with memory for this many reports. Nothing in them may come twice.
fn on_each(reports: usize, work: impl Fn(&mut [&mut [u8]])) {
    for kernel in KERNELS {
        let mut shared = Shared::new(1 + reports * REPORT_BYTES);
        start(Fork::Library, || {
            let (answer, bytes) = shared.bytes().split_at_mut(1);
            if enter(kernel) {
                answer[0] = 1;
                let mut reports: Vec<&mut [u8]> = bytes.chunks_mut(REPORT_BYTES).collect();
                work(&mut reports);
                assert!(!is_wiped_by_kernel());
            }
        })
        .join();
        let (answer, bytes) = shared.bytes().split_at_mut(1);
        if answer[0] == 0 {
            return common::skipped("no seccomp filter can be installed here");
        }
        let reports: Vec<&[u8]> = bytes.chunks(REPORT_BYTES).collect();
        let is_filled = |report: &&[u8]| report.iter().any(|&byte| byte != 0);
        assert!(reports.iter().all(is_filled), "{kernel:?}");
        assert_nothing_in_common(&reports, &format!("{kernel:?}"));
    }
}

fn child(work: impl FnOnce()) {
    start(Fork::Library, work).join();
}

#[test]
fn parents_children_and_grandchildren_repeat_nothing_in_any_mode() {
    on_each(16, |reports| {
        for (mode, reports) in Mode::ALL.into_iter().zip(reports.chunks_mut(4)) {
            let engine = Engine::builder().mode(mode).build().unwrap();
            let [first, second, third, own] = reports else {
                unreachable!()
            };
            // A part of a buffer stays for the children.
            engine.fill(&mut [0; 100]);
            child(|| {
                engine.fill(&mut first[..4000]);
                child(|| engine.fill(second));
                engine.fill(&mut first[4000..]);
            });
            child(|| engine.fill(third));
            engine.fill(own);
        }
    });
}

#[test]
fn an_owned_generator_and_the_engine_of_the_process_repeat_nothing() {
    on_each(4, |reports| {
        let [first, second, own, mine] = reports else {
            unreachable!()
        };
        let mut rng = Engine::process().rng();
        rng.fill(&mut [0; 100]);
        wellspring::fill(&mut [0; 100]);
        child(|| rng.fill(first));
        child(|| wellspring::fill(second));
        rng.fill(own);
        wellspring::fill(mine);
    });
}

#[test]
fn threads_that_read_while_others_fork_repeat_nothing() {
    on_each(8, |reports| {
        wellspring::fill(&mut [0; 1]);
        std::thread::scope(|scope| {
            for reports in reports.chunks_mut(2) {
                scope.spawn(|| {
                    let [own, other] = reports else {
                        unreachable!()
                    };
                    wellspring::fill(&mut own[..100]);
                    child(|| wellspring::fill(other));
                    wellspring::fill(&mut own[100..]);
                });
            }
        });
    });
}

/// For the test that forks in a handler: the place of the child's report, and the number of the child.
static REPORT: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());
static CHILD: AtomicU32 = AtomicU32::new(0);

extern "C" fn fork_in_handler(_: libc::c_int) {
    let child = Fork::Library.call();
    if child == 0 {
        // SAFETY: the test put the address of its second report there.
        let report = unsafe {
            core::slice::from_raw_parts_mut(REPORT.load(Ordering::Relaxed), REPORT_BYTES)
        };
        wellspring::fill(report);
        // SAFETY: ends the child.
        unsafe { libc::_exit(0) };
    }
    CHILD.store(child as u32, Ordering::Relaxed);
}

#[test]
fn a_child_that_a_signal_handler_forks_repeats_nothing() {
    on_each(2, |reports| {
        let [own, other] = reports else {
            unreachable!()
        };
        REPORT.store(other.as_mut_ptr(), Ordering::Relaxed);
        handle(libc::SIGUSR1, fork_in_handler);
        wellspring::fill(&mut own[..100]);
        // SAFETY: to this thread.
        unsafe { libc::raise(libc::SIGUSR1) };
        wellspring::fill(&mut own[100..]);
        let child = CHILD.load(Ordering::Relaxed) as libc::pid_t;
        assert_eq!(common::process::exit_status(child), 0);
    });
}

extern "C" fn nothing() {}

extern "C" fn read_in_child_handler() {
    let report = REPORT.load(Ordering::Relaxed);
    // SAFETY: the test put the address of its second report there.
    let report = unsafe { core::slice::from_raw_parts_mut(report, REPORT_BYTES) };
    // From the buffer first, if there is one.
    let reads = report.chunks_mut(100);
    reads.for_each(|bytes| assert_eq!(wellspring::try_fill(bytes), Ok::<(), Error>(())));
}

#[test]
fn a_handler_of_fork_that_the_program_registered_before_the_first_read_is_seeded_and_repeats_nothing()
 {
    on_each(2, |reports| {
        let [own, other] = reports else {
            unreachable!()
        };
        REPORT.store(other.as_mut_ptr(), Ordering::Relaxed);
        // SAFETY: the functions may be called by any thread that forks.
        unsafe { libc::pthread_atfork(Some(nothing), Some(nothing), Some(read_in_child_handler)) };
        wellspring::fill(&mut own[..100]);
        assert!(forbid(
            &[libc::SYS_getrandom],
            Forbidden::Fails(libc::EPERM)
        ));
        child(|| {});
        own[100..].chunks_mut(100).for_each(wellspring::fill);
    });
}

/// The promise is weaker: see SECURITY.md.
#[test]
fn a_child_of_a_raw_clone_repeats_no_more_than_a_buffer() {
    const MOST: usize = 6656;
    for kernel in KERNELS {
        let mut shared = Shared::new(1 + 4 * REPORT_BYTES);
        start(Fork::Library, || {
            let (answer, bytes) = shared.bytes().split_at_mut(1);
            answer[0] = u8::from(enter(kernel));
            let (own, other) = bytes.split_at_mut(2 * REPORT_BYTES);
            wellspring::fill(&mut [0; 1]);
            start(Fork::RawClone, || {
                other.chunks_mut(100).for_each(wellspring::fill);
            })
            .join();
            own.chunks_mut(100).for_each(wellspring::fill);
        })
        .join();
        let (answer, bytes) = shared.bytes().split_at_mut(1);
        if answer[0] == 0 {
            return common::skipped("no seccomp filter can be installed here");
        }
        let (own, other) = bytes.split_at(2 * REPORT_BYTES);
        assert_nothing_in_common(&[&own[MOST..], &other[MOST..]], &format!("{kernel:?}"));
    }
}

#[test]
fn the_child_is_seeded_by_its_parent_if_it_may_not_ask_the_system() {
    on_each(2, |reports| {
        let [own, other] = reports else {
            unreachable!()
        };
        wellspring::fill(&mut own[..100]);
        assert!(forbid(
            &[libc::SYS_getrandom],
            Forbidden::Fails(libc::EPERM)
        ));
        child(|| assert_eq!(wellspring::try_fill(other), Ok::<(), Error>(())));
        wellspring::fill(&mut own[100..]);
    });
}
