// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * How seeds are shared among the nodes, seen from outside: nodes with less than 75 % of
 * the credit come first, otherwise it is a round robin.
 */
#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/nodemask.h>
#include <linux/random.h>
#include <linux/topology.h>

#include "test.h"

#define DRAINED 1	/* the node whose credit is used up */

/* A read makes a node take its posted seed, and only then is the seed counted. */
static void receive_all(void)
{
	unsigned int number;
	u8 byte;

	for (number = 0; number < ws_nodes_count(); number++)
		ws_nodes_save(number, &byte, 1);
}

static int fill_all(void)
{
	u8 seed[32];
	unsigned int number, again;

	for (number = 0; number < ws_nodes_count(); number++) {
		for (again = 0; again < WS_CAPACITY_BITS / 256; again++) {
			get_random_bytes(seed, sizeof(seed));
			if (ws_nodes_restore(number, seed, sizeof(seed), 256))
				return -ENODATA;
		}
	}
	return 0;
}

static void drain_node(unsigned int number)
{
	unsigned int again;
	u8 bytes[32];

	for (again = 0; again < WS_CAPACITY_BITS / 256 + 1; again++)
		ws_nodes_save(number, bytes, sizeof(bytes));
}

static u64 reseeds_of(unsigned int number)
{
	struct ws_node_statistics node = {};

	ws_nodes_statistics(number, &node);
	return node.reseeds;
}

static u32 credit_of(unsigned int number)
{
	struct ws_node_statistics node = {};

	ws_nodes_statistics(number, &node);
	return node.credit_bits;
}

/* Seeds received by nodes that are neither the root nor @except. */
static u64 reseeds_of_others(unsigned int except)
{
	unsigned int number;
	u64 sum = 0;

	for (number = 1; number < ws_nodes_count(); number++)
		if (number != except)
			sum += reseeds_of(number);
	return sum;
}

enum outcome { SERVED, OTHER_SERVED, NOT_SERVED };

/* Starves one node, and counts the seeds it gets until it has 75 % of its credit. */
static enum outcome serve_low_credit(unsigned int *served)
{
	u64 others;
	unsigned int round;

	*served = 0;
	drain_node(DRAINED);
	receive_all();
	others = reseeds_of_others(DRAINED);
	for (round = 0; round < 16; round++) {
		if (credit_of(DRAINED) >= WS_SERVED_FIRST_BELOW_BITS)
			return *served ? SERVED : NOT_SERVED;
		ws_reseed();
		receive_all();
		++*served;
		if (reseeds_of_others(DRAINED) > others)
			return OTHER_SERVED;
	}
	return NOT_SERVED;
}

static int distribution_low_credit_first(struct report *report)
{
	enum outcome outcome;
	unsigned int served;
	bool filled;

	if (ws_nodes_count() < 3)
		return skipped(report, "this machine has %u nodes",
			       ws_nodes_count());
	/* All seeds come by order: the collector's own would come in between. */
	ws_collector_park(true);
	filled = fill_all() == 0;
	receive_all();
	outcome = serve_low_credit(&served);
	ws_collector_park(false);
	if (!filled)
		return failed(report, "a node is missing");
	switch (outcome) {
	case SERVED:
		return passed(report, "%u seeds until its credit was %u bits",
			      served, credit_of(DRAINED));
	case OTHER_SERVED:
		return failed(report, "another node was served after %u seeds",
			      served);
	default:
		return failed(report, "the node with low credit was not served");
	}
}

static int distribution_round_robin(struct report *report)
{
	unsigned int numbers = ws_nodes_count(), number, round;
	u64 before[WS_MAX_NODES], least = U64_MAX, most = 0;

	if (numbers < 3)
		return skipped(report, "this machine has %u nodes", numbers);
	ws_collector_park(true);
	if (fill_all()) {
		ws_collector_park(false);
		return failed(report, "a node is missing");
	}
	receive_all();
	for (number = 1; number < numbers; number++)
		before[number] = reseeds_of(number);
	for (round = 0; round < 4 * (numbers - 1); round++) {
		ws_reseed();
		receive_all();
	}
	ws_collector_park(false);
	for (number = 1; number < numbers; number++) {
		least = min(least, reseeds_of(number) - before[number]);
		most = max(most, reseeds_of(number) - before[number]);
	}
	/* Each reseed is one turn. */
	if (!least || most != least)
		return failed(report, "%llu to %llu seeds in %u rounds", least,
			      most, round);
	return passed(report, "%llu to %llu seeds each in %u rounds", least, most,
		      round);
}

/* Whether the kernel gets a page there. */
static bool has_page(int numa_node)
{
	const gfp_t flags = GFP_KERNEL | __GFP_THISNODE | __GFP_NOWARN;
	struct page *page = alloc_pages_node(numa_node, flags, 0);

	if (page)
		__free_page(page);
	return page;
}

/* The NUMA nodes that have memory and CPUs. */
static unsigned int whole_numa_nodes(void)
{
	unsigned int count = 0;
	int numa_node;

	for_each_online_node(numa_node)
		count += !cpumask_empty(cpumask_of_node(numa_node)) && has_page(numa_node);
	return count;
}

/* Every NUMA node with memory and CPUs has a node in its memory, and no other has. */
static int nodes_placed(struct report *report)
{
	nodemask_t seen = NODE_MASK_NONE;
	unsigned int number, count = 0;
	struct ws_node_statistics node;

	for (number = 0; number < ws_nodes_count(); number++) {
		if (!ws_nodes_statistics(number, &node))
			continue;
		if (node.memory_node != node.numa_node)
			return failed(report, "node %u of NUMA node %d is in %d",
				      number, node.numa_node, node.memory_node);
		if (node_test_and_set(node.memory_node, seen))
			return failed(report, "NUMA node %d has two nodes",
				      node.memory_node);
		count++;
	}
	if (count != max(whole_numa_nodes(), 1u))
		return failed(report, "%u nodes for %u NUMA nodes", count,
			      whole_numa_nodes());
	return passed(report, "%u nodes, each in its own memory", count);
}

/* No two nodes make the same bytes. */
static int nodes_distinct(struct report *report)
{
	struct collector collector;
	unsigned int number, offset, count = 0;
	u8 bytes[256];
	long repeats;

	if (collector_init(&collector, WS_MAX_NODES * 16))
		return failed(report, "no memory");
	for (number = 0; number < ws_nodes_count(); number++) {
		if (ws_nodes_save(number, bytes, sizeof(bytes)))
			continue;
		count++;
		for (offset = 0; offset < sizeof(bytes); offset += 16)
			collector_add(&collector, bytes + offset);
	}
	repeats = collectors_repeats(&collector, 1);
	collector_exit(&collector);
	if (repeats)
		return failed(report, "%ld values came twice", repeats);
	return passed(report, "%u nodes", count);
}

/* Save and restore work for all nodes, and not past the last. */
static int nodes_seeds(struct report *report)
{
	u8 seed[32], again[32];
	unsigned int number;
	int error;

	for (number = 0; number < ws_nodes_count(); number++) {
		error = ws_nodes_save(number, seed, sizeof(seed));
		if (error == -ENODATA)
			continue;
		if (!error)
			error = ws_nodes_restore(number, seed, sizeof(seed), 0);
		if (!error)
			error = ws_nodes_save(number, again, sizeof(again));
		if (error)
			return failed(report, "node %u: error %d", number, error);
		if (!memcmp(seed, again, sizeof(seed)))
			return failed(report, "node %u gives its seed twice",
				      number);
	}
	if (ws_nodes_save(number, seed, sizeof(seed)) != -ENXIO ||
	    ws_nodes_restore(number, seed, sizeof(seed), 0) != -ENXIO)
		return failed(report, "there is a node past the last");
	return passed(report, "%u nodes", number);
}

const struct test distribution_tests[] = {
	{ "nodes/placed", nodes_placed },
	{ "nodes/distinct", nodes_distinct },
	{ "nodes/seeds", nodes_seeds },
	{ "distribution/low-credit-first", distribution_low_credit_first },
	{ "distribution/round-robin", distribution_round_robin },
	{}
};
