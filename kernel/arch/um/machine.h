/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What is of User Mode Linux, which runs on x86-64, and differs from x86/machine.h.
 */
#ifndef WELLSPRING_MACHINE_H
#define WELLSPRING_MACHINE_H

#include <asm/cpufeature.h>
#include <crypto/chacha.h>
#include <linux/errno.h>
#include <linux/kprobes.h>
#include <linux/types.h>

#include "simd.h"

struct pt_regs;

/* SIMD may be used with interrupts off. */
#define WS_ARCH_SIMD_WANTS_INTERRUPTS 0

/*
 * There are no sections: the host saves the registers of a thread at each signal. So the module
 * would have nothing to obey. simd.c has sections by the rules of x86 since 6.16.
 */
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

/*
 * The library leaves its SIMD code of ChaCha out of User Mode Linux.
 * chacha20.c has it built from the kernel's source, to be as fast as on x86.
 */
void ws_arch_chacha20_crypt(struct chacha_state *state, u8 *dst, const u8 *src,
			    unsigned int bytes);
/* Which part of that code this CPU runs. */
void ws_arch_chacha20_init(void);

/*
 * arch_get_random_longs() of User Mode Linux asks the host, by a function that modules cannot
 * call. The instruction works in any process. x86 tries it as often.
 */
#define WS_RDRAND_TRIES 10

static inline bool ws_arch_random_word(unsigned long *word)
{
	unsigned int tries = boot_cpu_has(X86_FEATURE_RDRAND) ? WS_RDRAND_TRIES : 0;
	bool has_word = false;

	while (!has_word && tries--)
		asm volatile("rdrand %[word]"
			     : "=@ccc" (has_word), [word] "=r" (*word));
	return has_word;
}

static inline bool ws_arch_seed_word(unsigned long *word)
{
	return ws_arch_random_word(word);
}

/* For tests. Tests with probes are skipped here. */
static inline bool ws_arch_is_random_word(const u8 *code)
{
	return false;
}

/*
 * There are neither kprobes nor NMIs. A registration fails there, and none of the
 * handlers is ever called.
 */
#define NMI_LOCAL 0
#define NMI_HANDLED 1
#define register_nmi_handler(type, function, flags, name) ((void)(function), -EOPNOTSUPP)
#define unregister_nmi_handler(type, name) do { } while (0)

static inline unsigned long regs_get_kernel_argument(struct pt_regs *registers,
						     unsigned int number)
{
	return 0;
}

static inline bool ws_arch_had_interrupts(const struct pt_regs *registers)
{
	return true;
}

/* topology=llc is refused. */
#define WS_ARCH_KNOWS_CACHES 0
#define ws_arch_cache(cpu) 0

#endif
