//! The hot path makes no system call: counted, and forbidden.

use crate::ALONE;
use crate::common::process::{Fork, run_and_exit};
use crate::common::tracer::{self, End, Registers, silent, silent_once};
use core::ptr;
use libc::pid_t;
use std::time::Instant;
use wellspring::{Engine, LocalRng, Mode};

/// A call that no other code makes, and that fails: the calls between two of these are counted.
const MARKER: libc::c_long = 100_000;

/// A harvest of two sources, every 100 ms; then new keys for the tap.
const CALLS_PER_HARVEST: usize = 60;

/// Any read may have to make a step of a harvest. On a slow machine that happens often, but not always.
const TRIES: usize = 20;

/// Tries until the result is good, or all tries are made.
fn until_good<T>(mut attempt: impl FnMut() -> T, is_good: impl Fn(&T) -> bool) -> T {
    let mut result = attempt();
    for _ in 1..TRIES {
        if is_good(&result) {
            break;
        }
        result = attempt();
    }
    result
}

fn mark() {
    // SAFETY: there is no such call.
    unsafe { libc::syscall(MARKER) };
}

/// Runs `work` in a traced child and counts its system calls between marks. `None`: tracing is not permitted.
fn count_calls(work: impl FnOnce()) -> Option<usize> {
    let pid = match Fork::Library.call() {
        0 => run_and_exit(|| {
            // SAFETY: asks to be traced by the parent, which waits for the stop.
            unsafe {
                if libc::ptrace(libc::PTRACE_TRACEME, 0, ptr::null_mut::<u8>(), 0) != 0 {
                    libc::_exit(0);
                }
                libc::raise(libc::SIGSTOP);
            }
            work();
        }),
        pid => pid,
    };
    if !libc::WIFSTOPPED(wait(pid)) {
        return None;
    }
    let (mut marks, mut stops) = (0, 0);
    loop {
        // SAFETY: the child is stopped and ours to trace.
        unsafe { libc::ptrace(libc::PTRACE_SYSCALL, pid, ptr::null_mut::<u8>(), 0) };
        let status = wait(pid);
        if libc::WIFEXITED(status) {
            assert_eq!((libc::WEXITSTATUS(status), marks), (0, 4));
            // Each call stops twice, when it begins and when it ends.
            return Some(stops / 2);
        }
        assert!(libc::WIFSTOPPED(status), "the child failed: {status:#x}");
        if Registers::of(pid).call() == MARKER {
            marks += 1;
        } else if marks == 2 {
            stops += 1;
        }
    }
}

fn wait(pid: pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: the pointer is to the status.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    status
}

/// An engine of this thread whose buffer is full but for a little.
fn full() -> Engine {
    let engine = Engine::builder().mode(Mode::PerThread).build().unwrap();
    // The first read seeds; the second takes a key of the generation after that, and fills a part of the buffer. The
    // third takes that part and makes the rest in place, so that the last one fills the whole buffer.
    for length in [8, 8, 8192, 8] {
        engine.fill(&mut vec![0; length]);
    }
    engine
}

#[test]
fn reads_from_a_buffer_make_no_system_call() {
    let _alone = ALONE.lock();
    let reads = || {
        let engine = full();
        let mut rng = engine.rng();
        let prepare = |rng: &mut LocalRng| {
            for length in [8192, 8] {
                let mut bytes = vec![0; length];
                engine.fill(&mut bytes);
                rng.fill(&mut bytes);
                wellspring::fill(&mut bytes);
            }
        };
        let read = |rng: &mut LocalRng| {
            for _ in 0..25 {
                assert_ne!(engine.u64(), wellspring::u64());
                assert_ne!(wellspring::ids::uuid7(), wellspring::ids::uuid4());
                engine.fill(&mut [0; 16]);
                engine.fill(&mut [0; 32]);
                rng.fill(&mut [0; 32]);
            }
        };
        silent_once(&mut rng, prepare, read);
    };
    let pseudo = || {
        let _ = wellspring_pseudo_thread::u64();
        silent(|| {
            for _ in 0..100_000 {
                assert_ne!(wellspring_pseudo_thread::u64(), 0);
            }
        });
    };
    for end in [
        tracer::run(reads, &mut |_| None),
        tracer::run(pseudo, &mut |_| None),
    ] {
        match end {
            End::Untraceable => crate::common::skipped("ptrace is not permitted"),
            end => assert_eq!(end, End::Good),
        }
    }
}

#[test]
fn a_million_reads_make_the_system_calls_of_a_few_harvests() {
    let _alone = ALONE.lock();
    let begin = Instant::now();
    let calls = count_calls(|| {
        let engine = full();
        mark();
        for _ in 0..1_000_000 {
            assert_ne!(engine.u64(), 0);
        }
        for _ in 0..100_000 {
            engine.fill(&mut [0; 16]);
            engine.fill(&mut [0; 32]);
        }
        engine.fill(&mut vec![0; 1 << 16]);
        mark();
    });
    let harvests = begin.elapsed().as_millis() as usize / 100 + 1;
    match calls {
        Some(calls) => {
            println!("{calls} system calls in 1,200,000 reads, with {harvests} harvests at most");
            assert!(calls <= harvests * CALLS_PER_HARVEST, "{calls} calls");
        }
        None => crate::common::skipped("ptrace is not permitted"),
    }
}

#[test]
fn a_child_that_may_make_no_system_call_draws_on() {
    let _alone = ALONE.lock();
    let status = until_good(child_without_system_calls, |&status| {
        status == 0 || libc::WIFEXITED(status)
    });
    if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 2 {
        return crate::common::skipped("seccomp is not there");
    }
    assert_eq!(status, 0, "killed for a system call, if this is 9");
}

/// Returns how the child ended.
fn child_without_system_calls() -> i32 {
    let pid = match Fork::Library.call() {
        0 => {
            let engine = full();
            let _ = wellspring_pseudo_thread::u64();
            let mut drawn = 0;
            // SAFETY: from here on the child may read, write, return from a signal and exit; a call of
            // another kind kills it.
            unsafe {
                if libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_STRICT, 0, 0, 0) != 0 {
                    libc::_exit(2);
                }
                for _ in 0..100 {
                    drawn |= engine.u64() ^ wellspring_pseudo_thread::u64();
                }
                libc::syscall(libc::SYS_exit, i64::from(drawn == 0));
            }
            unreachable!("the process has ended");
        }
        pid => pid,
    };
    wait(pid)
}
