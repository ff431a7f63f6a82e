/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef WELLSPRING_AES_H
#define WELLSPRING_AES_H

#include "cipher.h"

/* The key, and after it the rest of its round keys, once a section has made them. */
struct ws_aes_key {
	bool is_expanded;
	u32 words[60];
};

void ws_aes_key_init(struct ws_aes_key *key, const u8 bytes[WS_KEY_BYTES]);

/*
 * AES-256 in counter mode: at most WS_SECTION_BYTES, from the counter @from on. False:
 * the FPU was refused, and scalar code made the bytes.
 */
bool ws_aes_fill(struct ws_aes_key *key, enum ws_backend backend,
		 const struct ws_counter *from, u8 *dst, unsigned int len);

#endif
