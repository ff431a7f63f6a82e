//! `wasi:random` for the components that [wasmtime] runs: each answer comes from the tap of the thread that makes the call.
//!
//! ```
//! use wasmtime::component::{Component, Linker, ResourceTable};
//! use wasmtime::{Engine, Store};
//! use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
//!
//! #[derive(Default)]
//! struct State(WasiCtx, ResourceTable);
//!
//! impl WasiView for State {
//!     fn ctx(&mut self) -> WasiCtxView<'_> {
//!         WasiCtxView { ctx: &mut self.0, table: &mut self.1 }
//!     }
//! }
//!
//! # fn main() -> wasmtime::Result<()> {
//! let engine = Engine::default();
//! let mut linker = Linker::<State>::new(&engine);
//! wasmtime_wasi::p2::add_to_linker_sync(&mut linker)?; // the rest of WASI
//! wellspring_wasmtime::add_to_linker(&mut linker)?; // in place of its random functions
//!
//! let component = Component::new(&engine, r#"(component
//!   (import "wasi:random/random@0.2.0" (instance $random (export "get-random-u64" (func (result u64)))))
//!   (core func $draw (canon lower (func $random "get-random-u64")))
//!   (func (export "draw") (result u64) (canon lift (core func $draw))))"#)?;
//! let mut store = Store::new(&engine, State::default());
//! let instance = linker.instantiate(&mut store, &component)?;
//! let draw = instance.get_typed_func::<(), (u64,)>(&mut store, "draw")?;
//! let (first,) = draw.call(&mut store, ())?;
//! assert_ne!(draw.call(&mut store, ())?, (first,));
//! # Ok(())
//! # }
//! ```
//!
//! | function | preview 2 | preview 3 |
//! |---|---|---|
//! | `get-random-bytes`, `get-insecure-random-bytes` | a trap above [`MAX_BYTES`] | at most [`PIECE_BYTES`]: callers ask again |
//! | `get-random-u64`, `get-insecure-random-u64` | 8 bytes | 8 bytes |
//! | `insecure-seed`, `get-insecure-seed` | new at each call | new at each call |
//!
//! The functions whose name says "insecure" give the same bytes: a generator of their own would have a state in the store, which
//! copies of the host share.
//!
//! Nothing is kept in the store. Instances that start from one snapshot draw different bytes, and so do copies of the host's
//! process and of its machine, as the engine promises. The host's copy of an answer is wiped when the guest has the bytes.
//!
//! Before the engine is seeded with 128 bits, each function waits and blocks its thread: an asynchronous host calls
//! [`wellspring::fill`] once before its first component.

use bytes::Bytes;
use wasmtime::component::Linker;
use wasmtime::{Result, bail};
use zeroize::Zeroizing;

/// The versions that wasmtime-wasi 48 defines. Components that import an older 0.2 get the same functions.
const PREVIEW_2: &str = "0.2.12";
const PREVIEW_3: &str = "0.3.0";

/// The most bytes of one call in preview 2, as in wasmtime. `WasiCtxBuilder::max_random_size` does not change it.
pub const MAX_BYTES: u64 = 64 << 20;

/// The most bytes of one answer in preview 3. Its callers ask again for the rest.
pub const PIECE_BYTES: u64 = 64 << 10;

/// Serves `wasi:random` 0.2 and 0.3 in a linker, in place of the functions that it has already. After it, the linker refuses a
/// second definition of a name, as a new linker does.
///
/// # Errors
///
/// The error of wasmtime's linker.
pub fn add_to_linker<T: 'static>(linker: &mut Linker<T>) -> Result<()> {
    linker.allow_shadowing(true);
    let added = add(linker, PREVIEW_2, exactly, "insecure-seed")
        .and_then(|()| add(linker, PREVIEW_3, at_most, "get-insecure-seed"));
    linker.allow_shadowing(false);
    added
}

/// The three interfaces of one version.
fn add<T: 'static>(
    linker: &mut Linker<T>,
    version: &str,
    draw: fn(u64) -> Result<Bytes>,
    seed: &str,
) -> Result<()> {
    for (interface, bytes, word) in [
        ("random", "get-random-bytes", "get-random-u64"),
        (
            "insecure",
            "get-insecure-random-bytes",
            "get-insecure-random-u64",
        ),
    ] {
        let mut functions = linker.instance(&format!("wasi:random/{interface}@{version}"))?;
        functions.func_wrap(bytes, move |_, (length,)| Ok((draw(length)?,)))?;
        functions.func_wrap(word, |_, ()| Ok((wellspring::u64(),)))?;
    }
    let mut functions = linker.instance(&format!("wasi:random/insecure-seed@{version}"))?;
    functions.func_wrap(seed, |_, ()| Ok(((wellspring::u64(), wellspring::u64()),)))
}

/// The bytes of preview 2.
fn exactly(length: u64) -> Result<Bytes> {
    if length > MAX_BYTES {
        bail!("a component wants {length} random bytes in one call, more than {MAX_BYTES}");
    }
    Ok(bytes(length as usize))
}

/// The bytes of preview 3.
fn at_most(length: u64) -> Result<Bytes> {
    Ok(bytes(length.min(PIECE_BYTES) as usize))
}

fn bytes(length: usize) -> Bytes {
    let mut bytes = Zeroizing::new(vec![0; length]);
    wellspring::fill(&mut bytes);
    Bytes::from_owner(bytes)
}
