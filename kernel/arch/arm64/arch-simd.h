/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef WELLSPRING_ARCH_SIMD_H
#define WELLSPRING_ARCH_SIMD_H

#include <asm/neon.h>
#include <asm/simd.h>
#include <linux/linkage.h>
#include <linux/types.h>

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
#else
	kernel_neon_end();
#endif
}

static inline void ws_arch_simd_init(void)
{
}

/* In registers.S, called in a section. The registers of SVE are the same ones, and longer. */
asmlinkage void ws_arch_simd_wipe(void);

#endif
