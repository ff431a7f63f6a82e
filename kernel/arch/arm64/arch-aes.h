/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef WELLSPRING_ARCH_AES_H
#define WELLSPRING_ARCH_AES_H

#include <asm/cpufeature.h>
#include <linux/linkage.h>

#include "cipher.h"

/* The names of the backends after the scalar one. */
#define WS_ARCH_AES_NAMES "aes-ce", "none"

/* In aes-ctr.S, called in a section: from the key in the first 8 words, the other 52. */
asmlinkage void ws_aes256_expand_ce(u32 *round_keys);
#define ws_arch_aes_expand ws_aes256_expand_ce
/*
 * The same: E(K, C), E(K, C + 1), ... for @blocks whole
 * blocks. The low word of the counter must not wrap within them.
 */
asmlinkage void ws_aes256_ctr_ce(const u32 *round_keys, u8 *dst,
				 unsigned long blocks, u64 low, u64 high);

static inline enum ws_backend ws_arch_aes_detect(void)
{
	return cpu_have_named_feature(AES) ? WS_SIMD128 : WS_SCALAR;
}

/* In a section: @blocks blocks, before the low word wraps. */
static inline unsigned long ws_arch_aes_blocks(const u32 *round_keys,
					       enum ws_backend backend,
					       const struct ws_counter *counter,
					       u8 *dst, unsigned long blocks)
{
	ws_aes256_ctr_ce(round_keys, dst, blocks, counter->low, counter->high);
	return blocks;
}

#endif
