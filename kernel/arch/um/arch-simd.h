/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * User Mode Linux has no sections: the host saves the registers of a thread at each signal.
 * So simd.c would have nothing to obey there. These have the rules of x86 since 6.16.
 */
#ifndef WELLSPRING_ARCH_SIMD_H
#define WELLSPRING_ARCH_SIMD_H

#include <asm/cpufeature.h>
#include <linux/types.h>

/* SIMD may be used with interrupts off. */
#define WS_ARCH_SIMD_WANTS_INTERRUPTS 0

/* As on x86. */
struct ws_arch_simd {
};

bool ws_arch_simd_usable(void);
void ws_arch_simd_begin(struct ws_arch_simd *arch);
void ws_arch_simd_end(struct ws_arch_simd *arch);

/* The host's flags, which tell what it saves. */
static inline bool ws_arch_has_ymm(void)
{
	return boot_cpu_has(X86_FEATURE_AVX);
}

static inline bool ws_arch_has_zmm(void)
{
	return ws_arch_has_ymm() && boot_cpu_has(X86_FEATURE_AVX512VL);
}

/* In arch/x86/. */
void ws_arch_simd_init(void);
void ws_arch_simd_wipe(void);

#endif
