//! The PostgreSQL extension wellspring_pg is written in C, in the folder above. This crate has its tests.
