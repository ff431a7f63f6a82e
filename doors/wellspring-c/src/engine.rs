//! The engine of the process.

use crate::error::{WS_NULL, WS_OK, WS_TOO_LONG, number};
use core::ffi::{c_char, c_int};
use wellspring::{Engine, SourceHealth};

/// Statistics of the process's generator, none of them secret. Later versions add fields at the end.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct ws_stats {
    /// The phase. 0: no seed yet. 1: a seed of fewer than 128 bits. 2: ready.
    pub phase: u64,
    /// The generation: 1 at first, one more with every reseed.
    pub generation: u64,
    /// The number of living threads that have drawn, plus the number of generators of ws_rng_new that have drawn.
    pub taps: u64,
    /// The number of NUMA nodes, each of which has a generator.
    pub nodes: u64,
    /// The number of times that a reader fetched keys from a node, under its lock.
    pub fetches: u64,
    /// The number of noise sources.
    pub sources: u64,
    /// The number of noise sources that pass their health tests now.
    pub active_sources: u64,
    /// The number of bytes of noise that reached the pools.
    pub harvested_bytes: u64,
    /// The credit of those bytes, in bits of min-entropy.
    pub credited_bits: u64,
    /// The number of events of sources that were dropped. Data that programs mix in does not count here.
    pub dropped_events: u64,
    /// The number of bytes of secret memory that the system refused to lock (RLIMIT_MEMLOCK).
    pub unlocked_bytes: u64,
}

/// Reseeds the generator now, on every NUMA node; every thread takes a fresh key at its next read, so no later byte is
/// without the new seed. The generator also reseeds itself: call
/// this only for a reason of your own, such as a suspected leak of its memory.
///
/// Returns WS_OK, WS_NO_MEMORY, or WS_NOT_SEEDED if the sources yielded nothing to reseed with.
#[unsafe(no_mangle)]
pub extern "C" fn ws_reseed() -> c_int {
    match Engine::try_process().and_then(Engine::reseed) {
        Ok(_) => WS_OK,
        Err(error) => number(error),
    }
}

/// Returns the generation of the generator: 1 at first, one more with every reseed. Returns 0 if there is no memory for
/// a generator.
#[unsafe(no_mangle)]
pub extern "C" fn ws_generation() -> u64 {
    Engine::try_process().map_or(0, Engine::generation)
}

/// Writes the statistics to stats, size bytes in all. Call it with sizeof(struct ws_stats): an older library then sets
/// the fields that it does not know to 0, and a newer one leaves out those that the caller does not know. It allocates
/// memory: do not call it in a signal handler.
///
/// Returns WS_OK, or WS_NULL, WS_TOO_LONG or WS_NO_MEMORY; after an error nothing was written.
///
/// # Safety
///
/// `stats` is null, or points to `size` bytes that the caller may write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_stats(stats: *mut ws_stats, size: usize) -> c_int {
    if size == 0 {
        return WS_OK;
    }
    if stats.is_null() {
        return WS_NULL;
    }
    if isize::try_from(size).is_err() {
        return WS_TOO_LONG;
    }
    let now = match Engine::try_process() {
        Ok(engine) => snapshot(&engine.stats()),
        Err(error) => return number(error),
    };
    let known = size.min(size_of::<ws_stats>());
    // SAFETY: `size` bytes may be written there, and `known` bytes are in both.
    unsafe {
        let stats: *mut u8 = stats.cast();
        stats.copy_from_nonoverlapping((&raw const now).cast(), known);
        stats.add(known).write_bytes(0, size - known);
    }
    WS_OK
}

fn snapshot(stats: &wellspring::Stats) -> ws_stats {
    let active = stats.sources.iter();
    let active = active.filter(|source| source.health == SourceHealth::Active);
    ws_stats {
        phase: stats.phase as u64,
        generation: stats.generation,
        taps: stats.taps as u64,
        nodes: stats.nodes.len() as u64,
        fetches: stats.nodes.iter().map(|node| node.fetches).sum(),
        sources: stats.sources.len() as u64,
        active_sources: active.count() as u64,
        harvested_bytes: stats.sources.iter().map(|source| source.bytes).sum(),
        credited_bits: stats
            .sources
            .iter()
            .map(|source| source.credited_bits)
            .sum(),
        dropped_events: stats.events_dropped,
        unlocked_bytes: stats.unlocked_bytes,
    }
}

/// Returns the version of the library as a text, such as "0.1.0". The text is static: do not free it.
#[unsafe(no_mangle)]
pub extern "C" fn ws_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
