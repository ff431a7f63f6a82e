/* wellspring: random numbers that scale with the machine.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef WELLSPRING_H
#define WELLSPRING_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A result that must be looked at: without the bytes there is no key. */
#if defined(__GNUC__)
#define WS_CHECK __attribute__((warn_unused_result))
#else
#define WS_CHECK
#endif

/* ---- errors of the random-number library ---- */

/* Success. */
#define WS_OK 0

/*
 * The generator has no seed yet: the sources have yielded less than 128 bits of credited noise, and this call does not
 * wait, or the system refuses random bytes to this process.
 */
#define WS_NOT_SEEDED 1

/* There is no memory for a generator. A later call tries again. */
#define WS_NO_MEMORY 2

/* A pointer is null although the length is not 0, or although the function needs an object there. */
#define WS_NULL 3

/* A length is above PTRDIFF_MAX, or an array goes past its last index. */
#define WS_TOO_LONG 4

/* No algorithm of streams has this name, or it has no elements. */
#define WS_NO_ALGORITHM 5

/* Another error of the generator. A later version may have a number for it. */
#define WS_FAILED 6

/* The distribution does not have such a parameter. */
#define WS_PARAMETER 7

/*
 * Returns the meaning of an error number as a text. The text is static: do not free it. A number that no function
 * returns gives "unknown error number".
 */
const char *ws_strerror(int error);

/* ---- random bytes and numbers fit for keys ---- */

/*
 * Writes length random bytes, fit for keys, to destination. If the generator has no seed of 128 bits yet, the function
 * waits for one. It does not wait if the system refuses random bytes to this process, so that no seed can come: for
 * instance by a filter of system calls, in a child that was not made by fork(3). The length is at most PTRDIFF_MAX.
 * destination may be null if the length is 0.
 *
 * Any thread, a signal handler and a child process after fork(2) may call it. The first call in a process allocates
 * memory: make it outside a handler. By siglongjmp(3) a handler may leave a later call that it interrupted: the
 * thread's next calls are slower, and no bytes come twice.
 *
 * Returns WS_OK, or WS_NOT_SEEDED, WS_NULL, WS_TOO_LONG or WS_NO_MEMORY; after an error nothing was written.
 */
WS_CHECK int ws_fill(void *destination, size_t length);

/*
 * Like ws_fill, but returns WS_NOT_SEEDED instead of waiting for a seed.
 *
 * Returns WS_OK, or WS_NOT_SEEDED, WS_NULL, WS_TOO_LONG or WS_NO_MEMORY; after an error nothing was written.
 */
WS_CHECK int ws_try_fill(void *destination, size_t length);

/*
 * Returns 32 random bits. Like ws_fill it waits for a seed; where that returns an error, this ends the process by abort(3).
 */
uint32_t ws_u32(void);

/*
 * Returns 64 random bits. Like ws_fill it waits for a seed; where that returns an error, this ends the process by abort(3).
 */
uint64_t ws_u64(void);

/*
 * Returns a number from 0 to count - 1, each equally likely, and 0 if count is 0. Waits and ends the process like
 * ws_u64.
 */
uint64_t ws_below(uint64_t count);

/* Returns a number in [0, 1), a multiple of 2 to the power of -53. Waits and ends the process like ws_u64. */
double ws_double(void);

/* ---- identifiers ---- */

/*
 * Writes a UUID of version 4, 122 random bits, to the 16 bytes at id. It may be called wherever ws_fill may, and waits
 * like ws_fill.
 *
 * Returns WS_OK, or WS_NOT_SEEDED, WS_NULL or WS_NO_MEMORY; after an error nothing was written.
 */
WS_CHECK int ws_uuid4(uint8_t *id);

/*
 * Writes a UUID of version 7 to the 16 bytes at id: the time in milliseconds, 18 bits of a counter, 56 random bits. A
 * thread makes them in ascending order, also if the clock goes back. The time is up to a tick of the kernel, 1 to 10 ms,
 * late. A signal handler may call it, and its identifiers may sort before or after the interrupted call's.
 * Waits like ws_fill.
 *
 * Returns WS_OK, or WS_NOT_SEEDED, WS_NULL or WS_NO_MEMORY; after an error nothing was written.
 */
WS_CHECK int ws_uuid7(uint8_t *id);

/*
 * Writes a ULID to the 16 bytes at id: as ws_uuid7, with 62 random bits.
 *
 * Returns WS_OK, or WS_NOT_SEEDED, WS_NULL or WS_NO_MEMORY; after an error nothing was written.
 */
WS_CHECK int ws_ulid(uint8_t *id);

/*
 * Writes the text of the UUID at id to text, 36 characters and a zero: hexadecimal digits in lower case, with hyphens.
 *
 * Returns WS_OK, or WS_NULL.
 */
WS_CHECK int ws_uuid_text(const uint8_t *id, char *text);

/*
 * Writes the text of the ULID at id to text, 26 characters and a zero: Crockford's base 32 in upper case.
 *
 * Returns WS_OK, or WS_NULL.
 */
WS_CHECK int ws_ulid_text(const uint8_t *id, char *text);

/*
 * Writes length bytes, such as a trace id of 16 or 32 from ws_fill, as hexadecimal digits in lower case to text, which has
 * room for 2 * length characters and a zero, and does not overlap bytes. bytes may be null if the length is 0.
 *
 * Returns WS_OK, or WS_NULL or WS_TOO_LONG; after an error nothing was written.
 */
WS_CHECK int ws_hex(const void *bytes, size_t length, char *text);

/* ---- the state of the generator of the process ---- */

/* Statistics of the process's generator, none of them secret. Later versions add fields at the end. */
struct ws_stats {
    /* The phase. 0: no seed yet. 1: a seed of fewer than 128 bits. 2: ready. */
    uint64_t phase;
    /* The generation: 1 at first, one more with every reseed. */
    uint64_t generation;
    /* The number of living threads that have drawn, plus the number of generators of ws_rng_new that have drawn. */
    uint64_t taps;
    /* The number of NUMA nodes; each has a generator. */
    uint64_t nodes;
    /* The number of times that a reader fetched keys from a node, under its lock. */
    uint64_t fetches;
    /* The number of noise sources. */
    uint64_t sources;
    /* The number of noise sources that pass their health tests now. */
    uint64_t active_sources;
    /* The number of bytes of noise that reached the pools. */
    uint64_t harvested_bytes;
    /* The credit of those bytes, in bits of min-entropy. */
    uint64_t credited_bits;
    /* The number of events of sources that were dropped. Data that programs mix in does not count here. */
    uint64_t dropped_events;
    /* The number of bytes of secret memory that the system refused to lock (RLIMIT_MEMLOCK). */
    uint64_t unlocked_bytes;
};

/*
 * Reseeds the generator now, on every NUMA node; every thread takes a fresh key at its next read, so every later byte
 * depends on the new seed. The generator also reseeds itself: call this only for a special reason, such as a suspected
 * leak of its memory.
 *
 * Returns WS_OK, WS_NO_MEMORY, or WS_NOT_SEEDED if the sources yielded nothing to reseed with.
 */
int ws_reseed(void);

/*
 * Hashes length bytes of data into the pools of noise, without credit. Data from an attacker weakens nothing. The data
 * takes effect at a later reseed; at the next one if ws_reseed orders it. Data of up to 64 calls waits for the pools.
 * The call itself never waits: if 64 are there, or another thread is in the middle of a call, the data is dropped.
 *
 * Returns WS_OK, or WS_NULL, WS_TOO_LONG or WS_NO_MEMORY.
 */
int ws_mix(const void *data, size_t length);

/*
 * Separates this process from all copies of it and of its machine: reseeds every NUMA node with output of the system,
 * the processor and the clocks of this moment, and every thread takes a fresh key at its next read. Call it in a
 * program that was restored from a snapshot or a checkpoint, as soon as the program knows. The library also notices by
 * itself where it can: a generation page, the hypervisor's clock, a suspend.
 *
 * Returns WS_OK or WS_NO_MEMORY.
 */
int ws_diverge_from_clones(void);

/*
 * Prepares this process for a filter of system calls, as strict as seccomp(2) has it. Afterwards no read makes a system
 * call, on any thread, in this process and in its children; this cannot be undone. Call it before the filter is
 * installed, and on each thread that will read.
 *
 * Keys then come from the process's own generator and from the processor's instructions, without fresh output of the
 * kernel; reseeds go on from the instructions and from ws_mix. A thread that has not read before gets a generator of
 * its own if memory for one is mapped already, which holds for 8 threads; others read more slowly. A signal handler may
 * read, and must not be left by siglongjmp(3). A child of fork(3) gets a seed from its parent, a child of a raw
 * clone(2) does not.
 *
 * Returns WS_OK, or WS_NOT_SEEDED or WS_NO_MEMORY; after an error nothing has changed.
 */
WS_CHECK int ws_prepare_for_sandbox(void);

/*
 * Returns the generation of the generator: 1 at first, one more with every reseed. Returns 0 if there is no memory for
 * a generator.
 */
uint64_t ws_generation(void);

/*
 * Writes size bytes of statistics to stats. Call it with sizeof(struct ws_stats). An older library then sets the fields
 * that it does not know to 0. A newer one leaves out fields that the caller does not know. Do not call it in a signal
 * handler.
 *
 * Returns WS_OK, or WS_NULL, WS_TOO_LONG or WS_NO_MEMORY; after an error nothing was written.
 */
int ws_stats(struct ws_stats *stats, size_t size);

/* Returns the version of the library as a text, such as "0.1.0". The text is static: do not free it. */
const char *ws_version(void);

/* ---- random-number generators that the caller owns ---- */

/*
 * A generator that one thread at a time may use. It notices forks and reseeds, takes one page of memory, and is erased
 * when it is freed.
 */
typedef struct ws_rng ws_rng;

/*
 * Makes a generator and stores it in *rng; free it with ws_rng_free. Two threads must not use one generator at the
 * same time, and a signal handler must not use the generator of the interrupted call: make another, or use ws_fill. A handler
 * may leave a call that draws from it by siglongjmp(3): the generator loses the bytes of that call.
 *
 * Returns WS_OK, or WS_NULL or WS_NO_MEMORY; after an error *rng is null, unless rng itself is.
 */
WS_CHECK int ws_rng_new(ws_rng **rng);

/* Erases and frees a generator. Does nothing if rng is null. */
void ws_rng_free(ws_rng *rng);

/*
 * Writes length random bytes from a generator to destination. Waits for a seed like ws_fill.
 *
 * Returns WS_OK, or WS_NOT_SEEDED, WS_NULL or WS_TOO_LONG; after an error nothing was written.
 */
WS_CHECK int ws_rng_fill(ws_rng *rng, void *destination, size_t length);

/* Returns 32 random bits from a generator, which must not be null. Waits and ends the process like ws_u32. */
uint32_t ws_rng_u32(ws_rng *rng);

/* Returns 64 random bits from a generator, which must not be null. Waits and ends the process like ws_u64. */
uint64_t ws_rng_u64(ws_rng *rng);

/*
 * Returns a number from 0 to count - 1 from a generator, which must not be null. Each is equally likely. If count is
 * 0, so is the number. Waits and ends the process like ws_u64.
 */
uint64_t ws_rng_below(ws_rng *rng, uint64_t count);

/* ---- random streams that can be repeated, not for keys ---- */

/* A reproducible stream of bytes, named by an algorithm, a seed and a path. Not for keys. */
typedef struct ws_stream ws_stream;

/*
 * Makes the stream of an algorithm, a seed and a path, at its first byte, and stores it in *stream; free it with
 * ws_stream_free. The same algorithm, seed and path give the same bytes on every machine and with every version. The
 * stream is NOT fit for keys: from a few of its bytes it may be possible to compute all others.
 *
 * The algorithm is "xoshiro256++", "xoshiro256++x16", "xorshift128+", "philox4x64-10", "chacha8", "chacha12",
 * "chacha20" or "aes256-ctr". The seed has 128 bits: seed_high times 2 to the power of 64, plus seed_low. The path is
 * a list of depth numbers, such as 3, 0, 17; null with depth 0 is the root.
 *
 * Returns WS_OK, or WS_NULL, WS_TOO_LONG, WS_NO_ALGORITHM or WS_NO_MEMORY; after an error *stream is null, unless
 * stream itself is.
 */
WS_CHECK int ws_stream_new(
    ws_stream **stream,
    const char *algorithm,
    uint64_t seed_low,
    uint64_t seed_high,
    const uint32_t *path,
    size_t depth);

/* Frees a stream. Does nothing if stream is null. */
void ws_stream_free(ws_stream *stream);

/*
 * Writes the next length bytes of a stream to destination. Two reads give the same bytes as one read of both lengths.
 *
 * Returns WS_OK, or WS_NULL or WS_TOO_LONG; after an error nothing was written.
 */
WS_CHECK int ws_stream_fill(ws_stream *stream, void *destination, size_t length);

/* Returns the next 4 bytes of a stream, which must not be null, as a number, the lowest byte first. */
uint32_t ws_stream_u32(ws_stream *stream);

/* Returns the next 8 bytes of a stream, which must not be null, as a number, the lowest byte first. */
uint64_t ws_stream_u64(ws_stream *stream);

/*
 * Makes the byte at a position the next one of a stream. The position counts bytes from 0; it is position_high times 2
 * to the power of 64, plus position_low.
 *
 * Returns WS_OK, or WS_NULL.
 */
int ws_stream_seek(ws_stream *stream, uint64_t position_low, uint64_t position_high);

/*
 * Stores the position of a stream's next byte, in two halves as for ws_stream_seek. Either pointer may be null: then
 * that half is not stored.
 *
 * Returns WS_OK, or WS_NULL if there is no stream.
 */
int ws_stream_tell(
    const ws_stream *stream,
    uint64_t *position_low,
    uint64_t *position_high);

/* ---- arrays of random numbers that can be repeated, not for keys ---- */

#include "wellspring-elements.h"

#ifdef __cplusplus
}
#endif

#endif
