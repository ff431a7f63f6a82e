/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Keystreams: AES-256 and ChaCha20 with a counter of 128 bits, little endian,
 * that carries over all 128 bits on every path.
 */
#ifndef WELLSPRING_CIPHER_H
#define WELLSPRING_CIPHER_H

#include <linux/types.h>

#include "compat.h"

#define WS_KEY_BYTES 32

enum ws_cipher {
	WS_AES256,
	WS_CHACHA20,
	WS_CIPHERS,
};

/* Ways to make the same bytes, in rising speed. */
enum ws_path {
	WS_SCALAR,
	WS_SIMD128,	/* AES-NI; for ChaCha20 whatever the kernel's library has */
	WS_SIMD256,	/* VAES on 256 bits */
	WS_PATHS,
};

struct ws_counter {
	u64 low;
	u64 high;
};

static inline void ws_counter_add(struct ws_counter *counter, u64 blocks)
{
	counter->low += blocks;
	counter->high += counter->low < blocks;
}

/* FS&K's mark of a generator that was never seeded: C = 0. */
static inline bool ws_counter_is_zero(const struct ws_counter *counter)
{
	return !(counter->low | counter->high);
}

/*
 * A key at work. Lives on the stack of whoever makes output, 300 bytes (550 before
 * 7.0); ws_keystream_wipe() ends it.
 */
struct ws_keystream {
	enum ws_cipher cipher;
	enum ws_path path;
	struct ws_counter counter;
	union {
		struct aes_enckey aes;
		u32 chacha_key[WS_KEY_BYTES / 4];
	};
};

static inline unsigned int ws_block_bytes(enum ws_cipher cipher)
{
	return cipher == WS_AES256 ? 16 : 64;
}

static inline u64 ws_blocks(enum ws_cipher cipher, size_t bytes)
{
	return DIV_ROUND_UP((u64)bytes, ws_block_bytes(cipher));
}

/* Any context but NMI. @path is at most ws_best_path(cipher). */
void ws_keystream_init(struct ws_keystream *keystream, enum ws_cipher cipher,
		       const u8 key[WS_KEY_BYTES],
		       const struct ws_counter *counter);
/*
 * The next @bytes. A partial block takes a whole step of the counter. In FPU
 * sections of WS_SECTION_BYTES, or scalar where the FPU is refused.
 */
void ws_keystream_fill(struct ws_keystream *keystream, void *destination,
		       size_t bytes);
void ws_keystream_wipe(struct ws_keystream *keystream);

const char *ws_cipher_name(enum ws_cipher cipher);
const char *ws_path_name(enum ws_cipher cipher, enum ws_path path);
enum ws_path ws_best_path(enum ws_cipher cipher);
/*
 * Makes @path the one that keystreams are given from now on, for tests: the bytes are
 * the same. At most what was detected. Returns the one before.
 */
enum ws_path ws_path_use(enum ws_cipher cipher, enum ws_path path);

void ws_cipher_detect(void);

#endif
