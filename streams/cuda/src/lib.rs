//! The header `wellspring_chacha8.cuh` is CUDA and C++, in the folder above. This crate has its tests.

#![forbid(unsafe_code)]

#[cfg(test)]
mod header;
