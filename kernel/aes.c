// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * AES-256 in counter mode: AES-NI and VAES of our own, since the kernel's library
 * offers a block at a time, each in an FPU section of its own; the library's key
 * expansion and its block where there is no FPU.
 */
#include <asm/byteorder.h>
#include <asm/cpufeature.h>
#include <asm/fpu/api.h>
#include <asm/fpu/types.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "aes.h"
#include "simd.h"

#define BLOCK_BYTES 16u
#define VAES_BLOCKS 16u

enum ws_path ws_aes_detect(void)
{
	if (!boot_cpu_has(X86_FEATURE_AES) || !boot_cpu_has(X86_FEATURE_XMM4_1))
		return WS_SCALAR;
	if (boot_cpu_has(X86_FEATURE_VAES) && boot_cpu_has(X86_FEATURE_AVX2) &&
	    cpu_has_xfeatures(XFEATURE_MASK_SSE | XFEATURE_MASK_YMM, NULL))
		return WS_SIMD256;
	return WS_SIMD128;
}

static void block_scalar(const struct ws_keystream *keystream,
			 const struct ws_counter *counter, u8 *destination)
{
	__le64 block[2] = {
		cpu_to_le64(counter->low),
		cpu_to_le64(counter->high),
	};

	aes_encrypt(&keystream->aes, destination, (const u8 *)block);
}

static void blocks_scalar(const struct ws_keystream *keystream,
			  struct ws_counter *counter, u8 *destination,
			  unsigned int blocks)
{
	for (; blocks; blocks--, destination += BLOCK_BYTES) {
		block_scalar(keystream, counter, destination);
		ws_counter_add(counter, 1);
	}
}

/* In an FPU section. */
static void blocks_simd(const struct ws_keystream *keystream,
			struct ws_counter *counter, u8 *destination,
			unsigned int blocks)
{
	const u32 *round_keys = ws_aes_round_keys(&keystream->aes);

	while (blocks) {
		unsigned long run = blocks;

		/* -low is what is left up to 2^64. */
		if (counter->low && run > -counter->low)
			run = -counter->low;
		if (keystream->path == WS_SIMD256 && run >= VAES_BLOCKS) {
			run = round_down(run, VAES_BLOCKS);
			ws_aes256_ctr_vaes(round_keys, destination, run,
					   counter->low, counter->high);
		} else {
			ws_aes256_ctr_ni(round_keys, destination, run,
					 counter->low, counter->high);
		}
		ws_counter_add(counter, run);
		destination += run * BLOCK_BYTES;
		blocks -= run;
	}
}

bool ws_aes_fill(struct ws_keystream *keystream, u8 *destination,
		 unsigned int bytes)
{
	unsigned int blocks = bytes / BLOCK_BYTES, rest = bytes % BLOCK_BYTES;
	struct ws_counter counter = keystream->counter;
	bool wants_simd = keystream->path != WS_SCALAR;
	struct ws_simd simd;
	u8 last[BLOCK_BYTES];
	bool has_simd = wants_simd && ws_simd_begin(&simd);

	if (has_simd) {
		blocks_simd(keystream, &counter, destination, blocks);
		if (rest)
			blocks_simd(keystream, &counter, last, 1);
		ws_simd_end(&simd);
	} else {
		blocks_scalar(keystream, &counter, destination, blocks);
		if (rest)
			blocks_scalar(keystream, &counter, last, 1);
	}
	if (rest) {
		memcpy(destination + blocks * BLOCK_BYTES, last, rest);
		memzero_explicit(last, sizeof(last));
	}
	return has_simd == wants_simd;
}
