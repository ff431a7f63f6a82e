//! Other operations on an open file, and reads that signals interrupt.

use super::comparison::{Comparison, MODEL, PAGE_BYTES, open_with};
use crate::open::DEVICE;
use crate::probes;
use crate::test::{Outcome, Stop, are_distinct, broken};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::AsFd;
use rustix::fs::OFlags;
use rustix::pipe::{SpliceFlags, pipe, splice};

/// Other operations on an open file.
pub(super) fn files() -> Outcome {
    let mut calls = 0;
    for flags in [
        OFlags::RDONLY,
        OFlags::WRONLY,
        OFlags::RDWR,
        OFlags::RDWR | OFlags::NONBLOCK,
    ] {
        let mut both = Comparison::new(flags)?;
        for offset in [0, 1, -1, i64::MAX] {
            both.call(&format!("lseek to {offset}"), |file| {
                probes::seek(file, offset)
            })?;
        }
        both.call("mmap", probes::map)?;
        let mut bytes = [0; 64];
        let at = bytes.as_mut_ptr().expose_provenance();
        both.call("read", |file| probes::read(file, at, 64))?;
        both.call("write", |file| probes::write(file, at, 64))?;
        for length in [0, 16, 4096] {
            both.call("preadv2 with RWF_NOWAIT", |file| {
                probes::read_at_once(file, &mut vec![0; length])
            })?;
        }
        calls += both.calls;
    }
    Ok(format!("{calls} calls as {MODEL}"))
}

/// A read of 2 GiB that signals interrupt returns whole pages; one of a page comes whole.
pub(super) fn signals() -> Outcome {
    let device = open_with(DEVICE, OFlags::RDONLY)?;
    let mut memory = vec![0; 2 << 20];
    let got = probes::under_signals(40, || {
        probes::read_again_and_again(device.as_fd(), &mut memory)
    });
    let read = match got.0 {
        Ok(read) if read > 0 && read < 2 << 30 && read % PAGE_BYTES as i64 == 0 => read,
        _ => {
            return Err(Stop::Failed(format!(
                "an interrupted read of 2 GiB returns {got}"
            )));
        }
    };
    let whole = probes::under_signals(1, || {
        (0..2000).all(|_| rustix::io::read(&device, &mut memory[..PAGE_BYTES]) == Ok(PAGE_BYTES))
    });
    if whole {
        Ok(format!("{read} of 2147483648 bytes; 2000 pages whole"))
    } else {
        Err(Stop::Failed("a read of a page was short".into()))
    }
}

/// With a seed: ready to be read, and not "to be written". Compared with /dev/random, since /dev/urandom is always
/// ready for both.
pub(super) fn polled() -> Outcome {
    const MODEL: &str = "/dev/random";
    let flags = OFlags::RDWR | OFlags::NONBLOCK;
    let (device, model) = (open_with(DEVICE, flags)?, open_with(MODEL, flags)?);
    let all = PollFlags::IN | PollFlags::OUT | PollFlags::RDNORM | PollFlags::WRNORM;
    let mut files = [PollFd::new(&device, all), PollFd::new(&model, all)];
    poll(&mut files, None).map_err(|error| broken("poll", error))?;
    if files[0].revents() == files[1].revents() {
        Ok(format!("{:?}", files[0].revents()))
    } else {
        Err(Stop::Failed(format!(
            "poll says {:?}, of {MODEL} {:?}",
            files[0].revents(),
            files[1].revents()
        )))
    }
}

/// Out into a pipe, and from a pipe in.
pub(super) fn spliced() -> Outcome {
    const LENGTH: usize = 32768;
    let device = open_with(DEVICE, OFlags::RDWR)?;
    let (from, to) = pipe().map_err(|error| broken("pipe", error))?;
    let mut bytes = vec![0; 4 * LENGTH];
    for piece in bytes.chunks_mut(LENGTH) {
        let moved = splice(&device, None, &to, None, LENGTH, SpliceFlags::empty());
        let moved = moved.map_err(|error| broken("splice", error))?;
        let read = rustix::io::read(&from, &mut piece[..moved]);
        if (moved, read) != (LENGTH, Ok(LENGTH)) {
            return Err(Stop::Failed(format!(
                "splice moved {moved} bytes, of which came {read:?}"
            )));
        }
    }
    are_distinct(&bytes)?;
    rustix::io::write(&to, &bytes[..LENGTH]).map_err(|error| broken("pipe", error))?;
    let moved = splice(&from, None, &device, None, LENGTH, SpliceFlags::empty());
    match moved {
        Ok(LENGTH) => Ok(format!("{} bytes out, {LENGTH} in", bytes.len())),
        other => Err(Stop::Failed(format!(
            "splice into the device returns {other:?}"
        ))),
    }
}
