/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Fortuna's generator: a key K, a counter C, and the three things that happen to
 * them. Whoever owns it has the lock; nothing here takes one.
 */
#ifndef WELLSPRING_GENERATOR_H
#define WELLSPRING_GENERATOR_H

#include "cipher.h"

/* The most output under one AES key: 2^20 bytes (FS&K 9.4). */
#define WS_KEY_LIMIT_BYTES (1 << 20)
/* The most output that a canonical read makes in one hold of the lock. */
#define WS_CHUNK_BYTES 4096

struct ws_generator {
	enum ws_cipher cipher;
	struct ws_counter counter;
	u8 key[WS_KEY_BYTES];
};

/* (K, C) as it was for one request; of no use for any other output. */
struct ws_claim {
	enum ws_cipher cipher;
	struct ws_counter counter;
	u8 key[WS_KEY_BYTES];
};

/* All in any context but NMI. */
void ws_generator_init(struct ws_generator *generator, enum ws_cipher cipher);
static inline bool ws_generator_is_seeded(const struct ws_generator *generator)
{
	return !ws_counter_is_zero(&generator->counter);
}
void ws_generator_reseed(struct ws_generator *generator, const void *seed,
			 size_t bytes);
/*
 * A step of a canonical read: makes the first chunk of @bytes, rekeys, and returns
 * how many it made. To be called until all are made, and once for none.
 */
size_t ws_generator_read_chunk(struct ws_generator *generator,
			       void *destination, size_t bytes);
/* Sets @bytes of output aside, to be made without the lock. */
void ws_generator_claim(struct ws_generator *generator, size_t bytes,
			struct ws_claim *claim);
/* Makes what was claimed, once, and wipes the claim. */
void ws_claim_generate(struct ws_claim *claim, void *destination, size_t bytes);

#endif
