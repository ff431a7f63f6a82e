/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * AES by the instructions of x86-64: for keystreams in aes-ctr.S, for the crypto API in
 * aes-blocks.S. All in a section.
 */
#ifndef WELLSPRING_AES_NI_H
#define WELLSPRING_AES_NI_H

#include <asm/cpufeature.h>
#include <linux/linkage.h>
#include <linux/math.h>
#include <linux/types.h>

#include "cipher.h"

/* In machine.h. */
static inline bool ws_arch_has_ymm(void);

/* The names of the backends after the scalar one. */
#define WS_ARCH_AES_NAMES "aes-ni", "vaes"
#define WS_VAES_BLOCKS 16u

/* In aes-ctr.S: from the key in the first 8 words, the other 52. */
asmlinkage void ws_aes256_expand_ni(u32 *round_keys);
#define ws_arch_aes_expand ws_aes256_expand_ni
/*
 * E(K, C), E(K, C + 1), ... for @blocks whole blocks. The low word of the counter must not
 * wrap within them.
 */
asmlinkage void ws_aes256_ctr_ni(const u32 *round_keys, u8 *dst,
				 unsigned long blocks, u64 low, u64 high);
/* The same with VAES, for a multiple of 16 blocks. */
asmlinkage void ws_aes256_ctr_vaes(const u32 *round_keys, u8 *dst,
				   unsigned long blocks, u64 low, u64 high);

/* The fastest backend of this CPU. */
static inline enum ws_backend ws_arch_aes_detect(void)
{
	if (!boot_cpu_has(X86_FEATURE_AES) || !boot_cpu_has(X86_FEATURE_XMM4_1))
		return WS_SCALAR;
	if (boot_cpu_has(X86_FEATURE_VAES) && boot_cpu_has(X86_FEATURE_AVX2) &&
	    ws_arch_has_ymm())
		return WS_SIMD256;
	return WS_SIMD128;
}

/* Up to @blocks blocks, before the low word wraps. Returns how many. */
static inline unsigned long ws_arch_aes_blocks(const u32 *round_keys,
					       enum ws_backend backend,
					       const struct ws_counter *counter,
					       u8 *dst, unsigned long blocks)
{
	if (backend == WS_SIMD256 && blocks >= WS_VAES_BLOCKS) {
		blocks = round_down(blocks, WS_VAES_BLOCKS);
		ws_aes256_ctr_vaes(round_keys, dst, blocks, counter->low,
				   counter->high);
	} else {
		ws_aes256_ctr_ni(round_keys, dst, blocks, counter->low,
				 counter->high);
	}
	return blocks;
}

/* In aes-blocks.S, which describes the arguments. For whole blocks. */
asmlinkage void ws_aes_encrypt_block(const u32 *round_keys, unsigned int rounds, u8 block[16]);
asmlinkage void ws_aes_ctr_blocks(const u32 *round_keys, unsigned int rounds, u8 *dst,
				  const u8 *src, unsigned long blocks, u8 counter[16]);
asmlinkage void ws_aes_xts_encrypt_blocks(const u32 *round_keys, unsigned int rounds,
					  u8 *dst, const u8 *src,
					  unsigned long blocks, u8 tweak[16]);
asmlinkage void ws_aes_xts_decrypt_blocks(const u32 *inverse_keys, unsigned int rounds,
					  u8 *dst, const u8 *src,
					  unsigned long blocks, u8 tweak[16]);

static inline bool ws_arch_has_aes_blocks(void)
{
	return boot_cpu_has(X86_FEATURE_AES) && boot_cpu_has(X86_FEATURE_XMM4_1);
}

#endif
