/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Fortuna's accumulator: 32 pools that fill equally fast, and of which pool i is
 * emptied by every 2^i-th reseed. It takes no lock: harvester.c owns the only one.
 */
#ifndef WELLSPRING_POOL_H
#define WELLSPRING_POOL_H

#include "compat.h"

/* With ten reseeds a second, pool 31 is used once in 6.8 years (FS&K 9.5.2). */
#define WS_POOLS 32
/* No reseed happens while pool 0 has fewer bytes (MinPoolSize in FS&K). */
#define WS_MIN_POOL_BYTES 64
/* The least time between two reseeds (FS&K 9.5.5). */
#define WS_RESEED_INTERVAL_MS 100
/* The most data an event carries (FS&K 9.5.3.1). */
#define WS_EVENT_BYTES 32
#define WS_SEED_BYTES (WS_POOLS * SHA256_DIGEST_SIZE)

/* A sample of noise on its way to a pool. */
struct ws_event {
	u32 counter;		/* the low bits of the cycle counter */
	u8 source;		/* enum ws_source */
	u8 bytes;
	u16 credit_bits;
	u8 data[WS_EVENT_BYTES];
};

/* The material of one reseed: 32 bytes for each pool used. */
struct ws_seed {
	u32 bytes;
	u32 credit_bits;
	u8 data[WS_SEED_BYTES];
};

struct ws_pool {
	struct sha256_ctx hash;
	u32 bytes;
	u32 credit_bits;
};

struct ws_accumulator {
	struct ws_pool pools[WS_POOLS];
	u32 reseeds;		/* FS&K's ReseedCnt */
	bool reseeded;
	u64 reseeded_ms;
};

/* All in any context. */
void ws_accumulator_init(struct ws_accumulator *accumulator);
void ws_accumulator_absorb(struct ws_accumulator *accumulator,
			   const struct ws_event *event, unsigned int pool);
/*
 * Hashes in what came from no source. It counts as credit, but not as bytes: however much
 * is mixed, no reseed is due for it. The next reseed uses it.
 */
void ws_accumulator_mix(struct ws_accumulator *accumulator, const void *data,
			size_t len, u32 credit_bits);
/* The credit of the seed of the next reseed, were it taken now. */
u32 ws_accumulator_next_credit_bits(const struct ws_accumulator *accumulator);
/*
 * Takes the seed of the next reseed. False if pool 0 holds less than 64 bytes, or if
 * the last reseed was less than 100 ms before @now_ms and @unpaced is false.
 */
bool ws_accumulator_take_seed(struct ws_accumulator *accumulator, u64 now_ms,
			      bool unpaced, struct ws_seed *seed);

#endif
