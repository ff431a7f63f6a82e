//! `run`, with the libraries that it sets up and the programs that it starts.
//!
//! ```text
//! program        programs draw on wellspring; the report, the status, signals
//! names          the names in a program's environment, and what outlives the command
//! openssl        the configuration of OpenSSL
//! repeat         --repeat: the same bytes in every run
//! host_programs  what each door adds to its host program, compared with the documentation
//! ```

mod host_programs;
mod names;
mod openssl;
mod program;
mod repeat;
