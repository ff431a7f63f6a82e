//! Children never repeat their parents.

use super::blocks::are_distinct;
use super::{Outcome, broken, failed};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use wellspring::{Engine, Mode};

/// What each process draws after a fork, in two reads.
const DRAW_BYTES: usize = 512;

/// How long a child may take. It takes microseconds, unless it waits for a lock that nobody will open.
const PATIENCE: Duration = Duration::from_secs(5);

/// A child's draws are not those of its parent after the fork.
pub(super) fn child_differs() -> Outcome {
    are_distinct_across_forks(1, &|bytes| wellspring::fill(bytes))
}

/// Nor are those of its own child.
pub(super) fn grandchild_differs() -> Outcome {
    are_distinct_across_forks(2, &|bytes| wellspring::fill(bytes))
}

/// Other threads that read at the moment of the fork, and may hold locks, do not hold up the child.
pub(super) fn child_is_not_held_up() -> Outcome {
    const FORKS: usize = 20;
    // The mode that holds its lock longest.
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

/// Forks `depth` times, each child from the child before; all draw, and nothing comes twice.
fn are_distinct_across_forks(depth: usize, fill: &dyn Fn(&mut [u8])) -> Outcome {
    let (mut before, mut parent) = ([0; DRAW_BYTES], [0; DRAW_BYTES]);
    let mut children = vec![0; depth * DRAW_BYTES];
    // So that there is a tap to be inherited, with a part of its buffer left.
    fill(&mut before);
    let streams = UnixStream::pair().map_err(|error| broken("a socket", error))?;
    let (mut from_children, to_parent) = streams;
    let timeout = from_children.set_read_timeout(Some(PATIENCE));
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
        Err(_) => failed(format!(
            "a child did not answer in {} s",
            PATIENCE.as_secs()
        )),
    }
}

/// What a child does, until its end. There may be no other thread here, and locks of the standard library may
/// be closed for ever: no allocation, no printing, no destructor.
fn draw_as_child(depth: usize, fill: &dyn Fn(&mut [u8]), mut to_parent: &UnixStream) -> ! {
    let mut bytes = [0; DRAW_BYTES];
    draw_twice(fill, &mut bytes, || {
        if depth > 1 && fork().is_ok_and(|child| child == 0) {
            draw_as_child(depth - 1, fill, to_parent);
        }
    });
    let status = i32::from(to_parent.write_all(&bytes).is_err());
    // SAFETY: ends the process; nothing is left to be done in it.
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
    // SAFETY: the child calls `draw_as_child` and nothing else, which keeps to what is allowed beside threads
    // that do not exist there.
    match unsafe { libc::fork() } {
        -1 => Err(std::io::Error::last_os_error()),
        child => Ok(child),
    }
}

/// Ends a child, which has nothing left to do, and forgets it.
fn end(child: libc::pid_t) {
    let mut status = 0;
    // SAFETY: the number is that of a child that nobody has waited for; the pointer is to our own variable.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, &raw mut status, 0);
    }
}
