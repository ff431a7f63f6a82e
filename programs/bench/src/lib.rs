//! Measures what a read costs in every mode, beside the operating system and other generators.
//!
//! ```text
//! measure   generator     the generators that are compared, and their requests
//!           generators    the engine, the operating system, and what memory does at best
//!           throughput    all cases in turn, in short slices, round after round
//!           latency       the distribution of single reads; many_readers: of many threads at a reseed
//!           harvest       the harvester's thread beside readers
//!           footprint     the first byte, and the memory of a tap
//!           host          the machine, the date and the version; process: memory and CPU time of this one
//! report    report        what a run found; tables: the same for people
//!           run           all measurements, one after the other
//! ```
//!
//! Each line uses only the lines above it.
//!
//! ```no_run
//! use wellspring_bench::{Options, run, tables};
//! let report = run(&Options::quick(), Vec::new());
//! println!("{}", tables::text(&report));
//! println!("{:#}", report.json());
//! ```
//!
//! A figure is the median over rounds, a ratio the median of the rounds' ratios. In each round every case has its
//! turn: a disturbance that lasts slows all cases alike, and the median ignores a short one.
//!
//! criterion measures one case after the other. Ten runs of each program in turn, on two CPUs with a load of 24, compared
//! `wellspring::u64()` with `rand::rng()`: criterion's ratio was 1.05 to 2.03, this crate's 1.94 to 1.98.

#![forbid(unsafe_code)]

pub mod footprint;
pub mod format;
pub mod generator;
pub mod generators;
pub mod harvest;
pub mod host;
pub mod latency;
pub mod many_readers;
pub mod process;
pub mod report;
mod run;
pub mod statistics;
pub mod table;
pub mod tables;
pub mod throughput;

pub use footprint::first_byte;
pub use report::Report;
pub use run::{Options, Part, run};
