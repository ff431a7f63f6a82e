//! Functions that several tests use.

#![allow(dead_code, reason = "each test uses its own part")]

pub(crate) mod distributions;
pub(crate) mod statistics;
