/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef WELLSPRING_ARCH_SIMD_H
#define WELLSPRING_ARCH_SIMD_H

#include <asm/cpufeature.h>
#include <asm/fpu/api.h>
#include <asm/fpu/types.h>

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

/* Which registers there are to wipe. */
void ws_arch_simd_init(void);

/* In a section. */
void ws_arch_simd_wipe(void);

#endif
