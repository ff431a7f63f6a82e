// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Known answers of the module's ciphers, the carries of their counters, and its pools and generator for the
 * answers of vector files.
 */
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "test.h"

/*
 * Published answers for every backend, in every lane: the widest backend computes 16
 * blocks at the same time. Fortuna's answers come from vector files, below.
 */

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

/*
 * The counter of 128 bits: its arithmetic, its carries in every lane of every backend,
 * and that all backends make the same bytes, of any length, at any address.
 */

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

/*
 * A private Fortuna that user space drives: the module's own pools and generator, with
 * the clock and the sources replaced. So the vector files of the project run through the
 * code that serves readers.
 */

/* The longest read, so that a request cannot take all memory. */
#define MAX_READ_BYTES (1UL << 30)

/* For all files, because they all change the backend of the module. */
static DEFINE_MUTEX(replay_lock);

struct replay {
	bool begun;
	bool concurrent;
	enum ws_backend backend;
	struct ws_accumulator accumulator;
	struct ws_generator generator;
};

struct replay *replay_create(void)
{
	return kvzalloc(sizeof(struct replay), GFP_KERNEL);
}

void replay_destroy(struct replay *replay)
{
	kvfree(replay);
}

static void store_counter(const struct ws_counter *counter, u8 bytes[16])
{
	__le64 words[2] = { cpu_to_le64(counter->low),
			    cpu_to_le64(counter->high) };

	memcpy(bytes, words, sizeof(words));
}

static void load_counter(struct ws_counter *counter, const u8 bytes[16])
{
	__le64 words[2];

	memcpy(words, bytes, sizeof(words));
	counter->low = le64_to_cpu(words[0]);
	counter->high = le64_to_cpu(words[1]);
}

static long replay_begin(struct replay *replay,
			 const struct wellspring_replay_begin __user *argument)
{
	struct wellspring_replay_begin request;

	if (copy_from_user(&request, argument, sizeof(request)))
		return -EFAULT;
	if (request.cipher >= WS_CIPHERS || request.backend >= WS_BACKENDS ||
	    request.concurrent > 1 || request.forced > 1)
		return -EINVAL;
	if (request.backend > ws_best_backend(request.cipher))
		return -EOPNOTSUPP;
	replay->begun = true;
	replay->concurrent = request.concurrent;
	replay->backend = request.backend;
	ws_accumulator_init(&replay->accumulator);
	ws_generator_init(&replay->generator, request.cipher);
	if (request.forced) {
		memcpy(replay->generator.key, request.key, WS_KEY_BYTES);
		load_counter(&replay->generator.counter, request.counter);
	}
	return 0;
}

static long replay_absorb(struct replay *replay,
			  const struct wellspring_replay_event __user *argument)
{
	struct wellspring_replay_event request;
	struct ws_event event = { .source = WS_SOURCE_MIX };
	struct ws_simd simd;

	if (copy_from_user(&request, argument, sizeof(request)))
		return -EFAULT;
	if (request.bytes > WS_EVENT_BYTES || request.pool >= WS_POOLS)
		return -EINVAL;
	event.counter = request.counter;
	event.bytes = request.bytes;
	memcpy(event.data, request.data, request.bytes);
	ws_simd_guard(&simd);
	ws_accumulator_absorb(&replay->accumulator, &event, request.pool);
	ws_simd_unguard(&simd);
	return 0;
}

static long replay_reseed(struct replay *replay)
{
	struct ws_seed *seed = kzalloc(sizeof(*seed), GFP_KERNEL);

	if (!seed)
		return -ENOMEM;
	if (ws_accumulator_take_seed(&replay->accumulator, 0, true, seed))
		ws_generator_reseed(&replay->generator, seed->data,
				    seed->bytes);
	kfree_sensitive(seed);
	return 0;
}

static void read_generator(struct ws_generator *generator, bool concurrent,
			   u8 *buf, size_t len)
{
	struct ws_reservation reservation;

	do {
		size_t step = concurrent ? len :
			      ws_canonical_bytes(generator->cipher, len);

		ws_generator_reserve(generator, step, &reservation);
		ws_reservation_generate(&reservation, buf, step);
		buf += step;
		len -= step;
		cond_resched();
	} while (len);
}

static long replay_read(struct replay *replay,
			const struct wellspring_replay_read __user *argument)
{
	struct wellspring_replay_read request;
	long error = 0;
	u8 *buf;

	if (copy_from_user(&request, argument, sizeof(request)))
		return -EFAULT;
	if (request.bytes > MAX_READ_BYTES)
		return -EINVAL;
	/* One byte more, because vmalloc(0) fails. */
	buf = vmalloc(request.bytes + 1);
	if (!buf)
		return -ENOMEM;
	read_generator(&replay->generator, replay->concurrent, buf, request.bytes);
	if (copy_to_user(u64_to_user_ptr(request.destination), buf,
			 request.bytes))
		error = -EFAULT;
	vfree(buf);
	return error;
}

static long replay_state(struct replay *replay,
			 struct wellspring_replay_state __user *argument)
{
	struct wellspring_replay_state answer = {
		.reseeds = replay->accumulator.reseeds,
		.first_pool_bytes = replay->accumulator.pools[0].bytes,
	};

	memcpy(answer.key, replay->generator.key, sizeof(answer.key));
	store_counter(&replay->generator.counter, answer.counter);
	return copy_to_user(argument, &answer, sizeof(answer)) ? -EFAULT : 0;
}

static long replay_dispatch(struct replay *replay, unsigned int command,
			    void __user *argument)
{
	switch (command) {
	case WELLSPRING_REPLAY_EVENT:
		return replay_absorb(replay, argument);
	case WELLSPRING_REPLAY_RESEED:
		return replay_reseed(replay);
	case WELLSPRING_REPLAY_READ:
		return replay_read(replay, argument);
	case WELLSPRING_REPLAY_STATE:
		return replay_state(replay, argument);
	default:
		return -ENOTTY;
	}
}

long replay_ioctl(struct replay *replay, unsigned int command,
		  void __user *argument)
{
	enum ws_cipher cipher = replay->generator.cipher;
	enum ws_backend before;
	long error;

	error = mutex_lock_interruptible(&replay_lock);
	if (error)
		return error;
	if (command == WELLSPRING_REPLAY_BEGIN) {
		error = replay_begin(replay, argument);
	} else if (!replay->begun) {
		error = -EINVAL;
	} else {
		before = ws_use_backend(cipher, replay->backend);
		error = replay_dispatch(replay, command, argument);
		ws_use_backend(cipher, before);
	}
	mutex_unlock(&replay_lock);
	return error;
}
