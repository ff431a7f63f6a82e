//! The process that the service is.
//!
//! ```text
//! signals     orders from outside
//! bounds      open files, locked memory, core dumps
//! privileges  what it gives up once everything is open
//! sandbox     what it can still do then
//! ```

pub mod bounds;
pub mod privileges;
pub mod sandbox;
pub mod signals;
