/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef WELLSPRING_CHACHA20_H
#define WELLSPRING_CHACHA20_H

#include "cipher.h"

/*
 * ChaCha20: at most WS_SECTION_BYTES, from the counter @from on. False: the FPU was
 * refused, and scalar code made the bytes.
 */
bool ws_chacha20_fill(const u32 key[WS_KEY_BYTES / 4], enum ws_backend backend,
		      const struct ws_counter *from, u8 *dst, unsigned int len);

#endif
