/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The ciphers, the backends that compute them, and the counter of 128 bits: names and
 * types, which machine.h needs too.
 */
#ifndef WELLSPRING_CIPHER_H
#define WELLSPRING_CIPHER_H

#include <linux/math.h>
#include <linux/types.h>

#define WS_KEY_BYTES 32

enum ws_cipher {
	WS_AES256,
	WS_CHACHA20,
	WS_CIPHERS,
};

/* All backends of a cipher make the same bytes. In order of speed, slowest first. */
enum ws_backend {
	WS_SCALAR,
	WS_SIMD128,	/* AES-NI; for ChaCha20 the kernel's library with its SIMD */
	WS_SIMD256,	/* VAES with registers of 256 bits */
	WS_BACKENDS,
};

/* Little endian; steps carry over all 128 bits in every backend. */
struct ws_counter {
	u64 low;
	u64 high;
};

static inline void ws_counter_add(struct ws_counter *counter, u64 blocks)
{
	counter->low += blocks;
	counter->high += counter->low < blocks;
}

/* In FS&K, C = 0 marks a generator that was never seeded. */
static inline bool ws_counter_is_zero(const struct ws_counter *counter)
{
	return !(counter->low | counter->high);
}

static inline unsigned int ws_block_bytes(enum ws_cipher cipher)
{
	return cipher == WS_AES256 ? 16 : 64;
}

static inline u64 ws_blocks(enum ws_cipher cipher, size_t len)
{
	return DIV_ROUND_UP((u64)len, ws_block_bytes(cipher));
}

#endif
