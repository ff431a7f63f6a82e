/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef WELLSPRING_AES_H
#define WELLSPRING_AES_H

#include "cipher.h"

/* The best path of this CPU. */
enum ws_path ws_aes_detect(void);
/* As ws_chacha20_fill(). */
bool ws_aes_fill(struct ws_keystream *keystream, u8 *destination,
		 unsigned int bytes);

/*
 * In an FPU section (aes-ctr.S): E(K, C), E(K, C + 1), ... for @blocks whole blocks.
 * The low word of the counter must not wrap within the run.
 */
asmlinkage void ws_aes256_ctr_ni(const u32 *round_keys, u8 *destination,
				 unsigned long blocks, u64 low, u64 high);
/* The same with VAES; a multiple of 16 blocks. */
asmlinkage void ws_aes256_ctr_vaes(const u32 *round_keys, u8 *destination,
				   unsigned long blocks, u64 low, u64 high);

#endif
