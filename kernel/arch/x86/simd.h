/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The vector registers of x86-64, and AES by its instructions: for keystreams in aes-ctr.S, for
 * the crypto API in aes-blocks.S. All in a section. User Mode Linux has them too.
 */
#ifndef WELLSPRING_SIMD_H
#define WELLSPRING_SIMD_H

#include <asm/cpufeature.h>
#include <linux/linkage.h>
#include <linux/math.h>
#include <linux/types.h>

#include "cipher.h"

/* In machine.h. */
static inline bool ws_arch_has_ymm(void);
static inline bool ws_arch_has_zmm(void);

/* The width of the widest ones. With 64 bytes there are 32 registers, otherwise 16. */
static inline unsigned int ws_arch_register_bytes(void)
{
	return ws_arch_has_zmm() ? 64 : ws_arch_has_ymm() ? 32 : 16;
}

/* Each instruction clears a register to its full width, except in SSE. */
static inline void ws_arch_simd_wipe(unsigned int register_bytes)
{
	/* The library's ChaCha20 has the key in these. */
	if (register_bytes == 64)
		asm volatile(".irp i, 16, 17, 18, 19, 20, 21, 22, 23\n\t"
			     "vpxord %xmm\\i, %xmm\\i, %xmm\\i\n\t"
			     ".endr\n\t"
			     ".irp i, 24, 25, 26, 27, 28, 29, 30, 31\n\t"
			     "vpxord %xmm\\i, %xmm\\i, %xmm\\i\n\t"
			     ".endr");
	if (register_bytes >= 32)
		asm volatile("vzeroall");
	else
		asm volatile(".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\t"
			     "pxor %xmm\\i, %xmm\\i\n\t"
			     ".endr");
}

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

/*
 * For tests: marks, and all vector registers that this CPU has, to memory and from it.
 */

/* xchg %bx,%bx and xchg %cx,%cx: they change nothing, and no compiler makes them. */
#define WS_ARCH_BEGIN_MARK ".byte 0x66, 0x87, 0xdb"
#define WS_ARCH_END_MARK ".byte 0x66, 0x87, 0xc9"

/* As many 16-byte lanes as a CPU with AVX-512 has. */
#define WS_ARCH_LANES (32 * 4)

#define WS_EACH(instruction)						\
	instruction(0) instruction(1) instruction(2) instruction(3)	\
	instruction(4) instruction(5) instruction(6) instruction(7)	\
	instruction(8) instruction(9) instruction(10) instruction(11)	\
	instruction(12) instruction(13) instruction(14) instruction(15)
#define WS_EACH_MORE(instruction)					\
	instruction(16) instruction(17) instruction(18) instruction(19)	\
	instruction(20) instruction(21) instruction(22) instruction(23)	\
	instruction(24) instruction(25) instruction(26) instruction(27)	\
	instruction(28) instruction(29) instruction(30) instruction(31)
#define WS_STORE_XMM(i) "movups %%xmm" #i ", 16 * " #i "(%0)\n\t"
#define WS_STORE_YMM(i) "vmovups %%ymm" #i ", 32 * " #i "(%0)\n\t"
#define WS_STORE_ZMM(i) "vmovups %%zmm" #i ", 64 * " #i "(%0)\n\t"
#define WS_LOAD_XMM(i) "movups 16 * " #i "(%0), %%xmm" #i "\n\t"
#define WS_LOAD_YMM(i) "vmovups 32 * " #i "(%0), %%ymm" #i "\n\t"
#define WS_LOAD_ZMM(i) "vmovups 64 * " #i "(%0), %%zmm" #i "\n\t"

static inline void ws_arch_registers_store(u64 (*lanes)[2])
{
	if (ws_arch_has_zmm())
		asm volatile(WS_EACH(WS_STORE_ZMM) WS_EACH_MORE(WS_STORE_ZMM)
			     : : "r" (lanes) : "memory");
	else if (ws_arch_has_ymm())
		asm volatile(WS_EACH(WS_STORE_YMM) : : "r" (lanes) : "memory");
	else
		asm volatile(WS_EACH(WS_STORE_XMM) : : "r" (lanes) : "memory");
}

static inline void ws_arch_registers_load(u64 (*lanes)[2])
{
	if (ws_arch_has_zmm())
		asm volatile(WS_EACH(WS_LOAD_ZMM) WS_EACH_MORE(WS_LOAD_ZMM)
			     : : "r" (lanes) : "memory");
	else if (ws_arch_has_ymm())
		asm volatile(WS_EACH(WS_LOAD_YMM) : : "r" (lanes) : "memory");
	else
		asm volatile(WS_EACH(WS_LOAD_XMM) : : "r" (lanes) : "memory");
}

/* 16 bytes into one of them. */
static inline void ws_arch_register_plant(const void *bytes)
{
	asm volatile("movups (%0), %%xmm7" : : "r" (bytes) : "memory");
}

#endif
