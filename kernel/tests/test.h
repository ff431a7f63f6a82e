/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A test: a name, a function, and one line of result.
 */
#ifndef WELLSPRING_TEST_H
#define WELLSPRING_TEST_H

#include <linux/compiler.h>
#include <linux/fs.h>
#include <linux/types.h>

#include "../internal.h"
#include "uapi.h"

struct report {
	char text[WELLSPRING_TEST_REPORT_BYTES];
};

/* Each returns its verdict: a test ends with `return failed(...)`. */
__printf(2, 3) int passed(struct report *report, const char *format, ...);
__printf(2, 3) int failed(struct report *report, const char *format, ...);
__printf(2, 3) int skipped(struct report *report, const char *format, ...);

struct test {
	const char *name;
	int (*run)(struct report *report);
};

/* All groups, in the order in which they run. */
#define EACH_GROUP(do)							\
	do(answers) do(counters) do(distribution) do(sections)		\
	do(nested) do(exports) do(detour) do(readers) do(hotplug)	\
	do(writers) do(early) do(queues) do(orders) do(numbers)		\
	do(health) do(secrets) do(nmi) do(rdrand) do(registers)		\
	do(interrupts) do(ciphers)

/* Each ends with an empty entry. */
#define DECLARE_GROUP(group) extern const struct test group##_tests[];
EACH_GROUP(DECLARE_GROUP)

/* The verdict of the test of this name. One runs at a time. */
int run_by_name(const char *name, struct report *report);

/* Makes suites for KUnit of all groups (kunit.c), where the kernel has it. */
#if IS_REACHABLE(CONFIG_KUNIT)
int kunit_init(void);
#else
static inline int kunit_init(void)
{
	return 0;
}
#endif

/* Frees what these tests keep for the search. */
void secrets_exit(void);

/* The private Fortuna of an open file (replay.c). */
struct replay;
struct replay *replay_create(void);
void replay_destroy(struct replay *replay);
long replay_ioctl(struct replay *replay, unsigned int command,
		  void __user *argument);

/* Figures for a benchmark (measure.c). One at a time. */
long measure(struct wellspring_test_measure __user *argument);
/* Readers beside each other (speed.c). One at a time. */
long speed(struct wellspring_test_speed __user *argument);

/*
 * 16-byte values by the thousands, and whether one comes twice (distinct.c). Values
 * may be added from any context, each set from one at a time.
 */
struct value_set {
	u64 (*values)[2];
	u32 capacity;
	u32 count;
};

int value_set_init(struct value_set *set, u32 capacity);
void value_set_exit(struct value_set *set);
/* False when it is full. */
bool value_set_add(struct value_set *set, const void *value);
/*
 * Sorts all values of several sets together. How many came twice, or were
 * zero; a negative errno if there was no memory.
 */
long value_sets_repeats(struct value_set *sets, unsigned int count);

#endif
