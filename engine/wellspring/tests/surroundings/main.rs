//! Whatever surrounds an engine fails it: a read waits, is refused, or goes on, and none hangs.
//!
//! ```text
//! limits        below 128 bits of credit: who waits, who is told, who is served
//! own_sources   sources that read their engine, end it, or panic
//! hostile_page  a generation page whose owner does it harm
//! ```

#[path = "../common/mod.rs"]
mod common;

mod hostile_page;
mod limits;
mod own_sources;
