//! After `prepare_for_sandbox` reads and reseeds make no system call: under filters that end the process at the first.

mod common;

use common::filter::{Forbidden, allow_only, forbid};
use common::process::{Fork, Shared, start};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use wellspring::{Engine, MinEntropy, Mode, Source, SourceError};

/// How a child ends that could install no filter.
const NO_FILTER: u8 = 1;
const PASSED: u8 = 2;

/// A source without system calls. Its bytes are no noise.
#[derive(Default)]
struct Counting(AtomicU64);

impl Source for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn min_entropy(&self) -> MinEntropy {
        MinEntropy::FULL
    }

    fn makes_system_calls(&self) -> bool {
        false
    }

    fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
        for word in destination.chunks_mut(8) {
            let count = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
            word.copy_from_slice(&count.to_le_bytes()[..word.len()]);
        }
        Ok(destination.len())
    }
}

/// A source that makes a system call, and counts its samples.
#[derive(Default)]
struct Calling(AtomicUsize);

impl Source for Calling {
    fn name(&self) -> &'static str {
        "calling"
    }

    fn min_entropy(&self) -> MinEntropy {
        MinEntropy::NONE
    }

    fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        // SAFETY: it has no argument.
        unsafe { libc::syscall(libc::SYS_getppid) };
        destination.fill(1);
        Ok(destination.len())
    }
}

/// Makes RDTSC end the process, as strict seccomp(2) does. On arm64 that leaves the counter, which Linux 6.12 takes by this
/// call alone.
fn take_cycle_counter() {
    if cfg!(target_arch = "x86_64") {
        // SAFETY: the call takes a number.
        unsafe { libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV, 0, 0, 0) };
    }
}

/// Runs `code` in a child that makes no system call but `calls` and its end, and has no cycle counter.
fn in_sandbox(calls: &[libc::c_long], prepare: impl FnOnce(), code: impl FnOnce()) {
    let mut answer = Shared::new(1);
    start(Fork::Library, || {
        prepare();
        take_cycle_counter();
        let allowed = [calls, &[libc::SYS_exit_group, libc::SYS_write]].concat();
        if !allow_only(&allowed, Forbidden::Kills) {
            answer.bytes()[0] = NO_FILTER;
            return;
        }
        code();
        answer.bytes()[0] = PASSED;
    })
    .join();
    if answer.bytes()[0] == NO_FILTER {
        common::skipped("no seccomp filter can be installed here");
    }
}

/// Reads in many sizes. No read gives zeros.
fn read_much(engine: &Engine) {
    let mut bytes = [0; 70_000];
    for length in [16, 32, 100, 3000, 6000, 70_000] {
        let destination = &mut bytes[..length];
        destination.fill(0);
        engine.fill(destination);
        assert!(destination.iter().any(|&byte| byte != 0));
    }
}

#[test]
fn reads_go_on_across_reseeds_without_a_system_call_in_every_mode() {
    let calling = Arc::new(Calling::default());
    // All modes in one process: each engine takes about three seconds of reading to its next reseed.
    let engines = Mode::ALL.map(|mode| {
        let sources: [Arc<dyn Source>; 2] = [Arc::new(Counting::default()), calling.clone()];
        let engine = Engine::builder().mode(mode).sources(sources);
        let engine = engine.build().unwrap();
        let mut rng = engine.rng();
        rng.fill(&mut [0; 8]);
        (engine, RefCell::new(rng))
    });
    let prepare = || {
        for (engine, _) in &engines {
            engine.prepare_for_sandbox().unwrap();
        }
    };
    in_sandbox(&[], prepare, || {
        let draws = calling.0.load(Ordering::Relaxed);
        let generations = engines.each_ref().map(|(engine, _)| engine.generation());
        engines.iter().for_each(|(engine, _)| read_much(engine));
        // A reseed on a call of a reader.
        let is_reseeded = |(engine, generation): (&(Engine, _), u64)| {
            let (engine, _) = engine;
            engine.generation() > generation
        };
        while !engines.iter().zip(generations).all(is_reseeded) {
            for (engine, rng) in &engines {
                engine.mix(b"data");
                engine.fill(&mut [0; 6000]);
                rng.borrow_mut().fill(&mut [0; 6000]);
            }
        }
        for (engine, rng) in &engines {
            let mode = engine.mode();
            engine.reseed().unwrap();
            engine.diverge_from_clones();
            read_much(engine);
            rng.borrow_mut().fill(&mut [0; 6000]);
            assert_eq!(calling.0.load(Ordering::Relaxed), draws, "{mode}");
        }
    });
}

#[test]
fn the_engine_of_the_process_reads_on_without_a_system_call() {
    in_sandbox(
        &[],
        || Engine::process().prepare_for_sandbox().unwrap(),
        || {
            read_much(Engine::process());
            Engine::process().diverge_from_clones();
            read_much(Engine::process());
            assert_ne!(wellspring::u64(), wellspring::u64());
            assert_ne!(
                wellspring_pseudo_thread::u64(),
                wellspring_pseudo_thread::u64()
            );
        },
    );
}

#[test]
fn reads_go_on_under_strict_seccomp() {
    let sources: [Arc<dyn Source>; 1] = [Arc::new(Counting::default())];
    let engine = Engine::builder().sources(sources).build().unwrap();
    let mut answer = Shared::new(1);
    start(Fork::Library, || {
        engine.prepare_for_sandbox().unwrap();
        // SAFETY: the call takes a number.
        if unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_STRICT) } != 0 {
            answer.bytes()[0] = NO_FILTER;
            return;
        }
        read_much(&engine);
        engine.reseed().unwrap();
        engine.diverge_from_clones();
        engine.mix(b"data");
        read_much(&engine);
        answer.bytes()[0] = PASSED;
        // SAFETY: ends the only thread, by the call that strict mode allows; exit_group(2) is not.
        unsafe { libc::syscall(libc::SYS_exit, 0) };
    })
    .join();
    if answer.bytes()[0] == NO_FILTER {
        common::skipped("strict seccomp is not available here");
    }
}

#[test]
fn without_the_preparation_the_filter_ends_the_process() {
    let mut answer = Shared::new(1);
    let engine = Engine::builder().build().unwrap();
    let pid = match Fork::Library.call() {
        0 => common::process::run_and_exit(|| {
            let _ = engine.u64();
            if !allow_only(&[libc::SYS_exit_group], Forbidden::Kills) {
                answer.bytes()[0] = NO_FILTER;
                return;
            }
            engine.diverge_from_clones();
        }),
        pid => pid,
    };
    let mut status = 0;
    // SAFETY: the pointer is to the status, and the child is ours.
    unsafe { libc::waitpid(pid, &raw mut status, 0) };
    if answer.bytes()[0] == NO_FILTER {
        return common::skipped("no seccomp filter can be installed here");
    }
    assert!(libc::WIFSIGNALED(status), "{status:#x}");
    assert_eq!(libc::WTERMSIG(status), libc::SIGSYS);
}

#[test]
fn a_handler_that_interrupts_a_reseed_is_served_without_a_system_call() {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    static HANDLED: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn draw(_: i32) {
        if let Some(engine) = ENGINE.get() {
            let mut bytes = [0; 16];
            engine.fill(&mut bytes);
            assert_ne!(bytes, [0; 16]);
            HANDLED.fetch_add(1, Ordering::Relaxed);
        }
    }

    let sources: [Arc<dyn Source>; 1] = [Arc::new(Counting::default())];
    let engine = Engine::builder().sources(sources).build().unwrap();
    let engine = ENGINE.get_or_init(|| engine);
    let prepare = || {
        engine.prepare_for_sandbox().unwrap();
        // SAFETY: all zeros is a `sigaction`; the handler takes one argument, and the pointers are to values.
        unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = draw as *const () as usize;
            libc::sigaction(libc::SIGALRM, &raw const action, core::ptr::null_mut());
            let period = libc::timeval {
                tv_sec: 0,
                tv_usec: 100,
            };
            let timer = libc::itimerval {
                it_interval: period,
                it_value: period,
            };
            let null = core::ptr::null_mut();
            libc::setitimer(libc::ITIMER_REAL, &raw const timer, null);
        }
    };
    in_sandbox(&[libc::SYS_rt_sigreturn], prepare, || {
        while HANDLED.load(Ordering::Relaxed) < 300 {
            engine.reseed().unwrap();
            engine.diverge_from_clones();
            assert_ne!(engine.u64(), 0);
        }
    });
}

#[test]
fn a_source_that_the_sandbox_kills_is_not_drawn_on() {
    let mut answer = Shared::new(1);
    start(Fork::Library, || {
        let engine = Engine::builder().build().unwrap();
        engine.prepare_for_sandbox().unwrap();
        if !forbid(&[libc::SYS_getrandom], Forbidden::Kills) {
            answer.bytes()[0] = NO_FILTER;
            return;
        }
        let _ = engine.reseed();
        read_much(&engine);
        let stats = engine.stats();
        let os = stats.sources.iter().find(|source| source.name == "os");
        assert_eq!(os.unwrap().errors, 0, "skipped, not failed");
    })
    .join();
    if answer.bytes()[0] == NO_FILTER {
        common::skipped("no seccomp filter can be installed here");
    }
}
