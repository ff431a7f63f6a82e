//! Children never repeat their parents.

use super::blocks::are_distinct;
use super::outcome::{Outcome, broken, failed, skipped};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use wellspring::{Engine, Mode};
use wellspring_os::memory::is_wiped_by_kernel;

/// The bytes that each process draws after a fork, in two reads.
const DRAW_BYTES: usize = 512;

/// The most time for a child. It takes microseconds, unless it waits for a lock that is never unlocked.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A child's draws are not those of its parent after the fork.
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
