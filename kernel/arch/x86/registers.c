// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The vector registers, and how they are wiped.
 */
#include <linux/cache.h>
#include <linux/types.h>

/* User Mode Linux has one of its own. */
#include <machine.h>

static bool has_ymm __ro_after_init;
static bool has_16_more __ro_after_init;

void ws_arch_simd_init(void)
{
	has_ymm = ws_arch_has_ymm();
	has_16_more = ws_arch_has_zmm();
}

/* Each instruction clears a register to its full width, except in SSE. */
void ws_arch_simd_wipe(void)
{
	/* The library's ChaCha20 has the key in these. */
	if (has_16_more)
		asm volatile(".irp i, 16, 17, 18, 19, 20, 21, 22, 23\n\t"
			     "vpxord %xmm\\i, %xmm\\i, %xmm\\i\n\t"
			     ".endr\n\t"
			     ".irp i, 24, 25, 26, 27, 28, 29, 30, 31\n\t"
			     "vpxord %xmm\\i, %xmm\\i, %xmm\\i\n\t"
			     ".endr");
	if (has_ymm)
		asm volatile("vzeroall");
	else
		asm volatile(".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\t"
			     "pxor %xmm\\i, %xmm\\i\n\t"
			     ".endr");
}
