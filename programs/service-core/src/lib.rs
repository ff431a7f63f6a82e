//! The part of the host service that its guests (`wellspring-guests`) and its device files (`wellspring-device-files`)
//! share.
//!
//! ```text
//! config       a TOML file; every key has a default
//! doors        the doors, their counters, and which of them are open
//! day          what the doors, the seeds and the sources did in each quarter of an hour of the last day
//! users        the users that draw, their limits, and the order of their turns
//! connections  the open connections, and which of them gives way; descriptors that are kept back
//! reseeder     the process that has the kernel's generator take new keys
//! state        all of these, the engine, the generation page and the last events: what all threads share
//! process      orders by signals, panics, bounds, memory that is wiped            [unsafe: signals]
//! listener     a socket that accepts connections                                  [unsafe: setsockopt]
//! clients      the connections of one thread: let in, served in turns, paused
//! sandbox      gives up privileges, and closes the sandbox
//! ```
//!
//! Each uses only modules above it, and `reseeder` the sandbox too.

pub mod clients;
pub mod config;
pub mod connections;
pub mod day;
pub mod doors;
pub mod listener;
pub mod process;
pub mod reseeder;
pub mod sandbox;
pub mod state;
pub mod users;
