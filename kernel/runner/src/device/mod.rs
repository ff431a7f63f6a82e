//! The device file does what random(4)'s does: each call is made on both, and both must return the same.
//!
//! ```text
//! comparison  a call on both files, and what it returned
//! arguments   pointers and lengths of reads and writes
//! ioctls      random(4)'s numbers and unknown ones, with a privilege and without; the device's own
//! operations  seek, map, poll, splice, and reads that signals interrupt
//! ```

mod arguments;
mod comparison;
mod ioctls;
mod operations;

use crate::test::{Outcome, Test};

pub(crate) fn tests() -> Vec<Test> {
    type Run = fn() -> Outcome;
    let tests: [(&str, Run); 10] = [
        ("bad-pointers", arguments::bad_pointers),
        ("lengths", arguments::lengths),
        ("ioctls", ioctls::ioctls),
        ("unprivileged", ioctls::unprivileged),
        ("credit", ioctls::credit),
        ("own-ioctls", ioctls::own_ioctls),
        ("files", operations::files),
        ("signals", operations::signals),
        ("poll", operations::polled),
        ("splice", operations::spliced),
    ];
    let test = |(name, run): (&str, Run)| Test::new(format!("device/{name}"), run);
    tests.into_iter().map(test).collect()
}
