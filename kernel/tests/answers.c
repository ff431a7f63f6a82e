// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Published answers for every backend, in every lane: the widest backend computes 16
 * blocks at the same time. Fortuna's answers come from vector files; replay.c takes them.
 */
#include <linux/slab.h>

#include "test.h"

#define LANES 34

struct answer {
	enum ws_cipher cipher;
	struct ws_counter counter;
	u8 block[64];
};

/* FIPS 197, C.3: the key is 00 01 .. 1f, the block 00 11 .. ff. */
static const struct answer aes_answer = {
	.cipher = WS_AES256,
	.counter = { 0x7766554433221100, 0xffeeddccbbaa9988 },
	.block = { 0x8e, 0xa2, 0xb7, 0xca, 0x51, 0x67, 0x45, 0xbf,
		   0xea, 0xfc, 0x49, 0x90, 0x4b, 0x49, 0x60, 0x89 },
};

/* RFC 8439, 2.3.2: the same key, block counter 1, nonce 00 00 00 09 00 00 00 4a 0. */
static const struct answer chacha_answer = {
	.cipher = WS_CHACHA20,
	.counter = { 0x0900000000000001, 0x000000004a000000 },
	.block = { 0x10, 0xf1, 0xe7, 0xe4, 0xd1, 0x3b, 0x59, 0x15,
		   0x50, 0x0f, 0xdd, 0x1f, 0xa3, 0x20, 0x71, 0xc4,
		   0xc7, 0xd1, 0xf4, 0xc7, 0x33, 0xc0, 0x68, 0x03,
		   0x04, 0x22, 0xaa, 0x9a, 0xc3, 0xd4, 0x6c, 0x4e,
		   0xd2, 0x82, 0x64, 0x46, 0x07, 0x9f, 0xaa, 0x09,
		   0x14, 0xc2, 0xd7, 0x05, 0xd9, 0x8b, 0x02, 0xa2,
		   0xb5, 0x12, 0x9c, 0xd1, 0xde, 0x16, 0x4e, 0xb9,
		   0xcb, 0xd0, 0x83, 0xe8, 0xa2, 0x50, 0x3c, 0x4e },
};

static int check_answer(struct report *report, const struct answer *answer,
			enum ws_backend backend)
{
	unsigned int block_bytes = ws_block_bytes(answer->cipher);
	struct ws_keystream keystream;
	u8 key[WS_KEY_BYTES];
	unsigned int lane;
	bool same = true;
	u8 *output;

	if (backend > ws_best_backend(answer->cipher))
		return skipped(report, "this CPU does not run it");
	output = kmalloc(LANES * block_bytes, GFP_KERNEL);
	if (!output)
		return failed(report, "no memory");
	for (lane = 0; lane < WS_KEY_BYTES; lane++)
		key[lane] = lane;
	for (lane = 0; same && lane < LANES; lane++) {
		struct ws_counter start = answer->counter;

		/* No borrow: both low words are above 34. */
		start.low -= lane;
		ws_keystream_init(&keystream, answer->cipher, key, &start);
		keystream.backend = backend;
		ws_keystream_fill(&keystream, output, LANES * block_bytes);
		same = !memcmp(output + lane * block_bytes, answer->block,
			       block_bytes);
	}
	kfree(output);
	if (!same)
		return failed(report, "block %u of %u is wrong", lane - 1, LANES);
	return passed(report, "%u lanes", LANES);
}

static int answer_aes_scalar(struct report *report)
{
	return check_answer(report, &aes_answer, WS_SCALAR);
}

static int answer_aes_ni(struct report *report)
{
	return check_answer(report, &aes_answer, WS_SIMD128);
}

static int answer_vaes(struct report *report)
{
	return check_answer(report, &aes_answer, WS_SIMD256);
}

static int answer_chacha_scalar(struct report *report)
{
	return check_answer(report, &chacha_answer, WS_SCALAR);
}

static int answer_chacha_library(struct report *report)
{
	return check_answer(report, &chacha_answer, WS_SIMD128);
}

const struct test answers_tests[] = {
	{ "known-answers/aes256-scalar", answer_aes_scalar },
	{ "known-answers/aes256-simd128", answer_aes_ni },
	{ "known-answers/aes256-simd256", answer_vaes },
	{ "known-answers/chacha20-scalar", answer_chacha_scalar },
	{ "known-answers/chacha20-library", answer_chacha_library },
	{}
};
