//! The other commands: what they print, and what they refuse.
//!
//! ```text
//! bad_input        bad input gets one line and a status of its own
//! check            self-tests, statistics, sources, help
//! bench            quick runs
//! replay           answers and comparisons
//! seed             seed files, on disks as they come
//! uuid             identifiers
//! generated        completions and man pages
//! generation       the generation page: show, bump, serve
//! generation_page  the same page by the programs of its specification
//! guest            the hooks of a guest image
//! host_service     serve and status where the service is not
//! kernel           the kernel module where it is not
//! ```

mod bad_input;
mod bench;
mod check;
mod generated;
mod generation;
mod generation_page;
mod guest;
mod host_service;
mod kernel;
mod replay;
mod seed;
mod uuid;
