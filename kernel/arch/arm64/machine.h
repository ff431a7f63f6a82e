/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What is of arm64: sections of NEON, AES, RNDR, probes.
 */
#ifndef WELLSPRING_MACHINE_H
#define WELLSPRING_MACHINE_H

#include <asm/archrandom.h>
#include <asm/cpufeature.h>
#include <asm/neon.h>
#include <asm/ptrace.h>
#include <asm/simd.h>
#include <crypto/chacha.h>
#include <linux/errno.h>
#include <linux/kprobes.h>
#include <linux/linkage.h>
#include <linux/string.h>
#include <linux/types.h>

#include "cipher.h"

/* No such machine was tested, and Linux is about to leave it. */
#ifdef CONFIG_CPU_BIG_ENDIAN
#error "wellspring is for little endian"
#endif

/*
 * NEON is for tasks and softirqs, before 6.19 with interrupts on alone. Elsewhere the portable
 * code makes the bytes.
 */
#define WS_ARCH_SIMD_WANTS_INTERRUPTS 1

#define ws_arch_simd_usable may_use_simd

/* From 6.19 on, where the kernel keeps the registers of a section that a softirq interrupts. */
struct ws_arch_simd {
#ifdef WS_HAS_NEON_STATE
	struct user_fpsimd_state interrupted;
#endif
};

static inline void ws_arch_simd_begin(struct ws_arch_simd *arch)
{
#ifdef WS_HAS_NEON_STATE
	kernel_neon_begin(&arch->interrupted);
#else
	kernel_neon_begin();
#endif
}

static inline void ws_arch_simd_end(struct ws_arch_simd *arch)
{
#ifdef WS_HAS_NEON_STATE
	kernel_neon_end(&arch->interrupted);
	memzero_explicit(&arch->interrupted, sizeof(arch->interrupted));
#else
	kernel_neon_end();
#endif
}

/* The registers of SVE are the same ones, and longer. */
static inline unsigned int ws_arch_register_bytes(void)
{
	return 16;
}

/* In simd.S, called in a section. It wipes all of any width. */
asmlinkage void ws_arch_simd_wipe(unsigned int register_bytes);

/* The names of the backends after the scalar one. */
#define WS_ARCH_AES_NAMES "aes-ce", "none"

/* In simd.S, called in a section: from the key in the first 8 words, the other 52. */
asmlinkage void ws_aes256_expand_ce(u32 *round_keys);
#define ws_arch_aes_expand ws_aes256_expand_ce
/*
 * The same: E(K, C), E(K, C + 1), ... for @blocks whole blocks. The low word of the counter
 * must not wrap within them.
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

/* The kernel's library has its SIMD code inside. */
#define ws_arch_chacha20_crypt chacha20_crypt

static inline void ws_arch_chacha20_init(void)
{
}

/*
 * arch_get_random_seed_longs() prefers a call of the firmware, and modules cannot know whether
 * there is one. The instructions may have nothing for a moment, and the kernel tries once. x86
 * tries it ten times.
 */
#define WS_RANDOM_TRIES 10

/* A word of RNDR, a generator that the processor reseeds now and then. */
static inline bool ws_arch_random_word(unsigned long *word)
{
	unsigned int tries = cpu_have_named_feature(RNG) ? WS_RANDOM_TRIES : 0;
	bool has_word = false;

	while (!has_word && tries--)
		has_word = __arm64_rndr(word);
	return has_word;
}

/* A word of RNDRRS, which reseeds it first, or of RNDR if that has nothing. */
static inline bool ws_arch_seed_word(unsigned long *word)
{
	return (cpu_have_named_feature(RNG) && __arm64_rndrrs(word)) ||
	       ws_arch_random_word(word);
}

/* For tests. MRS of RNDR to any register. */
static inline bool ws_arch_is_random_word(const u8 *code)
{
	return IS_ALIGNED((unsigned long)code, 4) &&
	       (*(const __le32 *)code & cpu_to_le32(~0x1f)) == cpu_to_le32(0xd53b2400);
}

/*
 * Where this machine has NMIs, they are ordinary interrupts with another priority, and no
 * handler can be added to all of them: a registration fails.
 */
#define NMI_LOCAL 0
#define NMI_HANDLED 1
#define register_nmi_handler(type, function, flags, name) ((void)(function), -EOPNOTSUPP)
#define unregister_nmi_handler(type, name) do { } while (0)

/* Whether what a probe interrupted had interrupts on. */
static inline bool ws_arch_had_interrupts(const struct pt_regs *registers)
{
	return interrupts_enabled(registers);
}

/* topology=llc is refused. */
#define WS_ARCH_KNOWS_CACHES 0
#define ws_arch_cache(cpu) 0

/*
 * For tests: marks, and all vector registers, to memory and from it, in a section.
 */

/* Hints without a meaning: they change nothing, and no compiler makes them. */
#define WS_ARCH_BEGIN_MARK "hint #0x70"
#define WS_ARCH_END_MARK "hint #0x71"

#define WS_ARCH_LANES 32

#define WS_EACH_PAIR(instruction)					\
	instruction(0, 1) instruction(2, 3) instruction(4, 5)		\
	instruction(6, 7) instruction(8, 9) instruction(10, 11)		\
	instruction(12, 13) instruction(14, 15) instruction(16, 17)	\
	instruction(18, 19) instruction(20, 21) instruction(22, 23)	\
	instruction(24, 25) instruction(26, 27) instruction(28, 29)	\
	instruction(30, 31)
#define WS_STORE_PAIR(i, j) "stp q" #i ", q" #j ", [%0, #16 * " #i "]\n\t"
#define WS_LOAD_PAIR(i, j) "ldp q" #i ", q" #j ", [%0, #16 * " #i "]\n\t"

static inline void ws_arch_registers_store(u64 (*lanes)[2])
{
	asm volatile(".arch_extension simd\n\t" WS_EACH_PAIR(WS_STORE_PAIR)
		     : : "r" (lanes) : "memory");
}

static inline void ws_arch_registers_load(u64 (*lanes)[2])
{
	asm volatile(".arch_extension simd\n\t" WS_EACH_PAIR(WS_LOAD_PAIR)
		     : : "r" (lanes) : "memory");
}

/* 16 bytes into one of them. */
static inline void ws_arch_register_plant(const void *bytes)
{
	asm volatile(".arch_extension simd\n\tldr q7, [%0]" : : "r" (bytes) : "memory");
}

#endif
