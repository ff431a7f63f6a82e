//! The sources that are assessed on Linux alone. All are slow.

mod clock;
mod hwrng;
mod interrupts;
mod jitter;
mod wakeups;

pub use hwrng::Hwrng;
pub use interrupts::Interrupts;
pub use jitter::Jitter;
pub use wakeups::Wakeups;

use std::sync::Arc;
use wellspring_core::source::Source;

/// Each of them.
pub(crate) fn all() -> [Arc<dyn Source>; 4] {
    [
        Arc::new(Jitter::default()),
        Arc::new(Wakeups::default()),
        Arc::new(Interrupts::default()),
        Arc::new(Hwrng::default()),
    ]
}
