// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Floods of writers, and credit of operators.
 */
#include <linux/delay.h>
#include <linux/slab.h>

#include "../ioctl.h"
#include "../mix.h"
#include "test.h"
#include "workers.h"

#define WRITERS_PER_CPU 4
#define ROUNDS 20

static void write_event(struct worker *worker)
{
	ws_mix(worker->argument, 32);
}

struct flood {
	struct ws_collector_statistics before;
	struct ws_collector_statistics after;
};

static bool rounds_are_made(void *argument)
{
	struct flood *flood = argument;

	ws_collector_statistics(&flood->after);
	return flood->after.rounds - flood->before.rounds >= ROUNDS;
}

/* Writers on all CPUs do not keep the collector from its work. */
static int writers_flood(struct report *report)
{
	struct flood flood;
	struct workers workers;
	u64 rounds, reseeds;
	void *page;
	int error;

	page = kzalloc(4096, GFP_KERNEL);
	if (!page)
		return failed(report, "no memory");
	error = workers_start(&workers, WRITERS_PER_CPU, write_event, page);
	if (error) {
		kfree(page);
		return failed(report, "error %d", error);
	}
	ws_collector_statistics(&flood.before);
	wait_until(rounds_are_made, &flood);
	workers_stop(&workers);
	kfree(page);
	rounds = flood.after.rounds - flood.before.rounds;
	reseeds = flood.after.reseeds - flood.before.reseeds;
	if (rounds < ROUNDS)
		return failed(report, "%llu rounds in minutes", rounds);
	/*
	 * Two rounds at most give pool 0 the 64 bytes that make a reseed due: each has an
	 * event of the collector's own CPU, where no writer holds the lock at that time.
	 */
	if (reseeds < ROUNDS / 3)
		return failed(report, "%llu reseeds in %llu rounds", reseeds,
			      rounds);
	return passed(report, "%u writers, %llu rounds, %llu reseeds",
		      workers.count, rounds, reseeds);
}

static u64 root_credited_bits(void)
{
	struct ws_node_statistics root = {};

	ws_nodes_statistics(0, &root);
	return root.credited_bits;
}

/* When credit was given, node 0 has it before the call returns. */
static int writers_credit(struct report *report)
{
	static const u8 data[32] = "noise of an operator";
	u64 before, after;
	unsigned int round;
	int error;

	for (round = 0; round < 10; round++) {
		before = root_credited_bits();
		ws_mix(data, sizeof(data));
		error = ws_credit(256);
		after = root_credited_bits();
		if (error || after - before < 256)
			return failed(report, "error %d, %llu bits arrived", error,
				      after - before);
	}
	return passed(report, "%u times 256 bits", round);
}

/* However much data there is. The ioctl would hash it, in 14 s in an emulated machine. */
static int writers_limits(struct report *report)
{
	static const struct {
		int bits, bytes, counted;
	} cases[] = {
		{ 0, 0, 0 },
		{ 1, 0, 0 },
		{ 256, 16, 128 },
		{ 255, 32, 255 },
		{ INT_MAX, INT_MAX, 256 },
		{ 1, 1 << 28, 1 },
		{ 1, (1 << 28) + 32, 1 },
		{ 256, 1 << 29, 256 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		int counted = ws_ioctl_credit_bits(cases[i].bits, cases[i].bytes);

		if (counted != cases[i].counted)
			return failed(report, "of %d bits in %d bytes %d count", cases[i].bits,
				      cases[i].bytes, counted);
	}
	return passed(report, "%u counts", i);
}

const struct test writers_tests[] = {
	{ "writers/flood", writers_flood },
	{ "writers/credit", writers_credit },
	{ "writers/limits", writers_limits },
	{}
};
