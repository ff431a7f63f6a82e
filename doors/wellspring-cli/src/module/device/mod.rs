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

use crate::self_test::{Check, Stop};

pub(super) fn checks() -> Vec<Check> {
    type Test = fn() -> Result<String, Stop>;
    let tests: [(&str, Test); 10] = [
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
    let check = |(name, test): (&str, Test)| Check::with_figures(format!("device/{name}"), test);
    tests.into_iter().map(check).collect()
}
