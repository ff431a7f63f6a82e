//! Measures what a read costs in every mode, beside the operating system and other generators.
//!
//! ```text
//! measure   figures     statistics of a few samples, three digits and a unit, tables
//!           generators  the generators that are compared, and their requests: the engine, the system, and what bounds them
//!           throughput  all cases in turn, in short slices, round after round
//!           latency     the distribution of single reads; of many threads at a reseed
//!           harvest     the harvester's thread beside readers; the first byte, the memory of a tap and of this process
//! report    report      what a run found, where and when; all measurements, one after the other
//!           table       the same for people, in one table
//! ```
//!
//! Each line uses only the lines above it.
//!
//! ```no_run
//! use wellspring_bench::{Options, run, table};
//! let report = run(&Options::quick(), Vec::new());
//! println!("{}", table::text(&report));
//! println!("{:#}", report.json());
//! ```
//!
//! A figure is the median over rounds, a ratio the median of the rounds' ratios. In each round every case has its
//! turn: a disturbance that lasts slows all cases alike, and the median ignores a short one.
//!
//! criterion measures one case after the other. Ten runs of each program in turn, on two CPUs with a load of 24, compared
//! `wellspring::u64()` with `rand::rng()`: criterion's ratio was 1.05 to 2.03, this crate's 1.94 to 1.98.

#![forbid(unsafe_code)]

pub mod figures;
pub mod generators;
pub mod harvest;
pub mod latency;
pub mod report;
pub mod table;
pub mod throughput;

pub use harvest::first_byte;
pub use report::{Options, Part, Report, run};
