//! Shared memory between `wellspring run` and the libraries that it sets up: the code of both sides.
//!
//! ```text
//! run_page       a page of shared memory that `wellspring run` names in the environment of a program
//! door_counters  the bytes that programs drew through each door, on such a page
//! repeat         the streams of programs that are to draw the same bytes in every run
//! ```

#![cfg(target_os = "linux")]

pub mod door_counters;
pub mod repeat;
mod run_page;
