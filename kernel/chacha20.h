/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef WELLSPRING_CHACHA20_H
#define WELLSPRING_CHACHA20_H

#include "cipher.h"
#include "compat.h"

/*
 * At most WS_SECTION_BYTES from the counter on, which stays as it is. False: the
 * FPU was refused, and the bytes were made without it.
 */
bool ws_chacha20_fill(struct ws_keystream *keystream, u8 *destination,
		      unsigned int bytes);

#endif
