// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * AES-256 in counter mode. The kernel's library has no counter mode: it encrypts one
 * block at a time, since 7.0 with an FPU section for each. So the SIMD code is ours
 * (arch/), with a key expansion that needs no section of its own; the scalar code is the
 * library's.
 */
#include <asm/byteorder.h>
#include <linux/bug.h>
#include <linux/kmsan-checks.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "aes.h"
#include "arch-aes.h"
#include "compat.h"
#include "simd.h"

#define BLOCK_BYTES 16u

void ws_aes_key_init(struct ws_aes_key *key, const u8 bytes[WS_KEY_BYTES])
{
	memcpy(key->words, bytes, WS_KEY_BYTES);
	key->is_expanded = false;
}

/* Not inlined: the library's key takes up to 500 bytes of the stack. */
static noinline void fill_scalar(const struct ws_aes_key *key, struct ws_counter counter,
				 u8 *dst, unsigned int len)
{
	struct aes_enckey expanded;
	u8 output[BLOCK_BYTES];

	/* It fails only for a key of another length. */
	WARN_ON_ONCE(aes_prepareenckey(&expanded, (const u8 *)key->words, WS_KEY_BYTES));
	while (len) {
		unsigned int step = min(len, BLOCK_BYTES);
		__le64 block[2] = {
			cpu_to_le64(counter.low),
			cpu_to_le64(counter.high),
		};

		aes_encrypt(&expanded, output, (const u8 *)block);
		memcpy(dst, output, step);
		ws_counter_add(&counter, 1);
		dst += step;
		len -= step;
	}
	memzero_explicit(output, sizeof(output));
	memzero_explicit(&expanded, sizeof(expanded));
}

/* In an FPU section. */
static void blocks_simd(const u32 *round_keys, enum ws_backend backend,
			struct ws_counter *counter, u8 *dst,
			unsigned int blocks)
{
	while (blocks) {
		unsigned long run = blocks;

		/* -low is the number of blocks until the low word wraps. */
		if (counter->low && run > -counter->low)
			run = -counter->low;
		run = ws_arch_aes_blocks(round_keys, backend, counter, dst,
					 run);
		ws_counter_add(counter, run);
		dst += run * BLOCK_BYTES;
		blocks -= run;
	}
}

/* In an FPU section. */
static void fill_simd(struct ws_aes_key *key, enum ws_backend backend,
		      struct ws_counter counter, u8 *dst, unsigned int len)
{
	unsigned int blocks = len / BLOCK_BYTES, rest = len % BLOCK_BYTES;
	u8 last[BLOCK_BYTES];

	if (!key->is_expanded)
		ws_arch_aes_expand(key->words);
	key->is_expanded = true;
	blocks_simd(key->words, backend, &counter, dst, blocks);
	/* KMSAN does not see what assembly writes. */
	kmsan_unpoison_memory(dst, blocks * BLOCK_BYTES);
	if (!rest)
		return;
	blocks_simd(key->words, backend, &counter, last, 1);
	kmsan_unpoison_memory(last, BLOCK_BYTES);
	memcpy(dst + blocks * BLOCK_BYTES, last, rest);
	memzero_explicit(last, sizeof(last));
}

bool ws_aes_fill(struct ws_aes_key *key, enum ws_backend backend,
		 const struct ws_counter *from, u8 *dst, unsigned int len)
{
	struct ws_simd simd;

	if (backend == WS_SCALAR || !ws_simd_begin(&simd)) {
		fill_scalar(key, *from, dst, len);
		return backend == WS_SCALAR || !simd.is_refused;
	}
	fill_simd(key, backend, *from, dst, len);
	ws_simd_end(&simd);
	return true;
}
