//! Random bytes from `wellspringd`, the host service, for programs that do not link an engine; and the service as a
//! source of noise for engines on other machines.
//!
//! ```text
//! protocol     the frames, for both ends
//! client       a connection to the service; the service as a source for an engine
//! unix_socket  connections to Unix sockets that do not wait without end
//! vsock        sockets between a virtual machine and its host
//! ```
//!
//! ```no_run
//! use std::time::Duration;
//! use wellspring_client::{Client, DEFAULT_PATH};
//! let mut client = Client::connect(DEFAULT_PATH, Duration::from_secs(1))?;
//! let mut key = [0; 32];
//! client.fill(&mut key)?;
//! # Ok::<(), wellspring_client::ClientError>(())
//! ```

#![deny(unsafe_code)]

mod client;
pub mod protocol;
pub mod unix_socket;
#[allow(unsafe_code, reason = "rustix has no addresses of vsock")]
pub mod vsock;

pub use client::{Client, ClientError, DEFAULT_PATH, ServiceSource};

/// Compiles the lines of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
