/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Fortuna's generator: a key K, a counter C, and the three operations on them. It
 * takes no lock: the caller owns the generator.
 */
#ifndef WELLSPRING_GENERATOR_H
#define WELLSPRING_GENERATOR_H

#include "keystream.h"

/* The most output under one AES key: 2^20 bytes (FS&K 9.4). */
#define WS_KEY_LIMIT_BYTES (1 << 20)

struct ws_generator {
	enum ws_cipher cipher;
	struct ws_counter counter;
	u8 key[WS_KEY_BYTES];
};

/* The output of one request, which nothing else will ever make. Its key is set up once. */
struct ws_reservation {
	struct ws_keystream keystream;
};

/* All in any context but NMI. */
void ws_generator_init(struct ws_generator *generator, enum ws_cipher cipher);

static inline bool ws_generator_is_seeded(const struct ws_generator *generator)
{
	return !ws_counter_is_zero(&generator->counter);
}

void ws_generator_reseed(struct ws_generator *generator, const void *seed,
			 size_t len);
/*
 * A canonical read takes a new key after at most 4096 bytes. So it is a row of
 * reservations: this is the length of the next one, when @len bytes are wanted still. A read
 * of 0 bytes reserves once.
 */
size_t ws_canonical_bytes(enum ws_cipher cipher, size_t len);
/* Sets @len bytes of output aside, to be made later without the generator. */
void ws_generator_reserve(struct ws_generator *generator, size_t len,
			  struct ws_reservation *reservation);
/* Makes the reserved output, once, and wipes the reservation. */
void ws_reservation_generate(struct ws_reservation *reservation,
			     void *buf, size_t len);

#endif
