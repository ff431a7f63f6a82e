/* wellspring: random numbers that scale with the machine.
 *
 * Made from the library's source by `cargo xtask c-api`. Do not edit.
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

/* Less than 128 bits of credited noise came so far, and the call does not wait. */
#define WS_NOT_SEEDED 1

/* No memory that a child process would find wiped: out of memory, or Linux before 4.14. */
#define WS_NO_MEMORY 2

/* A pointer is null where the length is not 0, or where an object must be. */
#define WS_NULL 3

/* A length is above PTRDIFF_MAX. */
#define WS_TOO_LONG 4

/* No algorithm of streams has this name. */
#define WS_NO_ALGORITHM 5

/* Another error of the engine; a later version may have a number for it. */
#define WS_FAILED 6

/*
 * Returns the meaning of an error number as a text. It is static: do not free it. A number that no function returns
 * gives "unknown error number".
 */
const char *ws_strerror(int error);

/* ---- random bytes and numbers fit for keys ---- */

/*
 * Fills length bytes at destination with random bytes fit for keys. Waits until the generator is seeded with 128 bits,
 * if that is necessary. Any length up to PTRDIFF_MAX; null with length 0 is fine.
 *
 * Any thread may call it, a signal handler may, and a child process after fork(2). The first call in a process
 * allocates memory: make it outside of a handler.
 *
 * Returns WS_OK, or WS_NULL, WS_TOO_LONG or WS_NO_MEMORY; nothing was then written.
 */
WS_CHECK int ws_fill(void *destination, size_t length);

/*
 * Fills length bytes at destination, as ws_fill, and does not wait.
 *
 * Returns WS_OK, or WS_NOT_SEEDED, WS_NULL, WS_TOO_LONG or WS_NO_MEMORY; nothing was then written.
 */
WS_CHECK int ws_try_fill(void *destination, size_t length);

/* Returns 32 random bits. As ws_fill, but a process that has no memory for a generator ends by abort(3). */
uint32_t ws_u32(void);

/* Returns 64 random bits. As ws_fill, but a process that has no memory for a generator ends by abort(3). */
uint64_t ws_u64(void);

/* Returns a number from 0 to count - 1, each equally likely, and 0 if count is 0. As ws_u64. */
uint64_t ws_below(uint64_t count);

/* Returns a number in [0, 1), a multiple of 2 to the power of -53. As ws_u64. */
double ws_double(void);

/* ---- the state of the generator of the process ---- */

/* What can be said of the process's engine without a secret. Later versions add fields at the end. */
struct ws_stats {
    /* 0: no seed yet. 1: fewer than 128 bits. 2: ready. */
    uint64_t phase;
    /* 1 at first, one more with every reseed. */
    uint64_t generation;
    /* The threads that have drawn and live, and the generators of ws_rng_new. */
    uint64_t taps;
    /* The NUMA nodes with a generator of their own. */
    uint64_t nodes;
    /* How often a reader took the lock of a node. */
    uint64_t fetches;
    /* The sources of noise. */
    uint64_t sources;
    /* The sources that their health tests let through now. */
    uint64_t active_sources;
    /* The bytes of noise that reached the pools. */
    uint64_t harvested_bytes;
    /* Their credit, in bits of min-entropy. */
    uint64_t credited_bits;
    /* The events dropped because a queue was full or busy. */
    uint64_t dropped_events;
    /* The bytes of secret memory that the system refused to lock (RLIMIT_MEMLOCK). */
    uint64_t unlocked_bytes;
};

/*
 * Reseeds the generator now and moves every thread to a fresh key at its next read. For an operator who has a reason:
 * the generator reseeds itself.
 *
 * Returns WS_OK, WS_NO_MEMORY, or WS_NOT_SEEDED if the sources yielded nothing to reseed with.
 */
int ws_reseed(void);

/* Returns the generation of the generator: 1 at first, one more with every reseed. 0 if there is no memory for one. */
uint64_t ws_generation(void);

/*
 * Writes at most size bytes of the statistics to stats. Call it with sizeof(struct ws_stats): an older library then
 * sets the fields that it does not know to 0, and a newer one leaves out those that the caller does not know. It
 * allocates memory: do not call it in a signal handler.
 *
 * Returns WS_OK, or WS_NULL or WS_NO_MEMORY; nothing was then written.
 */
int ws_stats(struct ws_stats *stats, size_t size);

/* Returns the version of the library as a text, such as "0.1.0". It is static: do not free it. */
const char *ws_version(void);

/* ---- random-number generators that the caller owns ---- */

/*
 * A generator that one thread at a time may use. It notices forks and reseeds, takes a page of memory, and is erased
 * when it is freed.
 */
typedef struct ws_rng ws_rng;

/*
 * Makes a generator and stores it in *rng; free it with ws_rng_free. Several threads must not use one at the same time,
 * and a signal handler must not use the one that it interrupted: make one for each, or use ws_fill.
 *
 * Returns WS_OK, or WS_NULL or WS_NO_MEMORY; *rng is then null.
 */
WS_CHECK int ws_rng_new(ws_rng **rng);

/* Erases and frees a generator. Null is fine. */
void ws_rng_free(ws_rng *rng);

/*
 * Fills length bytes at destination from a generator, as ws_fill.
 *
 * Returns WS_OK, or WS_NULL or WS_TOO_LONG; nothing was then written.
 */
WS_CHECK int ws_rng_fill(ws_rng *rng, void *destination, size_t length);

/* Returns 32 random bits from a generator, which must not be null. */
uint32_t ws_rng_u32(ws_rng *rng);

/* Returns 64 random bits from a generator, which must not be null. */
uint64_t ws_rng_u64(ws_rng *rng);

/*
 * Returns a number from 0 to count - 1, each equally likely, and 0 if count is 0, from a generator, which must not be
 * null.
 */
uint64_t ws_rng_below(ws_rng *rng, uint64_t count);

/* ---- random streams that can be repeated, not for keys ---- */

/* A reproducible stream of bytes, named by an algorithm, a seed and a path. Not for keys. */
typedef struct ws_stream ws_stream;

/*
 * Makes the stream of an algorithm, a seed and a path, at its first byte, and stores it in *stream; free it with
 * ws_stream_free. The same name gives the same bytes on every machine, and with every version. It is NOT fit for keys:
 * a few outputs may tell the others.
 *
 * The algorithm is "xoshiro256++", "xoshiro256++x16", "xorshift128+", "philox4x64-10", "chacha8", "chacha12", "chacha20"
 * or "aes256-ctr". The seed has 128 bits: seed_high times 2 to the power of 64, and seed_low. The path is depth numbers,
 * such as 3, 0, 17; null with depth 0 is the root.
 *
 * Returns WS_OK, or WS_NULL, WS_TOO_LONG, WS_NO_ALGORITHM or WS_NO_MEMORY; *stream is then null.
 */
WS_CHECK int ws_stream_new(
    ws_stream **stream,
    const char *algorithm,
    uint64_t seed_low,
    uint64_t seed_high,
    const uint32_t *path,
    size_t depth);

/* Frees a stream. Null is fine. */
void ws_stream_free(ws_stream *stream);

/*
 * Fills length bytes at destination with the next bytes of a stream. How a stream is cut into reads does not matter.
 *
 * Returns WS_OK, or WS_NULL or WS_TOO_LONG; nothing was then written.
 */
WS_CHECK int ws_stream_fill(ws_stream *stream, void *destination, size_t length);

/* Returns the next 4 bytes of a stream, which must not be null, as a number, the lowest byte first. */
uint32_t ws_stream_u32(ws_stream *stream);

/* Returns the next 8 bytes of a stream, which must not be null, as a number, the lowest byte first. */
uint64_t ws_stream_u64(ws_stream *stream);

/*
 * Goes to a byte of a stream, counted from 0: position_high times 2 to the power of 64, and position_low.
 *
 * Returns WS_OK, or WS_NULL.
 */
int ws_stream_seek(ws_stream *stream, uint64_t position_low, uint64_t position_high);

/*
 * Stores the number of a stream's next byte. Either place may be null.
 *
 * Returns WS_OK, or WS_NULL if there is no stream.
 */
int ws_stream_tell(
    const ws_stream *stream,
    uint64_t *position_low,
    uint64_t *position_high);

#ifdef __cplusplus
}
#endif

#endif
