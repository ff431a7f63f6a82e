//! A call leaves no secret behind: on the stack, and in registers.
//!
//! ```text
//! model      the plain generator, with the state of each round
//! search     reads the stack below a test
//! keystream  the stack after a keystream
//! sha256     the stack after a hash
//! registers  vector registers after a keystream
//! ```

mod keystream;
#[path = "../common/model.rs"]
mod model;
mod registers;
mod search;
mod sha256;
