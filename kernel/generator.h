/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Fortuna's generator: a key K, a counter C, and the three operations on them. It
 * takes no lock: the caller owns the generator.
 */
#ifndef WELLSPRING_GENERATOR_H
#define WELLSPRING_GENERATOR_H

#include "cipher.h"

/* The most output under one AES key: 2^20 bytes (FS&K 9.4). */
#define WS_KEY_LIMIT_BYTES (1 << 20)
/* The most output of one step of a canonical read. */
#define WS_CHUNK_BYTES 4096

struct ws_generator {
	enum ws_cipher cipher;
	struct ws_counter counter;
	u8 key[WS_KEY_BYTES];
};

/* (K, C) for the output of one request, which nothing else will ever make. */
struct ws_reservation {
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
 * One step of a canonical read: makes the first bytes of @bytes, at most
 * WS_CHUNK_BYTES, rekeys, and returns how many it made. Called until all are made; a
 * read of 0 bytes calls it once.
 */
size_t ws_generator_read_chunk(struct ws_generator *generator,
			       void *destination, size_t bytes);
/* Sets @bytes of output aside, to be made later without the generator. */
void ws_generator_reserve(struct ws_generator *generator, size_t bytes,
			  struct ws_reservation *reservation);
/* Makes the reserved output, once, and wipes the reservation. */
void ws_reservation_generate(struct ws_reservation *reservation,
			     void *destination, size_t bytes);

#endif
