// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The tests as KUnit suites: one for each group, with a case for each test. KUnit runs them when
 * this module has been loaded, or at boot where it is built in. Debian's kernels have no
 * KUnit, so the tests do not call it: there kernel-test runs them by name.
 */
#include <kunit/test.h>
#if __has_include(<kunit/run-in-irq-context.h>)
#include <kunit/run-in-irq-context.h>
#define HAS_IRQ_TEST
#endif
#include <linux/slab.h>

#include "test.h"

static void run_case(struct kunit *test)
{
	struct report *report = kunit_kzalloc(test, sizeof(*report), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, report);
	switch (run_by_name(test->name, report)) {
	case WELLSPRING_TEST_OK:
		kunit_info(test, "%s", report->text);
		break;
	case WELLSPRING_TEST_SKIPPED:
		kunit_skip(test, "%s", report->text);
		break;
	default:
		KUNIT_FAIL(test, "%s", report->text);
	}
}

#define SUITE(group)							\
static struct kunit_suite group##_suite = { .name = "wellspring-" #group };
EACH_GROUP(SUITE)

#define SUITE_AND_TESTS(group) { &group##_suite, group##_tests },
static const struct {
	struct kunit_suite *suite;
	const struct test *tests;
} groups[] = { EACH_GROUP(SUITE_AND_TESTS) };

/*
 * The cases of all groups, with an empty one after each. KUnit needs them until
 * this module is gone.
 */
static struct kunit_case cases[128];

int kunit_init(void)
{
	struct kunit_case *next = cases;
	const struct test *test;
	unsigned int group;

	for (group = 0; group < ARRAY_SIZE(groups); group++) {
		groups[group].suite->test_cases = next;
		for (test = groups[group].tests; test->name; test++) {
			if (next + 1 >= cases + ARRAY_SIZE(cases))
				return -E2BIG;
			next->run_case = run_case;
			next->name = test->name;
			next->module_name = KBUILD_MODNAME;
			next++;
		}
		next++;
	}
	return 0;
}

#ifdef HAS_IRQ_TEST
#define STREAM_BYTES 1500

static const u8 stream_key[WS_KEY_BYTES] = { 1, 2, 3 };
static const struct ws_counter stream_start = { U64_MAX - 20, 7 };

struct streams {
	enum ws_cipher cipher;
	u8 expected[STREAM_BYTES];
	/* The contexts run at the same time. */
	u8 made[WS_CONTEXTS][STREAM_BYTES];
};

static void make_stream(enum ws_cipher cipher, enum ws_backend backend, u8 *buf)
{
	struct ws_keystream keystream;

	ws_keystream_init(&keystream, cipher, stream_key, &stream_start);
	keystream.backend = backend;
	ws_keystream_fill(&keystream, buf, STREAM_BYTES);
	ws_keystream_wipe(&keystream);
}

static bool stream_is_right(void *argument)
{
	struct streams *streams = argument;
	u8 *made = streams->made[ws_context()];

	make_stream(streams->cipher, ws_best_backend(streams->cipher), made);
	return !memcmp(made, streams->expected, STREAM_BYTES);
}

/* Where an interrupt comes in a section the scalar backend makes the same bytes. */
static void check_streams(struct kunit *test, enum ws_cipher cipher)
{
	struct streams *streams = kunit_kzalloc(test, sizeof(*streams), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, streams);
	streams->cipher = cipher;
	make_stream(cipher, WS_SCALAR, streams->expected);
	kunit_run_irq_test(test, stream_is_right, 100000, streams);
}

static void aes256_is_the_same_in_every_context(struct kunit *test)
{
	check_streams(test, WS_AES256);
}

static void chacha20_is_the_same_in_every_context(struct kunit *test)
{
	check_streams(test, WS_CHACHA20);
}

static bool read_succeeds(void *unused)
{
	u8 bytes[2][64] = {};
	bool is_read = !wellspring_get_bytes(bytes[0], sizeof(bytes[0]));

	wellspring_get_pseudo_bytes(bytes[1], sizeof(bytes[1]));
	return is_read && memchr_inv(bytes[0], 0, sizeof(bytes[0])) &&
	       memchr_inv(bytes[1], 0, sizeof(bytes[1]));
}

static void reads_succeed_in_every_context(struct kunit *test)
{
	kunit_run_irq_test(test, read_succeeds, 100000, NULL);
}

static struct kunit_case contexts_cases[] = {
	KUNIT_CASE(aes256_is_the_same_in_every_context),
	KUNIT_CASE(chacha20_is_the_same_in_every_context),
	KUNIT_CASE(reads_succeed_in_every_context),
	{}
};

static struct kunit_suite contexts_suite = {
	.name = "wellspring-contexts",
	.test_cases = contexts_cases,
};
kunit_test_suite(contexts_suite);
#endif

#define SUITE_POINTER(group) &group##_suite,
kunit_test_suites(EACH_GROUP(SUITE_POINTER));
