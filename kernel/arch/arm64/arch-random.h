/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * arch_get_random_seed_longs() prefers a call of the firmware, and modules cannot know whether
 * there is one. The instructions may have nothing for a moment, and the kernel tries once.
 */
#ifndef WELLSPRING_ARCH_RANDOM_H
#define WELLSPRING_ARCH_RANDOM_H

#include <asm/archrandom.h>
#include <asm/cpufeature.h>

/* As often as x86 tries it. */
#define WS_RANDOM_TRIES 10

/* A word of RNDR, a generator that the processor reseeds now and then. */
static inline bool ws_arch_random_word(unsigned long *word)
{
	unsigned int tries = cpu_have_named_feature(RNG) ? WS_RANDOM_TRIES : 0;
	bool has_word = false;

	while (!has_word && tries--)
		has_word = __arm64_rndr(word);
	return has_word;
}

/* A word of RNDRRS, which reseeds it first, or of RNDR if that has nothing. */
static inline bool ws_arch_seed_word(unsigned long *word)
{
	return (cpu_have_named_feature(RNG) && __arm64_rndrrs(word)) ||
	       ws_arch_random_word(word);
}

/* For tests. MRS of RNDR to any register. */
static inline bool ws_arch_is_random_word(const u8 *code)
{
	return IS_ALIGNED((unsigned long)code, 4) &&
	       (*(const __le32 *)code & cpu_to_le32(~0x1f)) == cpu_to_le32(0xd53b2400);
}

#endif
