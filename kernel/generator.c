// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Fortuna's generator (FS&K 9.4), bit-exact with FreeBSD's random(4), which differs
 * from FS&K in three ways: the hash of a reseed starts with a block of zeros, the
 * counter steps before the first block after a reseed, and a read may be served
 * outside the lock (kern.random.fortuna.concurrent_read).
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "generator.h"
#include "hash.h"
#include "testing.h"

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
	 * Two blocks for each change of the key within the request. A request of
	 * exactly k * 2^20 bytes skips two blocks that it does not use, as in FreeBSD.
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
