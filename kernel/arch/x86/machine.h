/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What is of x86-64: FPU sections, RDRAND, probes.
 */
#ifndef WELLSPRING_MACHINE_H
#define WELLSPRING_MACHINE_H

#include <asm/archrandom.h>
#include <asm/cpufeature.h>
#include <asm/fpu/api.h>
#include <asm/fpu/types.h>
#include <asm/nmi.h>
#include <asm/processor.h>
#include <asm/processor-flags.h>
#include <crypto/chacha.h>
#include <linux/kprobes.h>

#include "simd.h"

/* SIMD may be used with interrupts off. */
#define WS_ARCH_SIMD_WANTS_INTERRUPTS 0

#define ws_arch_simd_usable irq_fpu_usable

/* The kernel needs no place of ours. */
struct ws_arch_simd {
};

static inline void ws_arch_simd_begin(struct ws_arch_simd *arch)
{
	kernel_fpu_begin();
}

static inline void ws_arch_simd_end(struct ws_arch_simd *arch)
{
	kernel_fpu_end();
}

static inline bool ws_arch_has_ymm(void)
{
	return boot_cpu_has(X86_FEATURE_AVX) &&
	       cpu_has_xfeatures(XFEATURE_MASK_SSE | XFEATURE_MASK_YMM, NULL);
}

/* 32 registers of 64 bytes. */
static inline bool ws_arch_has_zmm(void)
{
	return ws_arch_has_ymm() && boot_cpu_has(X86_FEATURE_AVX512VL) &&
	       cpu_has_xfeatures(XFEATURE_MASK_AVX512, NULL);
}

/* The kernel's library has its SIMD code inside. */
#define ws_arch_chacha20_crypt chacha20_crypt

static inline void ws_arch_chacha20_init(void)
{
}

/* A word of RDRAND. False if RDRAND gives none. */
static inline bool ws_arch_random_word(unsigned long *word)
{
	return arch_get_random_longs(word, 1);
}

/* A word of RDSEED, or of RDRAND if RDSEED has nothing. */
static inline bool ws_arch_seed_word(unsigned long *word)
{
	return arch_get_random_seed_longs(word, 1) || ws_arch_random_word(word);
}

/* For tests. RDRAND of 64 bits: a REX prefix, 0f c7, and 6 in the middle of the last byte. */
static inline bool ws_arch_is_random_word(const u8 *code)
{
	return (code[0] & 0xf8) == 0x48 && code[1] == 0x0f && code[2] == 0xc7 &&
	       (code[3] & 0xf8) == 0xf0;
}

/*
 * The number of a CPU's last-level cache, for topology=llc. Modules see neither cpu_llc_shared_map nor
 * get_cpu_cacheinfo(). Before 6.7 a function is exported for this, since then the data of CPUs.
 */
#define WS_ARCH_KNOWS_CACHES 1

static inline u32 ws_arch_cache(int cpu)
{
#ifdef WS_HAS_LLC_ID
	return per_cpu_llc_id(cpu);
#else
	return get_llc_id(cpu);
#endif
}

/* Whether what a probe or an NMI interrupted had interrupts on. */
static inline bool ws_arch_had_interrupts(const struct pt_regs *registers)
{
	return registers->flags & X86_EFLAGS_IF;
}

#endif
