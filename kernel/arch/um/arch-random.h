/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * arch_get_random_longs() of User Mode Linux asks the host, by a function that modules cannot
 * call. The instruction works in any process.
 */
#ifndef WELLSPRING_ARCH_RANDOM_H
#define WELLSPRING_ARCH_RANDOM_H

#include <asm/cpufeature.h>
#include <linux/types.h>

/* As often as x86 tries it. */
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

/* For tests, of which those with probes are skipped here. */
static inline bool ws_arch_is_random_word(const u8 *code)
{
	return false;
}

#endif
