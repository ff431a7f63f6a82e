// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The counter of 128 bits: its arithmetic, its carries in every lane of every backend,
 * and that all backends make the same bytes, of any length, at any address.
 */
#include <linux/random.h>
#include <linux/slab.h>

#include "test.h"

/* The widest backend makes 16 blocks in one step: this is more than four steps. */
#define RUN_BLOCKS 70

static int counter_add64(struct report *report)
{
	static const struct {
		struct ws_counter start;
		u64 blocks;
		struct ws_counter end;
	} cases[] = {
		{ { 0, 0 }, 1, { 1, 0 } },
		{ { U32_MAX, 0 }, 1, { 1ULL << 32, 0 } },
		{ { U64_MAX, 0 }, 1, { 0, 1 } },
		{ { U64_MAX, U64_MAX }, 1, { 0, 0 } },
		{ { U64_MAX, 0 }, U64_MAX, { U64_MAX - 1, 1 } },
		{ { 1, U64_MAX }, U64_MAX, { 0, 0 } },
		{ { 5, 7 }, 0, { 5, 7 } },
	};
	unsigned int index;

	for (index = 0; index < ARRAY_SIZE(cases); index++) {
		struct ws_counter counter = cases[index].start;

		ws_counter_add(&counter, cases[index].blocks);
		if (counter.low != cases[index].end.low ||
		    counter.high != cases[index].end.high)
			return failed(report, "case %u gives %llx:%llx", index,
				      counter.high, counter.low);
	}
	return passed(report, "%zu cases", ARRAY_SIZE(cases));
}

static void make_stream(enum ws_cipher cipher, enum ws_backend backend, const u8 *key,
			struct ws_counter start, u8 *buf, size_t len)
{
	struct ws_keystream keystream;

	ws_keystream_init(&keystream, cipher, key, &start);
	keystream.backend = backend;
	ws_keystream_fill(&keystream, buf, len);
	ws_keystream_wipe(&keystream);
}

/* 2^@bits minus @lane. */
static struct ws_counter before_carry(unsigned int bits, u64 lane)
{
	struct ws_counter counter = { .low = -lane };

	if (bits < 64)
		counter.low += 1ULL << bits;
	if (bits < 64 || !lane)
		counter.high = 0;
	else
		counter.high = U64_MAX;
	if (bits >= 64 && bits < 128)
		counter.high += 1ULL << (bits - 64);
	return counter;
}

/* One more, byte by byte: nothing here is shared with ws_counter_add(). */
static void add_one(u8 counter[16])
{
	unsigned int byte = 0;

	while (byte < 16 && !++counter[byte])
		byte++;
}

/* The block at a counter, by the library's ciphers alone. */
static void make_block(enum ws_cipher cipher, const u8 *key, const u8 counter[16],
		       u8 *block)
{
	static const u8 constants[] = "expand 32-byte k";
	struct ws_chacha_state state;
	struct aes_enckey aes;

	if (cipher == WS_AES256) {
		aes_prepareenckey(&aes, key, WS_KEY_BYTES);
		aes_encrypt(&aes, block, counter);
		return;
	}
	memcpy(state.x, constants, 16);
	memcpy(state.x + 4, key, WS_KEY_BYTES);
	memcpy(state.x + 12, counter, 16);
	ws_chacha20_block(&state, block);
}

/*
 * A run of blocks across each carry, started so that it falls into each lane once,
 * against blocks that are made alone.
 */
static int check_carries(struct report *report, enum ws_cipher cipher,
			 enum ws_backend backend)
{
	static const unsigned int carries[] = { 32, 64, 96, 128 };
	unsigned int block_bytes = ws_block_bytes(cipher);
	unsigned int at, lane, index, compared = 0;
	u8 key[WS_KEY_BYTES], block[64], *run;

	if (backend > ws_best_backend(cipher))
		return skipped(report, "this CPU does not run it");
	run = kmalloc(RUN_BLOCKS * block_bytes, GFP_KERNEL);
	if (!run)
		return failed(report, "no memory");
	get_random_bytes(key, sizeof(key));
	for (at = 0; at < ARRAY_SIZE(carries); at++) {
		for (lane = 0; lane < 34; lane++) {
			struct ws_counter counter =
				before_carry(carries[at], lane);
			u8 bytes[16];

			memcpy(bytes, &counter.low, 8);
			memcpy(bytes + 8, &counter.high, 8);
			make_stream(cipher, backend, key, counter, run,
				    RUN_BLOCKS * block_bytes);
			for (index = 0; index < RUN_BLOCKS; index++) {
				make_block(cipher, key, bytes, block);
				add_one(bytes);
				if (!memcmp(block, run + index * block_bytes,
					    block_bytes)) {
					compared++;
					continue;
				}
				kfree(run);
				return failed(report,
					      "block %u after 2^%u - %u is wrong",
					      index, carries[at], lane);
			}
		}
	}
	kfree(run);
	return passed(report, "%u blocks", compared);
}

/* Any length, address and counter; and no byte outside is written. */
static int check_identical(struct report *report, enum ws_cipher cipher)
{
	enum { ROUNDS = 400, MOST = 5000, MARK = 0xa5 };
	enum ws_backend best = ws_best_backend(cipher), backend;
	u8 key[WS_KEY_BYTES], *scalar, *simd;
	const char *wrong = NULL;
	unsigned int round;

	if (best == WS_SCALAR)
		return skipped(report, "this CPU has the scalar backend alone");
	scalar = kmalloc(MOST + 64, GFP_KERNEL);
	simd = kmalloc(MOST + 64, GFP_KERNEL);
	for (round = 0; scalar && simd && !wrong && round < ROUNDS; round++) {
		struct ws_counter counter = { get_random_u64(),
					      get_random_u64() };
		unsigned int len = get_random_u32() % MOST;
		unsigned int offset = get_random_u32() % 64;

		get_random_bytes(key, sizeof(key));
		make_stream(cipher, WS_SCALAR, key, counter, scalar, len);
		for (backend = WS_SIMD128; backend <= best; backend++) {
			memset(simd, MARK, MOST + 64);
			make_stream(cipher, backend, key, counter, simd + offset, len);
			if (memcmp(scalar, simd + offset, len))
				wrong = "the bytes differ";
			if (memchr_inv(simd, MARK, offset) ||
			    memchr_inv(simd + offset + len, MARK,
				       MOST + 64 - offset - len))
				wrong = "something else was overwritten";
		}
	}
	if (!scalar || !simd)
		wrong = "no memory";
	kfree(scalar);
	kfree(simd);
	if (wrong)
		return failed(report, "round %u: %s", round, wrong);
	return passed(report, "%u lengths and addresses", ROUNDS);
}

static int carry_aes_scalar(struct report *report)
{
	return check_carries(report, WS_AES256, WS_SCALAR);
}

static int carry_aes_ni(struct report *report)
{
	return check_carries(report, WS_AES256, WS_SIMD128);
}

static int carry_vaes(struct report *report)
{
	return check_carries(report, WS_AES256, WS_SIMD256);
}

static int carry_chacha_scalar(struct report *report)
{
	return check_carries(report, WS_CHACHA20, WS_SCALAR);
}

static int carry_chacha_library(struct report *report)
{
	return check_carries(report, WS_CHACHA20, WS_SIMD128);
}

static int identical_aes(struct report *report)
{
	return check_identical(report, WS_AES256);
}

static int identical_chacha(struct report *report)
{
	return check_identical(report, WS_CHACHA20);
}

const struct test counters_tests[] = {
	{ "add64", counter_add64 },
	{ "counter-carry/aes256-scalar", carry_aes_scalar },
	{ "counter-carry/aes256-simd128", carry_aes_ni },
	{ "counter-carry/aes256-simd256", carry_vaes },
	{ "counter-carry/chacha20-scalar", carry_chacha_scalar },
	{ "counter-carry/chacha20-library", carry_chacha_library },
	{ "backends-identical/aes256", identical_aes },
	{ "backends-identical/chacha20", identical_chacha },
	{}
};
