//! `bytes`, by the real command.
//!
//! ```text
//! amounts        exactly what was asked for, in every form; no bytes twice
//! streams        --pseudo gives the streams of the vectors
//! each_line      --each-line answers every line at once
//! closed_output  a reader that has gone, a full disk, closed outputs, of other commands too
//! residue        the memory of the command, searched for bytes that it wrote
//! terminal       what a terminal gets
//! ```

mod amounts;
mod closed_output;
mod each_line;
mod residue;
mod streams;
mod terminal;
