// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Many readers and the harvester, in each mode: which locks the reads took, and whether
 * reseeds went on. How fair the kernel's spinlock is cannot be judged in an emulator with
 * more CPUs than the host, so the shares of the readers are printed and not judged.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/slab.h>

#include "test.h"
#include "workers.h"

#define READERS_PER_CPU 4
#define TIME_MS 1500
/* Rounds come every 100 ms; on a busy host the readers wait for the last of them. */
#define LEAST_ROUNDS 8

/* The counts of the nodes and taps. */
struct counts {
	u64 reservations[WS_MAX_NODES];
	u64 all_reservations;
	u64 waits;
	u64 wait_ns;
	u64 deeper;
	u64 generation;
	struct ws_harvester_statistics harvester;
};

struct crowd {
	enum ws_mode mode;
	u64 *reads;
	u32 errors;
	const struct counts *before;
};

static void read_on(struct worker *worker)
{
	struct crowd *crowd = worker->argument;
	u8 bytes[64];
	unsigned int again;

	for (again = 0; again < 16; again++) {
		if (ws_read_sleeping(crowd->mode, bytes, sizeof(bytes)))
			WRITE_ONCE(crowd->errors, 1);
		crowd->reads[worker->number]++;
		/* A lock that 8 emulated CPUs share may take each read 0.1 s. */
		give_way();
	}
}

/* The harvester made rounds, and reseeded, in spite of the readers. */
static bool harvester_goes_on(void *argument)
{
	const struct crowd *crowd = argument;
	const struct ws_harvester_statistics *before = &crowd->before->harvester;
	struct ws_harvester_statistics now;

	ws_harvester_statistics(&now);
	return now.rounds - before->rounds >= LEAST_ROUNDS &&
	       now.reseeds != before->reseeds;
}

static void take_counts(struct counts *counts)
{
	struct ws_node_statistics node;
	struct ws_tap_statistics tap;
	enum ws_context context;
	unsigned int number;
	int cpu;

	memset(counts, 0, sizeof(*counts));
	ws_harvester_statistics(&counts->harvester);
	counts->generation = ws_generation();
	for (number = 0; number < ws_nodes_count(); number++) {
		if (!ws_nodes_statistics(number, &node))
			continue;
		counts->reservations[number] = node.reservations;
		counts->all_reservations += node.reservations;
		counts->waits += node.contended;
		counts->wait_ns += node.lock_wait_ns;
	}
	for_each_possible_cpu(cpu) {
		for (context = 0; context < WS_CONTEXTS; context++) {
			ws_tap_statistics(cpu, context, &tap);
			counts->deeper += tap.deeper;
		}
	}
}

/* Where each mode has to take a lock, and how often: NULL if it is as it should be. */
static const char *locks_are_wrong(enum ws_mode mode, u64 total,
				   const struct counts *before,
				   const struct counts *after)
{
	u64 taken = after->all_reservations - before->all_reservations;
	u64 of_root = after->reservations[0] - before->reservations[0];
	unsigned int number;
	u64 most;

	switch (mode) {
	case WS_CANONICAL:
	case WS_CONCURRENT:
		return of_root < total ? "not all reads were on node 0" : NULL;
	case WS_PER_NODE:
		for (number = 0; number < ws_nodes_count(); number++)
			if (after->reservations[number] ==
			    before->reservations[number])
				return "a node had no reader";
		return taken < total ? "reads without a node" : NULL;
	default:
		/*
		 * Each tap fetches once per generation, and once more if
		 * a bump hits a fetch.
		 */
		most = (after->generation - before->generation + 2) * WS_CONTEXTS *
			       num_possible_cpus() +
		       after->deeper - before->deeper;
		return taken > most ? "taps took locks for reads" : NULL;
	}
}

static int run_readers(struct report *report, enum ws_mode mode)
{
	unsigned int count = READERS_PER_CPU * num_online_cpus(), index;
	struct counts *before, *after;
	struct crowd crowd = { .mode = mode };
	u64 least = U64_MAX, most = 0, total = 0;
	const char *wrong;
	int verdict, error;

	crowd.reads = kcalloc(READERS_PER_CPU * num_possible_cpus(),
			      sizeof(u64), GFP_KERNEL);
	before = kcalloc(2, sizeof(*before), GFP_KERNEL);
	if (!crowd.reads || !before) {
		kfree(crowd.reads);
		kfree(before);
		return failed(report, "no memory");
	}
	after = before + 1;
	take_counts(before);
	crowd.before = before;
	error = workers_run(READERS_PER_CPU, read_on, &crowd, TIME_MS,
			    harvester_goes_on);
	take_counts(after);
	for (index = 0; index < count; index++) {
		least = min(least, crowd.reads[index]);
		most = max(most, crowd.reads[index]);
		total += crowd.reads[index];
	}
	wrong = locks_are_wrong(mode, total, before, after);
	if (error == -ETIMEDOUT)
		verdict = failed(report, "in minutes: least reads %llu, %llu rounds, %llu reseeds",
				 least,
				 after->harvester.rounds - before->harvester.rounds,
				 after->harvester.reseeds -
					 before->harvester.reseeds);
	else if (error || crowd.errors)
		verdict = failed(report, "error %d in a read", error);
	else if (wrong)
		verdict = failed(report, "%s: %llu reads", wrong, total);
	else
		verdict = passed(report,
				 "%u readers, %llu reads, least/most %llu%%; "
				 "%llu locks taken, %llu waits of %llu us; "
				 "%llu rounds of the harvester, %llu reseeds",
				 count, total, least * 100 / most,
				 after->all_reservations - before->all_reservations,
				 after->waits - before->waits,
				 (after->wait_ns - before->wait_ns) / 1000,
				 after->harvester.rounds - before->harvester.rounds,
				 after->harvester.reseeds -
					 before->harvester.reseeds);
	kfree(before);
	kfree(crowd.reads);
	return verdict;
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
