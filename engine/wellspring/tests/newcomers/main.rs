//! The cost of the library in a program that starts to use it, and the hints of the compiler. The tests run cargo.

mod hints;
mod weight;
