//! What happened: clone notices, failures of sources, reloads. The last of them, for status and page.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// How many are kept.
const KEPT: usize = 64;

/// Something that happened.
#[derive(Clone, Debug)]
pub struct Notice {
    /// When.
    pub at: SystemTime,
    /// Whether an operator should look at it.
    pub is_fault: bool,
    /// In words.
    pub words: String,
}

/// The last notices.
#[derive(Debug, Default)]
pub struct Notices(Mutex<VecDeque<Notice>>);

impl Notices {
    /// Notes what happened, and logs it.
    pub fn add(&self, is_fault: bool, words: String) {
        if is_fault {
            tracing::warn!("{words}");
        } else {
            tracing::info!("{words}");
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(Notice {
            at: SystemTime::now(),
            is_fault,
            words,
        });
    }

    /// The last ones, the newest first.
    #[must_use]
    pub fn last(&self) -> Vec<Notice> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().rev().cloned().collect()
    }
}
