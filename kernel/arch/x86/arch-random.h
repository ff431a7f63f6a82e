/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef WELLSPRING_ARCH_RANDOM_H
#define WELLSPRING_ARCH_RANDOM_H

#include <asm/archrandom.h>

/* A word of RDRAND. False if there is none. */
static inline bool ws_arch_random_word(unsigned long *word)
{
	return arch_get_random_longs(word, 1);
}

/* A word of RDSEED, or of RDRAND if RDSEED has nothing. */
static inline bool ws_arch_seed_word(unsigned long *word)
{
	return arch_get_random_seed_longs(word, 1) || ws_arch_random_word(word);
}

/* For tests. RDRAND of 64 bits: a REX prefix, 0f c7, and 6 in the middle of the last byte. */
static inline bool ws_arch_is_random_word(const u8 *code)
{
	return (code[0] & 0xf8) == 0x48 && code[1] == 0x0f && code[2] == 0xc7 &&
	       (code[3] & 0xf8) == 0xf0;
}

#endif
