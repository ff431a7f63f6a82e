//! Children never repeat their parents, and a signal handler never gets the bytes of the read that it interrupts.

use super::{BLOCK_BYTES, Outcome, Stop, are_distinct, broken, failed, skipped};
use std::io::{Error, Read, Write};
use std::mem::zeroed;
use std::os::unix::net::UnixStream;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use wellspring::{Engine, Mode};
use wellspring_os::memory::is_wiped_by_kernel;

/// The bytes that each process draws after a fork, in two reads.
const DRAW_BYTES: usize = 512;

/// The most time for a child. It takes microseconds, unless it waits for a lock that is never unlocked.
const TIMEOUT: Duration = Duration::from_secs(5);

/// After a fork the child draws other bytes than its parent.
pub(super) fn child_differs() -> Outcome {
    are_distinct_across_forks(1, &|bytes| wellspring::fill(bytes))
}

/// The draws of a child's child differ from both.
pub(super) fn grandchild_differs() -> Outcome {
    are_distinct_across_forks(2, &|bytes| wellspring::fill(bytes))
}

/// A child does not wait for locks that other threads held at the moment of the fork.
pub(super) fn child_is_not_held_up() -> Outcome {
    const FORKS: usize = 20;
    // The mode that holds its lock for the longest time.
    let engine = Engine::builder().mode(Mode::Canonical).build();
    let engine = engine.map_err(|error| broken("engine", error))?;
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut bytes = [0; 4096];
            while !is_over.load(Ordering::Relaxed) {
                engine.fill(&mut bytes);
            }
        });
        let fork = |_| are_distinct_across_forks(1, &|bytes| engine.fill(bytes));
        let outcome = (0..FORKS).try_for_each(fork);
        is_over.store(true, Ordering::Relaxed);
        outcome
    })
}

/// The kernel wipes a child's copy of all secrets, however the child was made.
pub(super) fn kernel_wipes() -> Outcome {
    wellspring::fill(&mut [0; 1]);
    if is_wiped_by_kernel() {
        return Ok(());
    }
    skipped(
        "this kernel does not wipe a child. fork(3) does; a child by a raw clone(2) may repeat up to 6656 bytes",
    )
}

/// Forks `depth` times, each child from the child before; all draw, and nothing comes twice.
fn are_distinct_across_forks(depth: usize, fill: &dyn Fn(&mut [u8])) -> Outcome {
    let (mut before, mut parent) = ([0; DRAW_BYTES], [0; DRAW_BYTES]);
    let mut children = vec![0; depth * DRAW_BYTES];
    // Now the child inherits a tap with a part of its buffer left.
    fill(&mut before);
    let streams = UnixStream::pair().map_err(|error| broken("a socket", error))?;
    let (mut from_children, to_parent) = streams;
    let timeout = from_children.set_read_timeout(Some(TIMEOUT));
    timeout.map_err(|error| broken("a socket", error))?;

    let child = fork().map_err(|error| broken("fork", error))?;
    if child == 0 {
        draw_as_child(depth, fill, &to_parent);
    }
    draw_twice(fill, &mut parent, || {});
    let answer = from_children.read_exact(&mut children);
    end(child);
    match answer {
        Ok(()) => are_distinct([&before[..], &parent, &children]),
        Err(_) => failed(format!("a child did not answer in {} s", TIMEOUT.as_secs())),
    }
}

/// All that a child does. Its parent's other threads do not exist here, and locks of the standard library may never be
/// unlocked: so no allocation, no printing, no destructor.
fn draw_as_child(depth: usize, fill: &dyn Fn(&mut [u8]), mut to_parent: &UnixStream) -> ! {
    let mut bytes = [0; DRAW_BYTES];
    draw_twice(fill, &mut bytes, || {
        if depth > 1 && fork().is_ok_and(|child| child == 0) {
            draw_as_child(depth - 1, fill, to_parent);
        }
    });
    let status = i32::from(to_parent.write_all(&bytes).is_err());
    // SAFETY: ends the process, without destructors.
    unsafe { libc::_exit(status) }
}

fn draw_twice(fill: &dyn Fn(&mut [u8]), bytes: &mut [u8; DRAW_BYTES], between: impl FnOnce()) {
    let (first, second) = bytes.split_at_mut(DRAW_BYTES / 2);
    fill(first);
    between();
    fill(second);
}

/// fork(2): 0 in the child.
fn fork() -> Result<libc::pid_t, std::io::Error> {
    // SAFETY: the child calls only `draw_as_child`, which does only what is allowed in the child of a process with
    // several threads.
    match unsafe { libc::fork() } {
        -1 => Err(std::io::Error::last_os_error()),
        child => Ok(child),
    }
}

/// Ends a child that has nothing left to do, and waits for it.
fn end(child: libc::pid_t) {
    let mut status = 0;
    // SAFETY: this is a child that was not waited for yet; the pointer is to a local variable.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, &raw mut status, 0);
    }
}

// A signal handler never gets the bytes of the read that it interrupts.

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
const HANDLER_BYTES: usize = 256;
const DRAW_WORDS: usize = HANDLER_BYTES / 8;
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
    let mut reads: Vec<Vec<u8>> = vec![wellspring::bytes::<HANDLER_BYTES>().to_vec()];
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
    let bytes = wellspring::bytes::<HANDLER_BYTES>();
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
