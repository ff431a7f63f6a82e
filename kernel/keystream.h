/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A keystream: output of a cipher under one key, from one counter on.
 */
#ifndef WELLSPRING_KEYSTREAM_H
#define WELLSPRING_KEYSTREAM_H

#include "aes.h"

/*
 * It is on the stack of the function that makes output: 280 bytes. The same function wipes it
 * with ws_keystream_wipe().
 */
struct ws_keystream {
	enum ws_cipher cipher;
	enum ws_backend backend;
	struct ws_counter counter;
	union {
		struct ws_aes_key aes;
		u32 chacha_key[WS_KEY_BYTES / 4];
	};
};

/* All in any context but NMI. */
void ws_keystream_init(struct ws_keystream *keystream, enum ws_cipher cipher,
		       const u8 key[WS_KEY_BYTES],
		       const struct ws_counter *counter);
/*
 * The next @len bytes. A partial block takes a whole step of the counter. Made in FPU
 * sections of WS_SECTION_BYTES, or by scalar code where the FPU is refused.
 */
void ws_keystream_fill(struct ws_keystream *keystream, void *buf, size_t len);
void ws_keystream_wipe(struct ws_keystream *keystream);

#endif
