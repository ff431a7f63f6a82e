//! The host service: it runs one engine for programs that link no library.
//!
//! ```text
//! config       a TOML file; every key has a default
//! config_check   whether this machine has what it names
//! config_reader  a process that reads it again
//! stderr_log   the log: lines on stderr
//! meters       the counters of a door
//! rate_limit   a limit of bytes a second
//! users        the users that draw, and their limits; connections: the open connections; turns: the order of users
//! descriptors  those that are kept back for root and for the service itself
//! heartbeats   which threads go round their loops
//! sources      the sources as an operator sees them
//! event_log    the last events
//! doors        the doors, and which of them are open
//! page         the generation page, and who may order that it changes
//! state        all of these, and the engine; admission: lets a connection in
//! status       status and metrics, made of the state
//! listener     a socket that accepts connections
//! event_loop   waits for events, accepts connections, lets some wait (pauses)
//! clients      the connections of one thread, for the two below
//! sockets      EGD, the bulk protocol, HTTP
//! vhost_user_rng  virtio-rng for virtual machines, by vhost-user
//! files        the device files
//! kernel_pool  the kernel's pool; kernel_module: the seeds of our kernel module
//! systemd      messages to systemd
//! process      signals, bounds, privileges, sandbox
//! startup      opens what the configuration asks for
//! enclosure    gives up privileges, and closes the sandbox
//! service      the service from its start to its end
//! wipe         wipes many bytes at once
//! client       `wellspringd status`
//! ```
//!
//! This library exists for the program `wellspringd` and for fuzzers. It has no stable API.

mod admission;
pub mod client;
mod clients;
pub mod config;
pub mod config_check;
pub mod config_reader;
mod connections;
mod descriptors;
pub mod doors;
pub mod enclosure;
mod event_log;
mod event_loop;
pub mod files;
mod heartbeats;
mod kernel_module;
mod kernel_pool;
mod listener;
mod meters;
pub mod page;
mod pauses;
pub mod process;
mod rate_limit;
pub mod service;
pub mod sockets;
pub mod sources;
mod startup;
pub mod state;
pub mod status;
mod stderr_log;
mod systemd;
mod turns;
pub mod users;
pub mod vhost_user_rng;
mod wipe;
