//! The guards in the runtimes that they guard.
//!
//! ```text
//! common  copies of one process, beside a generation page
//! node    Math.random, pools of packages
//! ruby    Random, Kernel, shuffles
//! search  an attacker who knows another clone's state and all clocks searches a guard's seed
//! jvm     java.util, java.security, by an agent
//! ```

mod common;
mod jvm;
mod node;
mod ruby;
mod search;
