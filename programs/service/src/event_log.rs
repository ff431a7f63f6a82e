//! Events: clones, failures of sources, reloads. The status and the page show the last 64.

use parking_lot::Mutex;
use std::collections::VecDeque;
use wellspring_os::os::now_with_sleep_ns;

/// The number of events that are kept.
const KEPT: usize = 64;

/// An event.
#[derive(Clone, Debug)]
pub(crate) struct LoggedEvent {
    /// The time of the event, in nanoseconds since boot: the wall clock may be set, and an age must not jump.
    pub(crate) at_ns: u64,
    /// Whether an operator should look at it.
    pub(crate) is_fault: bool,
    /// The event in words.
    pub(crate) words: String,
}

impl LoggedEvent {
    /// The seconds since the event, with the time for which the machine slept.
    pub(crate) fn ago_s(&self) -> u64 {
        now_with_sleep_ns().saturating_sub(self.at_ns) / 1_000_000_000
    }
}

/// The last events.
#[derive(Debug, Default)]
pub(crate) struct EventLog(Mutex<VecDeque<LoggedEvent>>);

impl EventLog {
    /// Notes an event, and logs it.
    pub(crate) fn add(&self, is_fault: bool, words: String) {
        if is_fault {
            log::warn!("{words}");
        } else {
            log::info!("{words}");
        }
        let mut kept = self.0.lock();
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(LoggedEvent {
            at_ns: now_with_sleep_ns(),
            is_fault,
            words,
        });
    }

    /// The last ones, the newest first.
    pub(crate) fn last(&self) -> Vec<LoggedEvent> {
        let kept = self.0.lock();
        kept.iter().rev().cloned().collect()
    }
}
