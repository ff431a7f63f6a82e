//! Known answers: runs the line format of `vectors/` through the pipeline of `wellspring-core`, with the clock and the
//! sources replaced by the file.
//!
//! ```text
//! begin name=N cipher=aes|chacha concurrent=0|1   a fresh engine with one node
//! ev ctr=HHHHHHHH size=S data=HEX dest=D src=other|vmgenid
//!                                                 an event: into pool D mod 32, or pool 0 from vmgenid
//! pre STATE                                       a reseed if pool 0 has 64 bytes; then the state
//! read n=N out=HEX                                a read of N bytes ("-" for none)
//! read n=N sha256=HEX first=HEX last=HEX          the same, where N is large
//!   after STATE                                   the state after the last read
//! gen cipher=.. concurrent=.. K=HEX C=HEX         a fresh generator with this K and C; read and after follow
//! end
//! noise name=N symbol=bit|byte|word claim=C       a fresh source; it claims C / 256 bits a byte
//! samples data=HEX                                its next samples, judged at once
//! samples n=N data=HEX                            the same, N times
//!   health state=S credited=B mixed=B discarded=B repetition=I,P proportion=I,P
//!                                                 the source's state, the bytes used and discarded,
//!                                                 the failures of each test, intermittent and permanent
//! STATE: reseeds=R len0=L C=HEX(16 bytes, little endian) K=HEX(32 bytes)|none
//! ```
//!
//! Lines that start with `#` and empty lines are comments. The answers of a file may be left out: [`run`] computes each
//! one, and compares it if the file has it.
//!
//! ```
//! use wellspring_replay::{Replay, Comparison};
//! let mut replay = Replay::new();
//! replay.line("gen cipher=aes concurrent=1 K=0000000000000000000000000000000000000000000000000000000000000000 \
//!              C=01000000000000000000000000000000")?;
//! let answer = replay.line("read n=4")?.expect("a read has an answer");
//! assert_eq!(answer.comparison, Comparison::NothingExpected);
//! # Ok::<(), wellspring_replay::ReplayError>(())
//! ```

#![forbid(unsafe_code)]

mod answer;
mod fields;
mod pipeline;
mod recorded_source;
mod replay;

pub use answer::{Answer, Comparison};
pub use fields::ReplayError;
pub use pipeline::{Event, Pipeline, State};
pub use replay::{Replay, Summary, begins_vector, run, run_function};

#[cfg(test)]
mod tests;
