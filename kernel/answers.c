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

#include "answers-table.h"

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
