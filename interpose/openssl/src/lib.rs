//! An OpenSSL 3 provider with two random generators.
//!
//! ```text
//! abi        OpenSSL's numbers and types, as in its core_dispatch.h and core.h
//! parameter  the parameters of a generator that OpenSSL can ask for
//! context    the common part of both algorithms: contexts and their states
//! generator  WELLSPRING: OpenSSL's generators are taps of the engine
//! seed       WELLSPRING-SEED: a seed source beneath OpenSSL's own generator
//! provider   OSSL_provider_init, the list of algorithms, and the provider's name, version and status
//! ```
//!
//! OpenSSL makes one context for itself and two for each thread. A context here holds its state and nothing else: the
//! bytes come from the tap of the calling thread. So any thread may use any context without a lock, and a child process
//! never repeats its parent, even if OpenSSL does not notice the fork.

mod abi;
mod context;
mod generator;
mod parameter;
mod provider;
mod seed;

pub use provider::OSSL_provider_init;
