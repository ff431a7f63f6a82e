/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * For tests: marks, and all vector registers, to memory and from it, in a section.
 */
#ifndef WELLSPRING_MACHINE_TEST_H
#define WELLSPRING_MACHINE_TEST_H

#include "machine.h"

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

static inline unsigned int ws_arch_register_bytes(void)
{
	return 16;
}

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
