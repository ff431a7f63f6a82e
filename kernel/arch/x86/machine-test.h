/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * For tests: marks, and all vector registers that this CPU has, to memory and from it, in a section.
 */
#ifndef WELLSPRING_MACHINE_TEST_H
#define WELLSPRING_MACHINE_TEST_H

/* User Mode Linux has one of its own. */
#include <machine.h>

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

static inline unsigned int ws_arch_register_bytes(void)
{
	return ws_arch_has_zmm() ? 64 : ws_arch_has_ymm() ? 32 : 16;
}

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
