//! The ladder: what a read costs in every mode, beside the operating system and whoever else takes part.
//!
//! ```text
//! contender   who takes part, and what is asked of them
//! subjects    the engine, the operating system, and what bounds them
//! race        throughput: all cases in turn, in short slices, round after round
//! latency     the distribution of single calls
//! harvest     what the harvest side loses while readers hammer
//! harvester   what the harvester's thread gets done meanwhile
//! herd        many threads at a reseed
//! blocks      the share of a block-writing loop that goes into its random numbers
//! footprint   the first byte, and the weight of a tap
//! targets     what the project set itself, met or not
//! model       machines that are not here: sockets and threads as a queue
//! ```
//!
//! ```no_run
//! use wellspring_bench::{Options, run};
//! let report = run(&Options::quick(), Vec::new(), &mut ());
//! println!("{}", report.table());
//! std::fs::write("report.html", report.html())?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! A figure is the median over rounds, a ratio the median of the rounds' ratios, and in each round every
//! case has its turn: noise that lasts hits all alike, noise that does not is outvoted.

#![forbid(unsafe_code)]

pub mod blocks;
pub mod clock;
pub mod contender;
pub mod footprint;
mod format;
pub mod harvest;
pub mod harvester;
pub mod herd;
pub mod histogram;
mod json;
pub mod latency;
pub mod machine;
pub mod model;
mod options;
mod page;
mod progress;
pub mod race;
mod report;
#[cfg(test)]
mod sample;
pub mod statistics;
pub mod subjects;
mod tables;
pub mod targets;

pub use footprint::first_byte;
pub use options::{Options, Section, UnknownSection};
pub use progress::Progress;
pub use report::{Report, run};
