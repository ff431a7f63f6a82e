//! After `sandbox::prepare` reads make no system call: under a filter that ends the process at the first one.

use crate::common::{Counters, in_child, next, value, with_owned, with_state};
use testkit::filter::{self, Forbidden};
use wellspring_os::lock::Lock;
use wellspring_os::memory::Wiped;
use wellspring_os::owned::OwnedState;
use wellspring_os::signals::SignalsBlocked;
use wellspring_os::{cpu, os, sandbox};

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
