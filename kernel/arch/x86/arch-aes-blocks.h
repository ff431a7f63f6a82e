/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * In aes-blocks.S, which describes the arguments. In a section, for whole blocks.
 */
#ifndef WELLSPRING_ARCH_AES_BLOCKS_H
#define WELLSPRING_ARCH_AES_BLOCKS_H

#include <asm/cpufeature.h>
#include <linux/linkage.h>
#include <linux/types.h>

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
