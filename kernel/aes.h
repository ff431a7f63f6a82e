/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef WELLSPRING_AES_H
#define WELLSPRING_AES_H

#include "cipher.h"
#include "compat.h"

/* The fastest backend of this CPU. */
enum ws_backend ws_aes_detect(void);

/*
 * AES-256 in counter mode: at most WS_SECTION_BYTES, from the counter @from on. False:
 * the FPU was refused, and scalar code made the bytes.
 */
bool ws_aes_fill(const struct aes_enckey *key, enum ws_backend backend,
		 const struct ws_counter *from, u8 *destination,
		 unsigned int bytes);

#endif
