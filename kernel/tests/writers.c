// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Floods of writers, and credit of operators.
 */
#include <linux/delay.h>
#include <linux/slab.h>

#include "../mix.h"
#include "test.h"
#include "workers.h"

#define WRITERS_PER_CPU 4
#define ROUNDS 20
/* A round comes every 100 ms; this only ends a test that is stuck. */
#define DEADLINE_MS 120000

static void write_event(struct worker *worker)
{
	ws_mix(worker->argument, 32);
}

/* Writers on all CPUs do not keep the collector from its work. */
static int writers_flood(struct report *report)
{
	struct ws_collector_statistics before, after;
	struct workers workers;
	unsigned int waited_ms;
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
	ws_collector_statistics(&before);
	for (waited_ms = 0; waited_ms < DEADLINE_MS; waited_ms += 50) {
		msleep(50);
		ws_collector_statistics(&after);
		if (after.rounds - before.rounds >= ROUNDS)
			break;
	}
	workers_stop(&workers);
	kfree(page);
	if (after.rounds - before.rounds < ROUNDS)
		return failed(report, "%llu rounds in %u ms",
			      after.rounds - before.rounds, DEADLINE_MS);
	/* Each round gives pool 0 the 64 bytes that make a reseed due. */
	if (after.reseeds - before.reseeds < ROUNDS / 3)
		return failed(report, "%llu reseeds in %llu rounds",
			      after.reseeds - before.reseeds,
			      after.rounds - before.rounds);
	return passed(report, "%u writers, %llu rounds, %llu reseeds",
		      workers.count, after.rounds - before.rounds,
		      after.reseeds - before.reseeds);
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

const struct test writers_tests[] = {
	{ "writers/flood", writers_flood },
	{ "writers/credit", writers_credit },
	{}
};
