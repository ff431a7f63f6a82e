//! Steps that the tests of all machines take.

use crate::guest::{Answer, Guest, Result, failed};
use std::time::Duration;

/// All tests of the module. They take half a minute on an idle machine. On a busy one each waits for what it counts.
pub(super) const CHECK: Duration = Duration::from_secs(1800);

/// Loads the distribution's modules that ours need.
pub(super) const LOAD_NEEDED: &str =
    "for file in /needed/*; do [ ! -e $file ] || insmod $file || break; done";

/// Loads our modules.
pub(super) const LOAD: &str = "insmod /modules/wellspring.ko && for file in /modules/*.ko; do \
                    [ $file = /modules/wellspring.ko ] || insmod $file || break; done";

/// Fails with the output of a command and the kernel's log if the command failed or the log shows trouble.
pub(super) fn succeeded(guest: &mut Guest, answer: &Answer) -> Result {
    match (answer.status, guest.judge()) {
        (0, verdict) => verdict,
        (status, verdict) => {
            let complaint = verdict
                .err()
                .map(|complaint| format!("\n{complaint:?}"))
                .unwrap_or_default();
            failed(format!(
                "ended with {status}: {}{complaint}",
                answer.text.trim_end()
            ))
        }
    }
}
