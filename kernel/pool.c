// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Fortuna's accumulator (FS&K 9.5), bit-exact with FreeBSD's random(4).
 *
 * An attacker who knows most events can guess what pool 0 holds at each reseed, and
 * perhaps pool 1. Pool i is used in every 2^i-th reseed only, so one of the pools
 * collects enough events that the attacker does not know before it is used.
 */
#include <asm/byteorder.h>
#include <linux/bitops.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "pool.h"
#include "simd.h"
#include "testing.h"

/* The most entropy that a digest can have. */
#define POOL_CREDIT_BITS (8 * SHA256_DIGEST_SIZE)

static void pool_init(struct ws_pool *pool)
{
	sha256_init(&pool->hash);
	pool->bytes = 0;
	pool->credit_bits = 0;
}

void ws_accumulator_init(struct ws_accumulator *accumulator)
{
	unsigned int i;

	memset(accumulator, 0, sizeof(*accumulator));
	for (i = 0; i < WS_POOLS; i++)
		pool_init(&accumulator->pools[i]);
}
WS_EXPORT_FOR_TEST(ws_accumulator_init);

static void pool_credit(struct ws_pool *pool, u32 credit_bits)
{
	pool->credit_bits = min_t(u32, pool->credit_bits + credit_bits,
				  POOL_CREDIT_BITS);
}

/* FS&K 9.5.6, AddRandomEvent. The cycle counter is hashed as 4 bytes, as in FreeBSD. */
void ws_accumulator_absorb(struct ws_accumulator *accumulator,
			   const struct ws_event *event, unsigned int pool_number)
{
	struct ws_pool *pool = &accumulator->pools[pool_number % WS_POOLS];
	__le32 counter = cpu_to_le32(event->counter);
	u32 len = sizeof(counter) + event->bytes;
	struct ws_simd simd;

	ws_simd_guard(&simd);
	sha256_update(&pool->hash, (const u8 *)&counter, sizeof(counter));
	sha256_update(&pool->hash, event->data, event->bytes);
	ws_simd_unguard(&simd);
	pool->bytes = min(pool->bytes, U32_MAX - len) + len;
	pool_credit(pool, event->credit_bits);
}
WS_EXPORT_FOR_TEST(ws_accumulator_absorb);

void ws_accumulator_mix(struct ws_accumulator *accumulator, const void *data,
			size_t len, u32 credit_bits)
{
	/* An operator may credit what was written: so it is in the pool that is used next. */
	struct ws_pool *pool = &accumulator->pools[0];
	struct ws_simd simd;

	ws_simd_guard(&simd);
	sha256_update(&pool->hash, data, len);
	ws_simd_unguard(&simd);
	pool_credit(pool, credit_bits);
}
WS_EXPORT_FOR_TEST(ws_accumulator_mix);

/* How many pools reseed number @reseeds uses: pool i if 2^i divides it. */
static unsigned int pools_used(u32 reseeds)
{
	return __ffs(reseeds | 1U << (WS_POOLS - 1)) + 1;
}

u32 ws_accumulator_next_credit_bits(const struct ws_accumulator *accumulator)
{
	u32 credit_bits = 0;
	unsigned int i;

	for (i = 0; i < pools_used(accumulator->reseeds + 1); i++)
		credit_bits += accumulator->pools[i].credit_bits;
	return credit_bits;
}

static void pool_empty(struct ws_pool *pool, struct ws_seed *seed)
{
	u8 *digest = seed->data + seed->bytes;
	struct ws_simd simd;

	ws_simd_guard(&simd);
	sha256_final(&pool->hash, digest);
	sha256(digest, SHA256_DIGEST_SIZE, digest);
	ws_simd_unguard(&simd);
	seed->bytes += SHA256_DIGEST_SIZE;
	seed->credit_bits += pool->credit_bits;
	pool_init(pool);
}

/*
 * FS&K 9.5.5, RandomData: "if length(P0) >= MinPoolSize and the last reseed is more
 * than 100 ms ago: we need to reseed. ReseedCnt = ReseedCnt + 1; append the hashes
 * of all the pools we will use: for i in 0..31, if 2^i divides ReseedCnt:
 * s = s || SHAd-256(P_i), P_i = empty".
 */
bool ws_accumulator_take_seed(struct ws_accumulator *accumulator, u64 now_ms,
			      bool unpaced, struct ws_seed *seed)
{
	unsigned int i;

	if (accumulator->pools[0].bytes < WS_MIN_POOL_BYTES)
		return false;
	if (!unpaced && accumulator->reseeded &&
	    now_ms - accumulator->reseeded_ms < WS_RESEED_INTERVAL_MS)
		return false;
	accumulator->reseeded = true;
	accumulator->reseeded_ms = now_ms;
	accumulator->reseeds++;
	seed->bytes = 0;
	seed->credit_bits = 0;
	for (i = 0; i < pools_used(accumulator->reseeds); i++)
		pool_empty(&accumulator->pools[i], seed);
	return true;
}
WS_EXPORT_FOR_TEST(ws_accumulator_take_seed);
