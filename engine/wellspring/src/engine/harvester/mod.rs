//! The harvester: a thread that gathers noise, so that no reader has to.
//!
//! ```text
//! handle  starts the thread, and ends it with the last clone of its engine
//! worker  the loop of the thread: its work and its schedule
//! tasks   its other tasks: notices of clones, the seed file
//! ```
//!
//! A child process made by `fork` has no such thread: the memory that says so is wiped there, and its readers harvest
//! inline, as in an engine without a harvester. They do the same when the thread has panicked, or is 2 s late.

mod handle;
mod tasks;
mod worker;

pub(super) use handle::HarvesterHandle;

use std::sync::Arc;
use wellspring_core::pool::RESEED_INTERVAL_MS;

/// A running harvester, which ends when the last clone of its engine drops this. Not by its own type: the drop of that
/// joins a thread, and would be linked into programs that start none.
pub(super) type Running = Arc<dyn Send + Sync>;

/// How a harvester works; [`EngineBuilder::harvester`](crate::EngineBuilder::harvester) starts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Harvester {
    pace_ms: u64,
    idle_pace_ms: u64,
}

impl Harvester {
    /// The time between two rounds while the engine is read, in milliseconds. Default, and least: 100, which is the
    /// least time between two reseeds (FS&K 9.5.5).
    #[must_use]
    pub const fn pace_ms(mut self, pace_ms: u64) -> Self {
        self.pace_ms = if pace_ms > RESEED_INTERVAL_MS {
            pace_ms
        } else {
            RESEED_INTERVAL_MS
        };
        self
    }

    /// The longest time between two rounds without reads, in milliseconds: from one round to the next the time
    /// doubles up to this. Default: 3200.
    #[must_use]
    pub const fn idle_pace_ms(mut self, idle_pace_ms: u64) -> Self {
        self.idle_pace_ms = idle_pace_ms;
        self
    }
}

impl Default for Harvester {
    fn default() -> Self {
        Self {
            pace_ms: RESEED_INTERVAL_MS,
            idle_pace_ms: 32 * RESEED_INTERVAL_MS,
        }
    }
}
