/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#include <linux/linkage.h>

	.arch	armv8-a

/* A write to a register of NEON clears the rest of the one of SVE. */
SYM_FUNC_START(ws_arch_simd_wipe)
	.irp	i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	movi	v\i\().2d, #0
	.endr
	.irp	i, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	movi	v\i\().2d, #0
	.endr
	ret
SYM_FUNC_END(ws_arch_simd_wipe)
