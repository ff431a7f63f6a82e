//! The process of the service.
//!
//! ```text
//! signals     orders from outside
//! panics      a panic ends a connection, or the process
//! bounds      open files, locked memory, core dumps
//! privileges  given up once everything is open
//! sandbox     the files and system calls that stay allowed after that
//! ```

pub(crate) mod bounds;
pub(crate) mod panics;
pub mod privileges;
pub mod sandbox;
pub(crate) mod signals;
