//! The engine of the process, and generators that a caller owns.

use crate::edge::{
    WS_NULL, WS_OK, WS_TOO_LONG, bytes, drop_placed, give, number, of, place, vector,
};
use crate::fill::{first, refuse};
use core::ffi::{c_char, c_int, c_void};
use wellspring::{Engine, LocalRng, Totals};
use zeroize::Zeroizing;

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
    /// The number of NUMA nodes. Each has a generator.
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

/// Reseeds the generator now, on every NUMA node; every thread takes a fresh key at its next read, so every later byte depends
/// on the new seed. The generator also reseeds itself: call this only for a special reason, such as a suspected leak of its
/// memory.
///
/// Returns WS_OK, WS_NO_MEMORY, or WS_NOT_SEEDED if the sources yielded nothing to reseed with.
#[unsafe(no_mangle)]
pub extern "C" fn ws_reseed() -> c_int {
    match Engine::try_process().and_then(Engine::reseed) {
        Ok(_) => WS_OK,
        Err(error) => number(error),
    }
}

/// Hashes length bytes of data into the pools of noise, without credit. Data from an attacker weakens nothing. The data takes
/// effect at a later reseed; at the next one if ws_reseed orders it. Data of up to 64 calls waits for the pools. The call
/// itself never waits: if 64 are there, or another thread is in the middle of a call, the data is dropped.
///
/// Returns WS_OK, or WS_NULL, WS_TOO_LONG or WS_NO_MEMORY.
///
/// # Safety
///
/// `data` is null, or points to `length` bytes that nothing writes meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_mix(data: *const c_void, length: usize) -> c_int {
    // SAFETY: the same contract.
    let mixed = unsafe { vector::<u8>(data.cast(), length) }.and_then(|data| {
        let engine = Engine::try_process().map_err(number)?;
        engine.mix(data);
        Ok(())
    });
    of(mixed)
}

/// Separates this process from all copies of it and of its machine: reseeds every NUMA node with output of the system, the
/// processor and the clocks of this moment, and every thread takes a fresh key at its next read. Call it in a program that was
/// restored from a snapshot or a checkpoint, as soon as the program knows. The library also notices by itself where it can: a
/// generation page, the hypervisor's clock, a suspend.
///
/// Returns WS_OK or WS_NO_MEMORY.
#[unsafe(no_mangle)]
pub extern "C" fn ws_diverge_from_clones() -> c_int {
    let diverged = Engine::try_process().map(|engine| {
        engine.diverge_from_clones();
    });
    of(diverged.map_err(number))
}

/// Prepares this process for a filter of system calls, as strict as seccomp(2) has it. Afterwards no read makes a system call,
/// on any thread, in this process and in its children; this cannot be undone. Call it before the filter is installed, and on
/// each thread that will read.
///
/// Keys then come from the process's own generator and from the processor's instructions, without fresh output of the kernel;
/// reseeds go on from the instructions and from ws_mix. A thread that has not read before gets a generator of its own if
/// memory for one is mapped already, which holds for 8 threads; others read more slowly. A signal handler may read, and must
/// not be left by siglongjmp(3). A child of fork(3) gets a seed from its parent, a child of a raw clone(2) does not.
///
/// Returns WS_OK, or WS_NOT_SEEDED or WS_NO_MEMORY; after an error nothing has changed.
#[unsafe(no_mangle)]
pub extern "C" fn ws_prepare_for_sandbox() -> c_int {
    of(first()
        .and_then(Engine::prepare_for_sandbox)
        .map_err(number))
}

/// Returns the generation of the generator: 1 at first, one more with every reseed. Returns 0 if there is no memory for
/// a generator.
#[unsafe(no_mangle)]
pub extern "C" fn ws_generation() -> u64 {
    Engine::try_process().map_or(0, Engine::generation)
}

/// Writes size bytes of statistics to stats. Call it with sizeof(struct ws_stats). An older library then sets the fields that
/// it does not know to 0. A newer one leaves out fields that the caller does not know. Do not call it in a signal handler.
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
        Ok(engine) => snapshot(&engine.totals()),
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

fn snapshot(totals: &Totals) -> ws_stats {
    ws_stats {
        phase: totals.phase as u64,
        generation: totals.generation,
        taps: totals.taps as u64,
        nodes: totals.nodes as u64,
        fetches: totals.fetches,
        sources: totals.sources as u64,
        active_sources: totals.active_sources as u64,
        harvested_bytes: totals.bytes,
        credited_bits: totals.credited_bits,
        dropped_events: totals.events_dropped,
        unlocked_bytes: totals.unlocked_bytes,
    }
}

/// Returns the version of the library as a text, such as "0.1.0". The text is static: do not free it.
#[unsafe(no_mangle)]
pub extern "C" fn ws_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

// Empty, so that the interface does not depend on what is inside: a pointer to it points to a `LocalRng`.
/// A generator that one thread at a time may use. It notices forks and reseeds, takes one page of memory, and is erased
/// when it is freed.
#[repr(C)]
#[allow(non_camel_case_types, reason = "its name in C")]
pub struct ws_rng([u8; 0]);

/// Makes a generator and stores it in *rng; free it with ws_rng_free. Two threads must not use one generator at the
/// same time, and a signal handler must not use the generator of the interrupted call: make another, or use ws_fill. A handler
/// may leave a call that draws from it by siglongjmp(3): the generator loses the bytes of that call.
///
/// Returns WS_OK, or WS_NULL or WS_NO_MEMORY; after an error *rng is null, unless rng itself is.
///
/// # Safety
///
/// `rng` is null, or the caller may write a pointer there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_rng_new(rng: *mut *mut ws_rng) -> c_int {
    let make = || {
        let engine = Engine::try_process().map_err(number)?;
        place(engine.rng()).map(<*mut LocalRng>::cast)
    };
    // SAFETY: the same contract.
    of(unsafe { give(rng, make) })
}

/// Erases and frees a generator. Does nothing if rng is null.
///
/// # Safety
///
/// `rng` is null, or from `ws_rng_new` and not freed before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_rng_free(rng: *mut ws_rng) {
    // SAFETY: the same contract.
    unsafe { drop_placed(rng.cast::<LocalRng>()) };
}

/// Writes length random bytes from a generator to destination. Waits for a seed like ws_fill.
///
/// Returns WS_OK, or WS_NOT_SEEDED, WS_NULL or WS_TOO_LONG; after an error nothing was written.
///
/// # Safety
///
/// `rng` is null or a generator that nothing else uses now; `destination` as in `ws_fill`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_rng_fill(
    rng: *mut ws_rng,
    destination: *mut c_void,
    length: usize,
) -> c_int {
    // SAFETY: the same contract.
    let filled = unsafe { rng.cast::<LocalRng>().as_mut() }
        .ok_or(WS_NULL)
        .and_then(|rng| {
            // SAFETY: the same contract.
            let bytes = unsafe { bytes(destination, length) }?;
            rng.fill_or_fail(bytes).map_err(number)
        });
    of(filled)
}

/// Returns 32 random bits from a generator, which must not be null. Waits and ends the process like ws_u32.
///
/// # Safety
///
/// A generator that nothing else uses now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_rng_u32(rng: *mut ws_rng) -> u32 {
    // SAFETY: the same contract.
    u32::from_le_bytes(array(unsafe { given(rng) }))
}

/// Returns 64 random bits from a generator, which must not be null. Waits and ends the process like ws_u64.
///
/// # Safety
///
/// A generator that nothing else uses now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_rng_u64(rng: *mut ws_rng) -> u64 {
    // SAFETY: the same contract.
    u64::from_le_bytes(array(unsafe { given(rng) }))
}

/// Returns a number from 0 to count - 1, each equally likely, and 0 if count is 0, from a generator, which must not be
/// null. Waits and ends the process like ws_u64.
///
/// # Safety
///
/// A generator that nothing else uses now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_rng_below(rng: *mut ws_rng, count: u64) -> u64 {
    // SAFETY: the same contract.
    let rng = unsafe { given(rng) };
    match count.checked_sub(1) {
        Some(last) => wellspring::u64_from_words(last, || u64::from_le_bytes(array(rng))),
        None => 0,
    }
}

#[inline(always)]
fn array<const N: usize>(rng: &mut LocalRng) -> [u8; N] {
    #[cold]
    #[inline(never)]
    fn array_late<const N: usize>(rng: &mut LocalRng) -> [u8; N] {
        let mut bytes = Zeroizing::new([0; N]);
        let filled = rng.fill_or_fail(&mut *bytes);
        filled.unwrap_or_else(|error| refuse(error));
        *bytes
    }

    match rng.ready_bytes() {
        Some(bytes) => bytes,
        None => array_late(rng),
    }
}

/// Returns the generator. A null pointer ends the process, because a function that returns a number cannot return an
/// error.
///
/// # Safety
///
/// `rng` is null, or a generator that nothing else uses while the reference lives.
#[inline(always)]
unsafe fn given<'a>(rng: *mut ws_rng) -> &'a mut LocalRng {
    // SAFETY: the same contract.
    match unsafe { rng.cast::<LocalRng>().as_mut() } {
        Some(rng) => rng,
        None => panic!("wellspring: the generator is a null pointer"),
    }
}
