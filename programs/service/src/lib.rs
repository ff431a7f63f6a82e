//! The host service: it runs one engine for programs that link no library.
//!
//! ```text
//! service        the service from its start to its end
//! startup        opens what the configuration asks for; then `sandbox` of the core closes the sandbox
//! config_reader  a process that reads the configuration again
//! sockets        EGD, the bulk protocol, HTTP
//! status         the status as JSON and text; page: as HTML; metrics: for Prometheus
//! kernel         the pool of the kernel, and the seeds of our kernel module    [unsafe: ioctl]
//! commands       `wellspringd status` and `wellspringd --check-config`
//! ```
//!
//! Guests and device files are crates of their own. Everything that they share with these modules is in
//! `wellspring-service-core`: the configuration, users and connections, the state, the sandbox.
//!
//! This library exists for the program `wellspringd` and for fuzzers. It has no stable API.

pub mod commands;
pub mod config_reader;
mod kernel;
pub mod metrics;
pub mod page;
pub mod service;
pub mod sockets;
mod startup;
pub mod status;
