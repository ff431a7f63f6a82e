//! The commands, each with its arguments in a struct beside its `run`.
//!
//! ```text
//! bytes          bytes [SIZE]
//! uuid           uuid -7 -n COUNT: identifiers
//! replay         replay FILE...
//! check          check: self-tests by name
//! stats          stats: the state of an engine
//! sources        sources list, record, replay, watch: noise and its health
//! seed           seed show FILE, seed save FILE
//! generation     generation show, bump, serve
//! bench          bench: measurements on this machine
//! run            run -- PROGRAM: installed programs draw on wellspring
//! host_service   serve, status: the program wellspringd
//! kernel         kernel save FILE, kernel restore FILE: the seeds of the kernel module
//! manual         completions SHELL, man
//! ```

pub(crate) mod bench;
pub(crate) mod bytes;
pub(crate) mod check;
#[cfg(target_os = "linux")]
pub(crate) mod generation;
#[cfg(target_os = "linux")]
pub(crate) mod host_service;
#[cfg(target_os = "linux")]
pub(crate) mod kernel;
pub(crate) mod manual;
pub(crate) mod replay;
#[cfg(target_os = "linux")]
pub(crate) mod run;
pub(crate) mod seed;
pub(crate) mod sources;
pub(crate) mod stats;
pub(crate) mod uuid;
