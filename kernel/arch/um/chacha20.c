// SPDX-License-Identifier: GPL-2.0
/*
 * lib/crypto/x86/chacha.h as it is, with our sections. A file of the module's folder, as it is
 * part of no kernel that is built for use.
 */
#include <asm/fpu/api.h>
#include <linux/cache.h>

#include "machine.h"

#undef kernel_fpu_begin
#undef kernel_fpu_end
#define kernel_fpu_begin() ws_arch_simd_begin(NULL)
#define kernel_fpu_end() ws_arch_simd_end(NULL)
#define cpu_has_xfeatures(mask, name) ws_arch_has_ymm()
#define chacha_crypt_generic chacha_crypt

#include <../lib/crypto/x86/chacha.h>

void ws_arch_chacha20_init(void)
{
	chacha_mod_init_arch();
	/* Not used here, and static. */
	(void)hchacha_block_arch;
}

void ws_arch_chacha20_crypt(struct chacha_state *state, u8 *dst, const u8 *src,
			    unsigned int bytes)
{
	chacha_crypt_arch(state, dst, src, bytes, 20);
}
