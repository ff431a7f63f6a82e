// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * ChaCha20 (RFC 8439) with Bernstein's words 12..15 as one counter of 128 bits.
 *
 * The kernel's library makes the blocks, SIMD inside. It steps word 12 alone, and
 * without a carry: a run therefore never passes a multiple of 2^32, and each begins
 * with all four words written anew.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "chacha20.h"
#include "simd.h"

#define BLOCK_BYTES 64u

static void prepare(const struct ws_keystream *keystream,
		    const struct ws_counter *counter,
		    struct chacha_state *state)
{
	/* "expand 32-byte k" */
	state->x[0] = 0x61707865;
	state->x[1] = 0x3320646e;
	state->x[2] = 0x79622d32;
	state->x[3] = 0x6b206574;
	memcpy(&state->x[4], keystream->chacha_key, WS_KEY_BYTES);
	state->x[12] = lower_32_bits(counter->low);
	state->x[13] = upper_32_bits(counter->low);
	state->x[14] = lower_32_bits(counter->high);
	state->x[15] = upper_32_bits(counter->high);
}

/* The bytes up to the next carry out of word 12, at most @bytes. */
static unsigned int run_bytes(const struct ws_counter *counter,
			      unsigned int bytes)
{
	u64 blocks = (1ULL << 32) - lower_32_bits(counter->low);

	return min_t(u64, bytes, blocks * BLOCK_BYTES);
}

static void fill_scalar(struct ws_keystream *keystream, u8 *destination,
			unsigned int bytes)
{
	struct ws_counter counter = keystream->counter;
	struct chacha_state state;
	u8 block[BLOCK_BYTES];

	while (bytes) {
		unsigned int step = min(bytes, BLOCK_BYTES);

		prepare(keystream, &counter, &state);
		ws_chacha20_block(&state, block);
		memcpy(destination, block, step);
		ws_counter_add(&counter, 1);
		destination += step;
		bytes -= step;
	}
	memzero_explicit(block, sizeof(block));
	memzero_explicit(&state, sizeof(state));
}

static void fill_library(struct ws_keystream *keystream, u8 *destination,
			 unsigned int bytes)
{
	struct ws_counter counter = keystream->counter;
	struct chacha_state state;

	memset(destination, 0, bytes);
	while (bytes) {
		unsigned int step = run_bytes(&counter, bytes);

		prepare(keystream, &counter, &state);
		ws_chacha20(&state, destination, step);
		ws_counter_add(&counter, ws_blocks(WS_CHACHA20, step));
		destination += step;
		bytes -= step;
	}
	memzero_explicit(&state, sizeof(state));
}

bool ws_chacha20_fill(struct ws_keystream *keystream, u8 *destination,
		      unsigned int bytes)
{
	struct ws_simd simd;

	/* For one block the library never uses SIMD: no section, no refusal. */
	if (keystream->path == WS_SCALAR || bytes <= BLOCK_BYTES) {
		fill_scalar(keystream, destination, bytes);
		return true;
	}
	if (!ws_simd_guard(&simd)) {
		fill_scalar(keystream, destination, bytes);
		return false;
	}
	fill_library(keystream, destination, bytes);
	ws_simd_unguard(&simd);
	return true;
}
