// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Many readers and the collector, in each mode: how much each reader got, and whether
 * reseeds went on.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/slab.h>

#include "test.h"
#include "workers.h"

#define READERS_PER_CPU 4
#define TIME_MS 1500
/* Rounds come every 100 ms; half of them is enough on a machine this busy. */
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
	for (number = 0; number < ws_nodes_count(); number++) {
		if (!ws_nodes_statistics(number, &node))
			continue;
		contended += node.contended;
		*wait_ns += node.lock_wait_ns;
	}
	return contended;
}

static int run_readers(struct report *report, enum ws_mode mode)
{
	unsigned int count = READERS_PER_CPU * num_online_cpus(), index;
	struct ws_collector_statistics before, after;
	u64 least = U64_MAX, most = 0, total = 0, waits, wait_ns, old_ns;
	struct crowd crowd = { .mode = mode };
	int error;

	crowd.reads = kcalloc(READERS_PER_CPU * num_possible_cpus(),
			      sizeof(u64), GFP_KERNEL);
	if (!crowd.reads)
		return failed(report, "no memory");
	ws_collector_statistics(&before);
	waits = lock_waits(&old_ns);
	error = workers_run(READERS_PER_CPU, read_on, &crowd, TIME_MS);
	ws_collector_statistics(&after);
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
		return failed(report, "the collector made %llu rounds in %u ms",
			      after.rounds - before.rounds, TIME_MS);
	if (after.reseeds == before.reseeds)
		return failed(report, "no reseed in %u ms of reads", TIME_MS);
	return passed(report,
		      "%u readers, %llu reads, least/most %llu%%; %llu waits of %llu us; %llu rounds of the collector, %llu reseeds",
		      count, total, least * 100 / most, waits,
		      (wait_ns - old_ns) / 1000, after.rounds - before.rounds,
		      after.reseeds - before.reseeds);
}

static int readers_canonical(struct report *report)
{
	return run_readers(report, WS_CANONICAL);
}

static int readers_concurrent(struct report *report)
{
	return run_readers(report, WS_CONCURRENT);
}

static int readers_per_node(struct report *report)
{
	return run_readers(report, WS_PER_NODE);
}

static int readers_per_cpu(struct report *report)
{
	return run_readers(report, WS_PER_CPU);
}

const struct test readers_tests[] = {
	{ "readers/canonical", readers_canonical },
	{ "readers/concurrent", readers_concurrent },
	{ "readers/per-node", readers_per_node },
	{ "readers/per-cpu", readers_per_cpu },
	{}
};
