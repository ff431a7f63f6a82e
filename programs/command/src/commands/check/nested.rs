//! A signal handler never gets the bytes of the read that it interrupts.

use super::blocks::{BLOCK_BYTES, are_distinct};
use super::outcome::{Outcome, Stop, broken, skipped};
use std::io::Error;
use std::mem::zeroed;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How often the timer fires: 20 000 times a second.
const INTERVAL: libc::timeval = libc::timeval {
    tv_sec: 0,
    tv_usec: 50,
};
const NEVER: libc::timeval = libc::timeval {
    tv_sec: 0,
    tv_usec: 0,
};
const TEST_TIME: Duration = Duration::from_millis(250);

/// The bytes that a handler draws: enough that a tap is refilled in every few handlers.
const DRAW_BYTES: usize = 256;
const DRAW_WORDS: usize = DRAW_BYTES / 8;
const MAX_HANDLERS: usize = 8192;

/// How many handlers have drawn, and what they drew: a handler may neither allocate nor lock.
static HANDLERS: AtomicUsize = AtomicUsize::new(0);
static DRAWN: [AtomicU64; MAX_HANDLERS * DRAW_WORDS] =
    [const { AtomicU64::new(0) }; MAX_HANDLERS * DRAW_WORDS];

/// Draws while a timer's handler draws on the same thread, and compares what both got.
pub(super) fn handlers_share_nothing() -> Outcome {
    /// With fewer interrupted reads the test shows nothing.
    const MIN_INTERRUPTED: usize = 100;
    HANDLERS.store(0, Ordering::Relaxed);
    // The first use in a process allocates, which a handler must not do.
    let mut reads: Vec<Vec<u8>> = vec![wellspring::bytes::<DRAW_BYTES>().to_vec()];
    let timer = Timer::start()?;
    let mut interrupted = 0;
    let mut is_kept = false;
    let start = Instant::now();
    for length in [1, 3, 16, 256].into_iter().cycle() {
        if start.elapsed() >= TEST_TIME || HANDLERS.load(Ordering::Relaxed) >= MAX_HANDLERS {
            break;
        }
        let mut read = vec![0; length * BLOCK_BYTES];
        let before = HANDLERS.load(Ordering::Relaxed);
        wellspring::fill(&mut read);
        // Only the interrupted read and the next one can share bytes with the handler.
        let was_interrupted = HANDLERS.load(Ordering::Relaxed) != before;
        interrupted += usize::from(was_interrupted);
        if was_interrupted || is_kept {
            reads.push(read);
        }
        is_kept = was_interrupted;
    }
    drop(timer);
    if interrupted < MIN_INTERRUPTED {
        return skipped(format!("the timer interrupted only {interrupted} reads"));
    }
    let handlers = HANDLERS.load(Ordering::Relaxed).min(MAX_HANDLERS);
    let words = DRAWN[..handlers * DRAW_WORDS].iter();
    reads.push(
        words
            .flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes())
            .collect(),
    );
    are_distinct(reads.iter().map(Vec::as_slice))
}

extern "C" fn draw(_signal: libc::c_int) {
    let bytes = wellspring::bytes::<DRAW_BYTES>();
    let place = HANDLERS.fetch_add(1, Ordering::Relaxed);
    if place >= MAX_HANDLERS {
        // On a slow machine a handler takes longer than the timer's interval, and the read below would never go on.
        set_interval(NEVER);
    }
    if let Some(words) = DRAWN.chunks(DRAW_WORDS).nth(place) {
        for (word, bytes) in words.iter().zip(bytes.as_chunks().0) {
            word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
        }
    }
}

/// While this value exists, a timer's signal handler draws.
struct Timer {
    before: libc::sigaction,
}

impl Timer {
    fn start() -> Result<Self, Stop> {
        // SAFETY: all zeros is a value of this structure of numbers: no flags, no signal in the mask.
        let (mut action, mut before): (libc::sigaction, libc::sigaction) =
            unsafe { (zeroed(), zeroed()) };
        action.sa_sigaction = draw as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        // SAFETY: both structures are local; the handler reads random bytes, which is allowed in handlers, and stores
        // them in atomics.
        if unsafe { libc::sigaction(libc::SIGALRM, &raw const action, &raw mut before) } != 0 {
            return Err(broken("a handler", Error::last_os_error()));
        }
        let timer = Self { before };
        if set_interval(INTERVAL) {
            return Ok(timer);
        }
        Err(broken("a timer", Error::last_os_error()))
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        set_interval(NEVER);
        // SAFETY: restores what `start` found, after the timer has ended: a signal that was already sent is delivered
        // when that system call returns.
        unsafe { libc::sigaction(libc::SIGALRM, &raw const self.before, null_mut()) };
    }
}

fn set_interval(interval: libc::timeval) -> bool {
    let timer = libc::itimerval {
        it_interval: interval,
        it_value: interval,
    };
    // SAFETY: the structure is local and only read.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, null_mut()) == 0 }
}
