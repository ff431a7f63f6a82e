//! A thread that ends gives back its slots, whatever runs on it last.

mod common;

use common::{Counters, eventually, handle, next};
use core::ptr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

static DRAWN: LazyLock<Counters> = LazyLock::new(Counters::new);

extern "C" fn draw(_: i32) {
    next(&DRAWN);
}

/// A timer that sends the process `signal` every `interval_us`, until it is dropped.
struct Timer(libc::timer_t);

impl Timer {
    fn start(signal: i32, interval_us: i64) -> Self {
        // SAFETY: all zeros are values of these types; the pointers are to them.
        unsafe {
            let mut event: libc::sigevent = core::mem::zeroed();
            event.sigev_notify = libc::SIGEV_SIGNAL;
            event.sigev_signo = signal;
            let mut timer = core::mem::zeroed();
            let clock = libc::CLOCK_MONOTONIC;
            assert_eq!(libc::timer_create(clock, &raw mut event, &raw mut timer), 0);
            let mut times: libc::itimerspec = core::mem::zeroed();
            times.it_value.tv_nsec = (interval_us * 1000) as _;
            times.it_interval = times.it_value;
            assert_eq!(
                libc::timer_settime(timer, 0, &raw const times, ptr::null_mut()),
                0
            );
            Self(timer)
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: the timer is ours.
        unsafe { libc::timer_delete(self.0) };
    }
}

/// Threads without Rust's runtime: they end at once, in the middle of signals.
extern "C" fn one_draw(_: *mut libc::c_void) -> *mut libc::c_void {
    next(&DRAWN);
    ptr::null_mut()
}

fn run_thread(start: extern "C" fn(*mut libc::c_void) -> *mut libc::c_void) {
    // SAFETY: the thread gets no argument and is joined.
    unsafe {
        let mut thread = core::mem::zeroed();
        assert_eq!(
            libc::pthread_create(&raw mut thread, ptr::null(), start, ptr::null_mut()),
            0
        );
        libc::pthread_join(thread, ptr::null_mut());
    }
}

#[test]
fn short_threads_whose_handlers_draw_leave_no_slot() {
    run_threads_under_a_timer(4000);
}

#[test]
#[ignore = "18 seconds"]
fn twenty_thousand_threads_whose_handlers_draw_leave_no_slot() {
    run_threads_under_a_timer(20_000);
}

fn run_threads_under_a_timer(threads: usize) {
    LazyLock::force(&DRAWN);
    handle(libc::SIGALRM, draw);
    let mappings = common::mappings();
    let timer = Timer::start(libc::SIGALRM, 20);
    for _ in 0..threads {
        run_thread(one_draw);
    }
    drop(timer);
    // The threads of this test, and of others, that are still there.
    assert!(
        eventually(|| DRAWN.count() <= 3),
        "{} slots are taken",
        DRAWN.count()
    );
    let more = common::mappings().saturating_sub(mappings);
    assert!(more < 100, "{more} mappings");
}

static ROUNDS: AtomicU32 = AtomicU32::new(0);
static LATE: LazyLock<Counters> = LazyLock::new(Counters::new);
static LATE_KEY: AtomicU64 = AtomicU64::new(0);

/// Sets its key again until the C library gives up, and draws last.
unsafe extern "C" fn late_destructor(round: *mut libc::c_void) {
    let round = round.addr();
    ROUNDS.fetch_max(round as u32, Ordering::Relaxed);
    // SAFETY: the key exists; the value is a number.
    unsafe {
        let key = LATE_KEY.load(Ordering::Relaxed) as libc::pthread_key_t;
        libc::pthread_setspecific(key, ptr::without_provenance(round + 1));
    }
    if round == 4 {
        next(&LATE);
    }
}

extern "C" fn draw_and_end_late(_: *mut libc::c_void) -> *mut libc::c_void {
    next(&LATE);
    end_late(ptr::null_mut())
}

extern "C" fn end_late(_: *mut libc::c_void) -> *mut libc::c_void {
    let key = LATE_KEY.load(Ordering::Relaxed) as libc::pthread_key_t;
    // SAFETY: the key exists; the value is a number.
    unsafe { libc::pthread_setspecific(key, ptr::without_provenance(1)) };
    ptr::null_mut()
}

#[test]
fn a_destructor_that_draws_in_the_last_round_leaves_no_slot() {
    // The states' own key first: in each round its destructor runs before the late one.
    LazyLock::force(&LATE);
    run_thread(one_draw);
    let mut key = 0;
    // SAFETY: the pointer is to the key.
    unsafe { libc::pthread_key_create(&raw mut key, Some(late_destructor)) };
    LATE_KEY.store(u64::from(key), Ordering::Relaxed);
    for _ in 0..200 {
        run_thread(draw_and_end_late);
        run_thread(end_late);
    }
    if ROUNDS.load(Ordering::Relaxed) < 4 {
        println!("SKIPPED: this C library calls destructors in fewer than four rounds");
    }
    assert!(
        eventually(|| LATE.count() == 0),
        "{} slots are taken",
        LATE.count()
    );
}
