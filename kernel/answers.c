// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Known answers: a build with a wrong answer does not load.
 *
 * Keystreams are checked with every backend that this CPU has, around every carry of
 * the counter. Fortuna is checked as a whole, from events to output, with the best
 * backend; the answers are FreeBSD's. The tables are made from the files in vectors/,
 * which the crates read too.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "internal.h"

/* SHA-256 of the first STREAM_BYTES under the key 00 01 .. 1f, from a counter on. */
struct stream_answer {
	enum ws_cipher cipher;
	struct ws_counter counter;
	const char *digest;
};

/*
 * The vector "min-seed": the key after the reads of read_lengths, and SHA-256 of all
 * their bytes.
 */
struct fortuna_answer {
	enum ws_cipher cipher;
	bool concurrent;
	const char *key;
	const char *digest;
};

struct fortuna_event {
	u32 counter;
	u8 bytes;
	u8 data[8];
};

/* The table: made by vectors/make-kernel-answers.py. Change that, not this. */

#define STREAM_BYTES 5000
#define PSEUDO_SEED 1234567

static const struct stream_answer stream_answers[] = {
	{ WS_AES256, { 0x1, 0x0 },
	  "200fd7ebffeaba374db248c881a94e8bc3edccd9f58f542e85f17893ad59a2e4" },
	{ WS_AES256, { 0xffffffec, 0x0 },
	  "c6602af2a38e604120d07754c5e4db1e3449078ad5e6cd7d5569d0c1f8f10141" },
	{ WS_AES256, { 0xffffffffffffffec, 0x0 },
	  "b3cf6c009fbeaf0460ba4319abfc9ad05b0983785047777784706e0b1615f4f1" },
	{ WS_AES256, { 0xffffffffffffffec, 0xffffffffffffffff },
	  "534964e9e562b27df0d044b062707d01ae8acad97941a06e7c1c758607d4d2ec" },
	{ WS_CHACHA20, { 0x1, 0x0 },
	  "179af7f3ac40e994584f516a388f6aae93cf60f74a50dc302f3d87ed49d9d90a" },
	{ WS_CHACHA20, { 0xffffffec, 0x0 },
	  "710166bdf8e19bbe8b75e2bf77bd271f61ee57354514a3249865bf379d027fb3" },
	{ WS_CHACHA20, { 0xffffffffffffffec, 0x0 },
	  "45e581540371cf4ed19bd624587eac408832823ff39668b3a82e7b2ba89f3f2d" },
	{ WS_CHACHA20, { 0xffffffffffffffec, 0xffffffffffffffff },
	  "b63f46794dd892d0df543ffd0634d925a141582c027cb019c751f165ba8adea3" },
};

static const struct fortuna_answer fortuna_answers[] = {
	{ WS_CHACHA20, false,
	  "f1359ce6a6fe4488b632a9043dee9ac34de38c6d021daaa3340e0ea12adfa429",
	  "af7f0b9b08477cfd780efce5382aa1a2445c5b56926eeb60797443661fdace11" },
	{ WS_CHACHA20, true,
	  "f1359ce6a6fe4488b632a9043dee9ac34de38c6d021daaa3340e0ea12adfa429",
	  "af7f0b9b08477cfd780efce5382aa1a2445c5b56926eeb60797443661fdace11" },
	{ WS_AES256, false,
	  "290adf8e8b7544d94252957eefac30466ad10c45d0b324d477ad25a8e897802d",
	  "fd79a7abb383b03a8b10141ea1439a0ee950482c9ef6507a3c7a65bd6e1a2489" },
	{ WS_AES256, true,
	  "8cb2d78460fd2f87128c68f74f5f0da8e1498fdb56a7cf198b0fad3359f33215",
	  "e356fe611cf233ebf46364394578108cc706029ee99edfb9d8f3a10ad9aa5165" },
};

static const struct fortuna_event events[] = {
	{ 0x811c9dc5, 8, { 0x37, 0xd4, 0x71, 0x0e, 0xab, 0x48, 0xe5, 0x82 } },
	{ 0x821c9f58, 8, { 0x1f, 0xbc, 0x59, 0xf6, 0x93, 0x30, 0xcd, 0x6a } },
	{ 0x831ca0eb, 8, { 0x07, 0xa4, 0x41, 0xde, 0x7b, 0x18, 0xb5, 0x52 } },
	{ 0x841ca27e, 8, { 0xef, 0x8c, 0x29, 0xc6, 0x63, 0x00, 0x9d, 0x3a } },
	{ 0x851ca411, 8, { 0xd7, 0x74, 0x11, 0xae, 0x4b, 0xe8, 0x85, 0x22 } },
	{ 0x861ca5a4, 0, { } },
};

static const u16 read_lengths[] = {
	1, 0, 15, 16, 17, 31, 32, 33, 63, 64, 65, 95, 96, 100, 127, 128, 129
};

static const u64 pseudo_numbers[] = {
	0x599ed017fb08fc85,
	0x2c73f08458540fa5,
	0x883ebce5a3f27c77,
	0x3fbef740e9177b3f,
	0xe3b8346708cb5ecd,
	0x6c4f7dbc989944f6,
	0x9734aed70f5d5e85,
	0x46793dd6f7df31b1,
};

/* The end of the table. */

/* All memory of the checks: too much for the stack. */
struct scratch {
	u8 bytes[STREAM_BYTES];
	struct ws_accumulator accumulator;
	struct ws_seed seed;
	struct ws_keystream keystream;
	struct ws_generator generator;
};

static bool is_hex(const u8 *bytes, const char *expected)
{
	char hex[2 * SHA256_DIGEST_SIZE + 1];

	snprintf(hex, sizeof(hex), "%*phN", SHA256_DIGEST_SIZE, bytes);
	return !strcmp(hex, expected);
}

static bool has_digest(const u8 *buf, size_t len, const char *expected)
{
	u8 digest[SHA256_DIGEST_SIZE];

	sha256(buf, len, digest);
	return is_hex(digest, expected);
}

static bool stream_is_right(struct scratch *scratch, enum ws_backend backend,
			    const struct stream_answer *answer)
{
	struct ws_keystream *keystream = &scratch->keystream;
	u8 key[WS_KEY_BYTES];
	unsigned int i;

	for (i = 0; i < sizeof(key); i++)
		key[i] = i;
	ws_keystream_init(keystream, answer->cipher, key, &answer->counter);
	keystream->backend = backend;
	ws_keystream_fill(keystream, scratch->bytes, STREAM_BYTES);
	return has_digest(scratch->bytes, STREAM_BYTES, answer->digest);
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
	} while (len);
}

static bool fortuna_is_right(struct scratch *scratch,
			     const struct fortuna_answer *answer)
{
	struct ws_generator *generator = &scratch->generator;
	struct ws_simd simd;
	size_t done = 0;
	unsigned int i;

	ws_accumulator_init(&scratch->accumulator);
	ws_simd_guard(&simd);
	for (i = 0; i < ARRAY_SIZE(events); i++) {
		struct ws_event event = {
			.counter = events[i].counter,
			.bytes = events[i].bytes,
		};

		memcpy(event.data, events[i].data, events[i].bytes);
		ws_accumulator_absorb(&scratch->accumulator, &event, 0);
	}
	ws_simd_unguard(&simd);
	if (!ws_accumulator_take_seed(&scratch->accumulator, 0, false,
				      &scratch->seed))
		return false;
	ws_generator_init(generator, answer->cipher);
	ws_generator_reseed(generator, scratch->seed.data, scratch->seed.bytes);
	for (i = 0; i < ARRAY_SIZE(read_lengths); i++) {
		read_generator(generator, answer->concurrent,
			       scratch->bytes + done, read_lengths[i]);
		done += read_lengths[i];
	}
	return is_hex(generator->key, answer->key) &&
	       has_digest(scratch->bytes, done, answer->digest);
}

static bool pseudo_is_right(void)
{
	u64 sum = PSEUDO_SEED;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pseudo_numbers); i++) {
		sum += WELLSPRING_PSEUDO_STEP;
		if (wellspring_pseudo_number(sum) != pseudo_numbers[i])
			return false;
	}
	return true;
}

static bool all_are_right(struct scratch *scratch)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(stream_answers); i++) {
		enum ws_cipher cipher = stream_answers[i].cipher;
		enum ws_backend backend;

		for (backend = WS_SCALAR; backend <= ws_best_backend(cipher);
		     backend++)
			if (!stream_is_right(scratch, backend, &stream_answers[i])) {
				pr_err("wrong keystream: %s (%s), number %u\n",
				       ws_cipher_name(cipher),
				       ws_backend_name(cipher, backend), i);
				return false;
			}
	}
	for (i = 0; i < ARRAY_SIZE(fortuna_answers); i++)
		if (!fortuna_is_right(scratch, &fortuna_answers[i])) {
			pr_err("wrong Fortuna: number %u\n", i);
			return false;
		}
	if (!pseudo_is_right()) {
		pr_err("wrong pseudo bytes\n");
		return false;
	}
	return true;
}

int ws_answers_check(void)
{
	struct scratch *scratch = ws_alloc(sizeof(*scratch));
	bool right;

	if (!scratch)
		return -ENOMEM;
	right = all_are_right(scratch);
	ws_free(scratch, sizeof(*scratch));
	return right ? 0 : -EBADMSG;
}
