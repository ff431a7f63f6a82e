// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * How seeds are shared out among the nodes of this machine, seen from outside: whose
 * credit is below 75 % is served first, and round robin otherwise.
 */
#include <linux/delay.h>
#include <linux/random.h>

#include "test.h"

#define DRAINED 1	/* the node that is made hungry */

/* Has every node take what was posted: a seed counts when it is received. */
static void receive_all(void)
{
	unsigned int number;
	u8 byte;

	for (number = 0; number < ws_node_numbers(); number++)
		ws_node_save(number, &byte, 1);
}

static int fill_all(void)
{
	u8 seed[32];
	unsigned int number, again;

	for (number = 0; number < ws_node_numbers(); number++) {
		for (again = 0; again < WS_CAPACITY_BITS / 256; again++) {
			get_random_bytes(seed, sizeof(seed));
			if (ws_node_restore(number, seed, sizeof(seed), 256))
				return -ENODATA;
		}
	}
	return 0;
}

static void drain(unsigned int number)
{
	unsigned int again;
	u8 bytes[32];

	for (again = 0; again < WS_CAPACITY_BITS / 256 + 1; again++)
		ws_node_save(number, bytes, sizeof(bytes));
}

static u64 reseeds(unsigned int number)
{
	struct ws_node_statistics node = {};

	ws_node_statistics(number, &node);
	return node.reseeds;
}

static u32 credit(unsigned int number)
{
	struct ws_node_statistics node = {};

	ws_node_statistics(number, &node);
	return node.credit_bits;
}

/* Seeds received by nodes that are neither the root nor @except. */
static u64 reseeds_of_others(unsigned int except)
{
	unsigned int number;
	u64 sum = 0;

	for (number = 1; number < ws_node_numbers(); number++)
		if (number != except)
			sum += reseeds(number);
	return sum;
}

static int hungry_first(struct report *report)
{
	unsigned int round, served = 0;
	u64 others;

	if (ws_node_numbers() < 3)
		return skipped(report, "this machine has %u nodes",
			       ws_node_numbers());
	if (fill_all())
		return failed(report, "a node is missing");
	receive_all();
	drain(DRAINED);
	others = reseeds_of_others(DRAINED);
	/* The thread's own reseeds in between follow the same rule. */
	for (round = 0; round < 16; round++) {
		u64 before = reseeds(DRAINED);

		if (credit(DRAINED) >= WS_HUNGRY_BITS)
			break;
		ws_reseed();
		receive_all();
		served += reseeds(DRAINED) > before;
		if (credit(DRAINED) < WS_HUNGRY_BITS &&
		    reseeds_of_others(DRAINED) > others)
			return failed(report, "another node was served after %u rounds",
				      round + 1);
	}
	if (!served)
		return failed(report, "the hungry node was not served in %u rounds",
			      round);
	return passed(report, "%u seeds until its credit was %u bits", served,
		      credit(DRAINED));
}

static int round_robin(struct report *report)
{
	unsigned int numbers = ws_node_numbers(), number, round;
	u64 before[WS_MAX_NODES], least = U64_MAX, most = 0;

	if (numbers < 3)
		return skipped(report, "this machine has %u nodes", numbers);
	if (fill_all())
		return failed(report, "a node is missing");
	receive_all();
	for (number = 1; number < numbers; number++)
		before[number] = reseeds(number);
	for (round = 0; round < 4 * (numbers - 1); round++) {
		ws_reseed();
		receive_all();
	}
	for (number = 1; number < numbers; number++) {
		least = min(least, reseeds(number) - before[number]);
		most = max(most, reseeds(number) - before[number]);
	}
	/* Each reseed is one turn, those of the thread in between too. */
	if (!least || most - least > 1)
		return failed(report, "%llu to %llu seeds in %u rounds", least,
			      most, round);
	return passed(report, "%llu to %llu seeds each in %u rounds", least, most,
		      round);
}

/* Every node is in use, in its own memory, and no two give the same. */
static int nodes(struct report *report)
{
	struct ws_node_statistics node;
	unsigned int number, found = 0, away = 0;
	struct collector collector;
	u8 bytes[256];
	unsigned int offset;
	long repeats;

	if (collector_init(&collector, WS_MAX_NODES * 16))
		return failed(report, "no memory");
	for (number = 0; number < ws_node_numbers(); number++) {
		if (!ws_node_statistics(number, &node))
			continue;
		found++;
		away += node.numa_node == NUMA_NO_NODE;
		ws_node_save(number, bytes, sizeof(bytes));
		for (offset = 0; offset < sizeof(bytes); offset += 16)
			collector_add(&collector, bytes + offset);
	}
	repeats = collectors_repeats(&collector, 1);
	collector_exit(&collector);
	if (repeats)
		return failed(report, "%ld values came twice", repeats);
	if (found != num_node_state(N_MEMORY) && found != nr_online_nodes)
		return failed(report, "%u nodes on a machine with %d", found,
			      num_node_state(N_MEMORY));
	return passed(report, "%u nodes, %u of no memory of their own", found,
		      away);
}

/* Save and restore for all, none past the last. */
static int seeds(struct report *report)
{
	u8 seed[32], again[32];
	unsigned int number;
	int error;

	for (number = 0; number < ws_node_numbers(); number++) {
		error = ws_node_save(number, seed, sizeof(seed));
		if (error == -ENODATA)
			continue;
		if (!error)
			error = ws_node_restore(number, seed, sizeof(seed), 0);
		if (!error)
			error = ws_node_save(number, again, sizeof(again));
		if (error)
			return failed(report, "node %u: error %d", number, error);
		if (!memcmp(seed, again, sizeof(seed)))
			return failed(report, "node %u gives its seed twice",
				      number);
	}
	if (ws_node_save(number, seed, sizeof(seed)) != -ENXIO ||
	    ws_node_restore(number, seed, sizeof(seed), 0) != -ENXIO)
		return failed(report, "there is a node past the last");
	return passed(report, "%u nodes", number);
}

const struct test distribution_tests[] = {
	{ "nodes", nodes },
	{ "node-seeds", seeds },
	{ "distribution/hungry-first", hungry_first },
	{ "distribution/round-robin", round_robin },
	{}
};
