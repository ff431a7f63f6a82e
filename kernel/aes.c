// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * AES-256 in counter mode. The kernel's library has no counter mode: it encrypts one
 * block at a time, since 7.0 with an FPU section for each. So the AES-NI and VAES code
 * is ours (aes-ctr.S); the key expansion and the scalar block are the library's.
 */
#include <asm/byteorder.h>
#include <asm/cpufeature.h>
#include <asm/fpu/api.h>
#include <asm/fpu/types.h>
#include <linux/kmsan-checks.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "aes.h"
#include "simd.h"

#define BLOCK_BYTES 16u
#define VAES_BLOCKS 16u

/*
 * In aes-ctr.S, called in an FPU section: E(K, C), E(K, C + 1), ... for @blocks whole
 * blocks. The low word of the counter must not wrap within them.
 */
asmlinkage void ws_aes256_ctr_ni(const u32 *round_keys, u8 *destination,
				 unsigned long blocks, u64 low, u64 high);
/* The same with VAES, for a multiple of 16 blocks. */
asmlinkage void ws_aes256_ctr_vaes(const u32 *round_keys, u8 *destination,
				   unsigned long blocks, u64 low, u64 high);

enum ws_backend ws_aes_detect(void)
{
	if (!boot_cpu_has(X86_FEATURE_AES) || !boot_cpu_has(X86_FEATURE_XMM4_1))
		return WS_SCALAR;
	if (boot_cpu_has(X86_FEATURE_VAES) && boot_cpu_has(X86_FEATURE_AVX2) &&
	    cpu_has_xfeatures(XFEATURE_MASK_SSE | XFEATURE_MASK_YMM, NULL))
		return WS_SIMD256;
	return WS_SIMD128;
}

static void blocks_scalar(const struct aes_enckey *key,
			  struct ws_counter *counter, u8 *destination,
			  unsigned int blocks)
{
	for (; blocks; blocks--, destination += BLOCK_BYTES) {
		__le64 block[2] = {
			cpu_to_le64(counter->low),
			cpu_to_le64(counter->high),
		};

		aes_encrypt(key, destination, (const u8 *)block);
		ws_counter_add(counter, 1);
	}
}

/* In an FPU section. */
static void blocks_simd(const struct aes_enckey *key, enum ws_backend backend,
			struct ws_counter *counter, u8 *destination,
			unsigned int blocks)
{
	const u32 *round_keys = ws_aes_round_keys(key);

	while (blocks) {
		unsigned long run = blocks;

		/* -low is the number of blocks until the low word wraps. */
		if (counter->low && run > -counter->low)
			run = -counter->low;
		if (backend == WS_SIMD256 && run >= VAES_BLOCKS) {
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

bool ws_aes_fill(const struct aes_enckey *key, enum ws_backend backend,
		 const struct ws_counter *from, u8 *destination,
		 unsigned int bytes)
{
	unsigned int blocks = bytes / BLOCK_BYTES, rest = bytes % BLOCK_BYTES;
	struct ws_counter counter = *from;
	struct ws_simd simd;
	u8 last[BLOCK_BYTES];
	bool has_simd = backend != WS_SCALAR && ws_simd_begin(&simd);

	if (has_simd) {
		blocks_simd(key, backend, &counter, destination, blocks);
		if (rest)
			blocks_simd(key, backend, &counter, last, 1);
		ws_simd_end(&simd);
		/* KMSAN does not see what assembly writes. */
		kmsan_unpoison_memory(destination, blocks * BLOCK_BYTES);
		kmsan_unpoison_memory(last, rest ? BLOCK_BYTES : 0);
	} else {
		blocks_scalar(key, &counter, destination, blocks);
		if (rest)
			blocks_scalar(key, &counter, last, 1);
	}
	if (rest) {
		memcpy(destination + blocks * BLOCK_BYTES, last, rest);
		memzero_explicit(last, sizeof(last));
	}
	return has_simd || backend == WS_SCALAR;
}
