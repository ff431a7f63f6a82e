//! The provider in programs that use OpenSSL.
//!
//! ```text
//! common    runs programs under a configuration with the provider
//! programs  installed programs, servers and clients draw on it
//! database  a PostgreSQL server draws through pgcrypto
//! torture   forks, timers, cancelled threads, tight limits, sanitizers
//! faults    each system call of a first draw fails once, and always
//! header    the numbers and layouts of OpenSSL's header
//! newer     OpenSSL 3.5 and 4.0: `cargo xtask openssl`
//! own       OpenSSL's own tests: `cargo xtask openssl --own`
//! ```

mod common;
mod database;
mod faults;
mod header;
mod newer;
mod own;
mod programs;
mod torture;
