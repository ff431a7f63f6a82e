// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Fortuna (Ferguson, Schneier and Kohno, Cryptography Engineering, chapter 9): its hash, its
 * pools, and its generator.
 */
#include <asm/byteorder.h>
#include <linux/bitops.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "internal.h"

void ws_sha_d256(u8 digest[SHA256_DIGEST_SIZE], const void *first,
		 size_t first_bytes, const void *second, size_t second_bytes,
		 const void *third, size_t third_bytes)
{
	struct sha256_ctx hash;
	struct ws_simd simd;

	ws_simd_guard(&simd);
	sha256_init(&hash);
	sha256_update(&hash, first, first_bytes);
	sha256_update(&hash, second, second_bytes);
	sha256_update(&hash, third, third_bytes);
	sha256_final(&hash, digest);
	sha256(digest, SHA256_DIGEST_SIZE, digest);
	ws_simd_unguard(&simd);
	memzero_explicit(&hash, sizeof(hash));
}

void ws_hash_for_node(u8 digest[SHA256_DIGEST_SIZE], const char *domain,
		      unsigned int number, const void *secret, size_t len)
{
	__le64 of_node = cpu_to_le64(number);

	ws_sha_d256(digest, domain, strlen(domain), &of_node, sizeof(of_node),
		    secret, len);
}

/*
 * The accumulator (FS&K 9.5), bit-exact with FreeBSD's random(4).
 *
 * An attacker who knows most events can guess what pool 0 holds at each reseed, and
 * perhaps pool 1. Pool i is used in every 2^i-th reseed only, so one of the pools
 * collects enough events that the attacker does not know before it is used.
 */

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

	sha256_update(&pool->hash, (const u8 *)&counter, sizeof(counter));
	sha256_update(&pool->hash, event->data, event->bytes);
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

/*
 * The generator (FS&K 9.4), bit-exact with FreeBSD's random(4), which differs
 * from FS&K in three ways: the hash of a reseed starts with a block of zeros, the
 * counter steps before the first block after a reseed, and a read may be served
 * outside the lock (kern.random.fortuna.concurrent_read).
 */

/* The most output of a canonical read under one key. */
#define CANONICAL_BYTES 4096

/* FS&K 9.4.1, InitializeGenerator: "Set the key K and counter C to zero." */
void ws_generator_init(struct ws_generator *generator, enum ws_cipher cipher)
{
	memset(generator, 0, sizeof(*generator));
	generator->cipher = cipher;
}
WS_EXPORT_FOR_TEST(ws_generator_init);

/*
 * FS&K 9.4.2, Reseed: "Compute the new key using a hash function:
 * K = SHAd-256(K || s). Increment the counter to make it nonzero and mark the
 * generator as seeded: C = C + 1." The first seed has no old key before it: like
 * FreeBSD we look at the counter.
 */
void ws_generator_reseed(struct ws_generator *generator, const void *seed,
			 size_t len)
{
	static const u8 zero_block[64];
	size_t key_bytes = ws_generator_is_seeded(generator) ? WS_KEY_BYTES : 0;

	ws_sha_d256(generator->key, zero_block, sizeof(zero_block),
		    generator->key, key_bytes, seed, len);
	ws_counter_add(&generator->counter, 1);
}
WS_EXPORT_FOR_TEST(ws_generator_reseed);

/* FreeBSD's page. With AES a partial last block is a step by itself. */
size_t ws_canonical_bytes(enum ws_cipher cipher, size_t len)
{
	if (cipher == WS_AES256 && len >= ws_block_bytes(WS_AES256))
		len = round_down(len, ws_block_bytes(WS_AES256));
	return min_t(size_t, len, CANONICAL_BYTES);
}
WS_EXPORT_FOR_TEST(ws_canonical_bytes);

/*
 * FS&K 9.4.4, PseudoRandomData: "Compute the output. Switch to a new key to avoid
 * later compromises of this output: K = GenerateBlocks(G, 2)." In the order of FreeBSD's
 * random_fortuna_read_concurrent, which makes the same bytes: copy K and C, step C over
 * all blocks that the request will use, and take the new K from the keystream after them.
 */
void ws_generator_reserve(struct ws_generator *generator, size_t len,
			  struct ws_reservation *reservation)
{
	struct ws_keystream *keystream = &reservation->keystream;
	u64 blocks = ws_blocks(generator->cipher, len);

	ws_keystream_init(keystream, generator->cipher, generator->key,
			  &generator->counter);
	/*
	 * Two blocks for each change of the key within the request. A request of exactly
	 * k * 65536 blocks, which is k * 2^20 bytes or up to 15 fewer, skips two blocks that
	 * it does not use, as in FreeBSD.
	 */
	if (generator->cipher == WS_AES256)
		blocks += blocks / ws_blocks(WS_AES256, WS_KEY_LIMIT_BYTES) *
			  ws_blocks(WS_AES256, WS_KEY_BYTES);
	ws_counter_add(&keystream->counter, blocks);
	ws_keystream_fill(keystream, generator->key, WS_KEY_BYTES);
	swap(generator->counter, keystream->counter);
}
WS_EXPORT_FOR_TEST(ws_generator_reserve);

/*
 * AES-256 changes its key after every WS_KEY_LIMIT_BYTES, while bytes remain. ChaCha20
 * keeps one key for any length.
 */
void ws_reservation_generate(struct ws_reservation *reservation,
			     void *buf, size_t len)
{
	struct ws_keystream *keystream = &reservation->keystream;
	size_t limit = keystream->cipher == WS_AES256 ? WS_KEY_LIMIT_BYTES :
							SIZE_MAX;
	struct ws_counter counter;
	u8 key[WS_KEY_BYTES];

	while (len > limit) {
		ws_keystream_fill(keystream, buf, limit);
		buf += limit;
		len -= limit;
		ws_keystream_fill(keystream, key, sizeof(key));
		counter = keystream->counter;
		ws_keystream_init(keystream, keystream->cipher, key, &counter);
		memzero_explicit(key, sizeof(key));
	}
	ws_keystream_fill(keystream, buf, len);
	ws_keystream_wipe(keystream);
}
WS_EXPORT_FOR_TEST(ws_reservation_generate);
