//! Whether a source's samples are used and credited: start-up and continuous tests (SP 800-90B sections 4.3 and 4.4),
//! pure functions of the samples.
//!
//! They catch a source that has died, got stuck or lost its noise, not one that is slightly weaker than it claims. The
//! credit follows the source's claim; these tests tell when the claim can no longer be true.
//!
//! ```text
//! cutoffs      from a claim and a chance of false alarm to the counts that fail; the table is computed
//! continuous   the repetition count and the adaptive proportion test, both grades of each
//! state        start-up, active, quarantined, disabled
//! ```
//!
//! ```
//! use wellspring_core::health::{Health, SourceHealth, Action};
//! use wellspring_core::source::{MinEntropy, Symbol};
//! let claim = MinEntropy::per_byte_256ths(256);
//! let mut health = Health::ZERO;
//! let samples: Vec<u8> = (0..1024u32).map(|n| (n * n / 7) as u8).collect();
//! assert_eq!(health.judge(claim, Symbol::Byte, &samples).action, Action::Discard, "start-up");
//! assert_eq!(health.judge(claim, Symbol::Byte, &samples).action, Action::Credit);
//! let stuck = health.judge(claim, Symbol::Byte, &[7; 40]);
//! assert_eq!(stuck.action, Action::Discard);
//! assert_eq!(health.state(), SourceHealth::Quarantined);
//! ```

mod continuous;
mod cutoffs;
mod state;
// Written by `vectors/make-cutoffs.py`.
#[rustfmt::skip]
mod table;

pub use continuous::{Findings, Test};
pub use cutoffs::{Cutoffs, Grade};
pub use state::{Action, Health, Outcome, START_UP_SYMBOLS, SourceHealth};
