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

/* NEON is for tasks and softirqs. Elsewhere the portable code makes the bytes. */
#define WS_ARCH_SIMD_WANTS_INTERRUPTS 1

#define ws_arch_simd_usable may_use_simd
#define ws_arch_simd_begin kernel_neon_begin
#define ws_arch_simd_end kernel_neon_end

static inline void ws_arch_simd_init(void)
{
}

/* In registers.S, called in a section. The registers of SVE are the same ones, and longer. */
asmlinkage void ws_arch_simd_wipe(void);

#endif
