// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * ChaCha20 (RFC 8439) with words 12 to 15 as one counter of 128 bits.
 *
 * The kernel's library makes the blocks, with SIMD inside. It steps word 12 only, and
 * without a carry into word 13. So one call of the library never passes a multiple of
 * 2^32 blocks, and each call starts with all four words written anew.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "chacha20.h"
#include "compat.h"
#include "simd.h"

#define BLOCK_BYTES 64u

static void set_state(struct ws_chacha_state *state, const u32 *key,
		      const struct ws_counter *counter)
{
	/* "expand 32-byte k" */
	state->x[0] = 0x61707865;
	state->x[1] = 0x3320646e;
	state->x[2] = 0x79622d32;
	state->x[3] = 0x6b206574;
	memcpy(&state->x[4], key, WS_KEY_BYTES);
	state->x[12] = lower_32_bits(counter->low);
	state->x[13] = upper_32_bits(counter->low);
	state->x[14] = lower_32_bits(counter->high);
	state->x[15] = upper_32_bits(counter->high);
}

/* The bytes until word 12 wraps, at most @len bytes. */
static unsigned int bytes_until_carry(const struct ws_counter *counter,
				      unsigned int len)
{
	u64 blocks = (1ULL << 32) - lower_32_bits(counter->low);

	return min_t(u64, len, blocks * BLOCK_BYTES);
}

static void fill_scalar(const u32 *key, const struct ws_counter *from,
			u8 *dst, unsigned int len)
{
	struct ws_counter counter = *from;
	struct ws_chacha_state state;
	u8 block[BLOCK_BYTES];

	while (len) {
		unsigned int step = min(len, BLOCK_BYTES);

		set_state(&state, key, &counter);
		ws_chacha20_block(&state, block);
		memcpy(dst, block, step);
		ws_counter_add(&counter, 1);
		dst += step;
		len -= step;
	}
	memzero_explicit(block, sizeof(block));
	memzero_explicit(&state, sizeof(state));
}

static void fill_library(const u32 *key, const struct ws_counter *from,
			 u8 *dst, unsigned int len)
{
	struct ws_counter counter = *from;
	struct ws_chacha_state state;

	memset(dst, 0, len);
	while (len) {
		unsigned int step = bytes_until_carry(&counter, len);

		set_state(&state, key, &counter);
		ws_chacha20(&state, dst, step);
		ws_counter_add(&counter, ws_blocks(WS_CHACHA20, step));
		dst += step;
		len -= step;
	}
	memzero_explicit(&state, sizeof(state));
}

bool ws_chacha20_fill(const u32 key[WS_KEY_BYTES / 4], enum ws_backend backend,
		      const struct ws_counter *from, u8 *dst, unsigned int len)
{
	struct ws_simd simd;

	/* The library uses no SIMD for one block, so there is no section to refuse. */
	if (backend == WS_SCALAR || len <= BLOCK_BYTES) {
		fill_scalar(key, from, dst, len);
		return true;
	}
	if (ws_simd_guard(&simd))
		fill_library(key, from, dst, len);
	else
		fill_scalar(key, from, dst, len);
	ws_simd_unguard(&simd);
	return !simd.is_refused;
}
