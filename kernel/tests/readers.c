// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Many readers against the harvest thread, in each mode: who got how much, and
 * whether reseeds went on meanwhile.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/slab.h>

#include "test.h"
#include "workers.h"

#define READERS_PER_CPU 4
#define TIME_MS 1500
/* Reseeds are due every 100 ms; half of them is progress on a machine this busy. */
#define LEAST_ROUNDS (TIME_MS / 100 / 2)

struct crowd {
	enum ws_mode mode;
	u64 *reads;
	u32 errors;
};

static void read_on(struct worker *worker)
{
	struct crowd *crowd = worker->argument;
	u8 bytes[64];
	unsigned int again;

	for (again = 0; again < 16; again++) {
		if (ws_read(crowd->mode, bytes, sizeof(bytes)))
			WRITE_ONCE(crowd->errors, 1);
		crowd->reads[worker->number]++;
	}
}

static u64 lock_waits(u64 *wait_ns)
{
	struct ws_node_statistics node;
	unsigned int number;
	u64 contended = 0;

	*wait_ns = 0;
	for (number = 0; number < ws_node_numbers(); number++) {
		if (!ws_node_statistics(number, &node))
			continue;
		contended += node.contended;
		*wait_ns += node.lock_wait_ns;
	}
	return contended;
}

static int run(struct report *report, enum ws_mode mode)
{
	unsigned int count = READERS_PER_CPU * num_online_cpus(), index;
	struct ws_harvest_statistics before, after;
	u64 least = U64_MAX, most = 0, total = 0, waits, wait_ns, old_ns;
	struct crowd crowd = { .mode = mode };
	int error;

	crowd.reads = kcalloc(READERS_PER_CPU * num_possible_cpus(),
			      sizeof(u64), GFP_KERNEL);
	if (!crowd.reads)
		return failed(report, "no memory");
	ws_harvest_statistics(&before);
	waits = lock_waits(&old_ns);
	error = workers_run(READERS_PER_CPU, read_on, &crowd, TIME_MS);
	ws_harvest_statistics(&after);
	waits = lock_waits(&wait_ns) - waits;
	for (index = 0; index < count; index++) {
		least = min(least, crowd.reads[index]);
		most = max(most, crowd.reads[index]);
		total += crowd.reads[index];
	}
	kfree(crowd.reads);
	if (error || crowd.errors)
		return failed(report, "error %d in a read", error);
	if (!least)
		return failed(report, "a reader got nothing");
	if (after.rounds - before.rounds < LEAST_ROUNDS)
		return failed(report, "the harvest made %llu rounds in %u ms",
			      after.rounds - before.rounds, TIME_MS);
	if (after.reseeds == before.reseeds)
		return failed(report, "no reseed in %u ms of reads", TIME_MS);
	return passed(report,
		      "%u readers, %llu reads, least/most %llu%%; %llu waits of %llu us; harvest %llu rounds, %llu reseeds, %llu given up",
		      count, total, least * 100 / most, waits,
		      (wait_ns - old_ns) / 1000, after.rounds - before.rounds,
		      after.reseeds - before.reseeds,
		      after.given_up - before.given_up);
}

static int canonical(struct report *report)
{
	return run(report, WS_CANONICAL);
}

static int concurrent(struct report *report)
{
	return run(report, WS_CONCURRENT);
}

static int per_node(struct report *report)
{
	return run(report, WS_PER_NODE);
}

static int per_cpu_mode(struct report *report)
{
	return run(report, WS_PER_CPU);
}

const struct test readers_tests[] = {
	{ "readers/canonical", canonical },
	{ "readers/concurrent", concurrent },
	{ "readers/per-node", per_node },
	{ "readers/per-cpu", per_cpu_mode },
	{}
};
