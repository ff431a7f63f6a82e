// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The counter of 128 bits: its arithmetic, its carries in every lane of every path,
 * and that all paths make the same bytes of any length to any address.
 */
#include <linux/random.h>
#include <linux/slab.h>

#include "test.h"

/* The widest path has 16 blocks in flight, and this is four of its steps and more. */
#define RUN_BLOCKS 70

static int add64(struct report *report)
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

static void make(enum ws_cipher cipher, enum ws_path path, const u8 *key,
		 struct ws_counter start, u8 *output, size_t bytes)
{
	struct ws_keystream keystream;

	ws_keystream_init(&keystream, cipher, key, &start);
	keystream.path = path;
	ws_keystream_fill(&keystream, output, bytes);
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

/*
 * A run of blocks across each carry, started so that it falls into each lane once,
 * against blocks that are made alone.
 */
static int carry(struct report *report, enum ws_cipher cipher,
		 enum ws_path path)
{
	static const unsigned int carries[] = { 32, 64, 96, 128 };
	unsigned int block_bytes = ws_block_bytes(cipher);
	unsigned int at, lane, index, compared = 0;
	u8 key[WS_KEY_BYTES], block[64], *run;

	if (path > ws_best_path(cipher))
		return skipped(report, "this CPU does not run it");
	run = kmalloc(RUN_BLOCKS * block_bytes, GFP_KERNEL);
	if (!run)
		return failed(report, "no memory");
	get_random_bytes(key, sizeof(key));
	for (at = 0; at < ARRAY_SIZE(carries); at++) {
		for (lane = 0; lane < 34; lane++) {
			struct ws_counter counter =
				before_carry(carries[at], lane);

			make(cipher, path, key, counter, run,
			     RUN_BLOCKS * block_bytes);
			for (index = 0; index < RUN_BLOCKS; index++) {
				make(cipher, WS_SCALAR, key, counter, block,
				     block_bytes);
				ws_counter_add(&counter, 1);
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

/* Any length, any address, any counter; and not a byte beyond the end. */
static int identical(struct report *report, enum ws_cipher cipher)
{
	enum { ROUNDS = 400, MOST = 5000, MARK = 0xa5 };
	enum ws_path best = ws_best_path(cipher), path;
	u8 key[WS_KEY_BYTES], *scalar, *simd;
	const char *wrong = NULL;
	unsigned int round;

	if (best == WS_SCALAR)
		return skipped(report, "this CPU has the scalar path alone");
	scalar = kmalloc(MOST + 64, GFP_KERNEL);
	simd = kmalloc(MOST + 64, GFP_KERNEL);
	for (round = 0; scalar && simd && !wrong && round < ROUNDS; round++) {
		struct ws_counter counter = { get_random_u64(),
					      get_random_u64() };
		unsigned int bytes = get_random_u32() % MOST;
		unsigned int offset = get_random_u32() % 64;

		get_random_bytes(key, sizeof(key));
		make(cipher, WS_SCALAR, key, counter, scalar, bytes);
		for (path = WS_SIMD128; path <= best; path++) {
			memset(simd, MARK, MOST + 64);
			make(cipher, path, key, counter, simd + offset, bytes);
			if (memcmp(scalar, simd + offset, bytes))
				wrong = "the bytes differ";
			if (memchr_inv(simd, MARK, offset) ||
			    memchr_inv(simd + offset + bytes, MARK,
				       MOST + 64 - offset - bytes))
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

static int aes_scalar(struct report *report)
{
	return carry(report, WS_AES256, WS_SCALAR);
}

static int aes_ni(struct report *report)
{
	return carry(report, WS_AES256, WS_SIMD128);
}

static int vaes(struct report *report)
{
	return carry(report, WS_AES256, WS_SIMD256);
}

static int chacha_scalar(struct report *report)
{
	return carry(report, WS_CHACHA20, WS_SCALAR);
}

static int chacha_library(struct report *report)
{
	return carry(report, WS_CHACHA20, WS_SIMD128);
}

static int aes_identical(struct report *report)
{
	return identical(report, WS_AES256);
}

static int chacha_identical(struct report *report)
{
	return identical(report, WS_CHACHA20);
}

const struct test counters_tests[] = {
	{ "add64", add64 },
	{ "counter-carry/aes256-scalar", aes_scalar },
	{ "counter-carry/aes256-aes-ni", aes_ni },
	{ "counter-carry/aes256-vaes", vaes },
	{ "counter-carry/chacha20-scalar", chacha_scalar },
	{ "counter-carry/chacha20-library", chacha_library },
	{ "paths-identical/aes256", aes_identical },
	{ "paths-identical/chacha20", chacha_identical },
	{}
};
