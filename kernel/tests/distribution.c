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
#include "workers.h"

#define DRAINED 1	/* the node whose credit is used up */

/* Without any timing events 64 rounds of the harvester bring pool 0 its 64 bytes. */
#define MOST_ROUNDS 200
/* By then a node that is served first is full. */
#define MOST_RESEEDS 1000

/* One reseed of the harvester, which is no order. False if there was none. */
static bool reseed_once(void)
{
	struct ws_harvester_statistics before, after;
	unsigned int round;

	ws_harvester_statistics(&before);
	for (round = 0; round < MOST_ROUNDS; round++) {
		ws_harvester_round();
		ws_harvester_statistics(&after);
		if (after.reseeds != before.reseeds)
			return true;
	}
	return false;
}

static int fill_all(void)
{
	u8 seed[32];
	unsigned int number, again;

	for (number = 0; number < ws_nodes_count(); number++) {
		for (again = 0; again < WS_CAPACITY_BITS / 256; again++) {
			get_random_bytes(seed, sizeof(seed));
			if (ws_nodes_reseed(number, seed, sizeof(seed), 256))
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

/*
 * Starves one node, and counts the seeds it gets until it has 75 % of its credit, and the
 * reseeds that this takes.
 */
static const char *serve_low_credit(unsigned int *served, unsigned int *rounds)
{
	u64 before;

	drain_node(DRAINED);
	before = reseeds_of(DRAINED);
	/* Many seeds carry no credit. */
	for (*rounds = 0; *rounds < MOST_RESEEDS; ++*rounds) {
		*served = reseeds_of(DRAINED) - before;
		if (credit_of(DRAINED) >= WS_SERVED_FIRST_BELOW_BITS)
			return *served ? NULL : "it was never low on credit";
		if (!reseed_once())
			return "no reseed";
	}
	return "it was not served";
}

/* Every second seed at least goes to the node that is low on credit. */
static int distribution_low_credit_first(struct report *report)
{
	unsigned int served = 0, rounds = 0;
	const char *wrong;

	if (ws_nodes_count() < 3)
		return skipped(report, "this machine has %u nodes",
			       ws_nodes_count());
	ws_harvester_park(true);
	wrong = fill_all() ? "a node is missing" :
			     serve_low_credit(&served, &rounds);
	ws_harvester_park(false);
	if (!wrong && rounds > 2 * served)
		wrong = "others were served more often";
	if (wrong)
		return failed(report, "%s: %u seeds in %u reseeds", wrong, served,
			      rounds);
	return passed(report, "%u seeds in %u reseeds until its credit was %u bits",
		      served, rounds, credit_of(DRAINED));
}

/*
 * Each node's seeds in @rounds reseeds, while all readers are on node @busy and use up its
 * credit. No task reads elsewhere, so the harvester alone empties the mailboxes there.
 */
static bool count_turns(unsigned int busy, unsigned int rounds, u64 *least, u64 *most)
{
	u64 before[WS_MAX_NODES];
	unsigned int number, round;

	for (number = 0; number < ws_nodes_count(); number++)
		before[number] = reseeds_of(number);
	for (round = 0; round < rounds; round++) {
		drain_node(busy);
		if (!reseed_once())
			return false;
	}
	*least = U64_MAX;
	*most = 0;
	for (number = 1; number < ws_nodes_count(); number++) {
		if (number == busy)
			continue;
		*least = min(*least, reseeds_of(number) - before[number]);
		*most = max(*most, reseeds_of(number) - before[number]);
	}
	return true;
}

/* Nodes without readers get their seeds in turn, whichever node has the readers. */
static int distribution_round_robin(struct report *report)
{
	unsigned int numbers = ws_nodes_count(), busy, rounds = 8 * (numbers - 1);
	u64 least = 0, most = 0;
	bool counted = true;

	if (numbers < 3)
		return skipped(report, "this machine has %u nodes", numbers);
	ws_harvester_park(true);
	for (busy = 0; busy < numbers && counted; busy++) {
		counted = !fill_all() && count_turns(busy, rounds, &least, &most);
		/* Every second reseed is a turn, whichever node is low on credit. */
		if (least < 4 || most > least + 1)
			break;
	}
	ws_harvester_park(false);
	if (!counted)
		return failed(report, "a node is missing, or no reseed");
	if (busy < numbers)
		return failed(report, "readers on node %u: others got %llu to %llu seeds in %u reseeds",
			      busy, least, most, rounds);
	return passed(report, "%llu to %llu seeds in %u reseeds", least, most, rounds);
}

/* Readers on all CPUs of node 0, and on no other. */
static void read_there(struct worker *worker)
{
	u8 bytes[64];

	if (cpu_to_node(worker->cpu) == *(int *)worker->argument &&
	    ws_read(WS_PER_NODE, bytes, sizeof(bytes)) == 0)
		return;
	msleep(20);
}

static u64 reseeds_wanted;

static bool has_reseeded(void *unused)
{
	struct ws_harvester_statistics now;

	/* No look at the nodes: that takes their locks. */
	ws_harvester_statistics(&now);
	return now.reseeds >= reseeds_wanted;
}

/* The harvester feeds nodes without readers. */
static int distribution_idle_nodes(struct report *report)
{
	unsigned int numbers = ws_nodes_count(), number, reseeds = 7 * (numbers - 1);
	struct ws_harvester_statistics before;
	struct ws_node_statistics node = {};
	u64 seeds[WS_MAX_NODES], least = U64_MAX;
	struct workers workers;

	if (numbers < 2 || !ws_nodes_statistics(0, &node))
		return skipped(report, "this machine has %u nodes", numbers);
	for (number = 0; number < numbers; number++)
		seeds[number] = reseeds_of(number);
	ws_harvester_statistics(&before);
	reseeds_wanted = before.reseeds + reseeds;
	if (workers_start(&workers, 1, read_there, &node.numa_node))
		return failed(report, "no workers");
	if (!wait_until(has_reseeded, NULL)) {
		workers_stop(&workers);
		return failed(report, "less than %u reseeds in minutes", reseeds);
	}
	workers_stop(&workers);
	for (number = 1; number < numbers; number++)
		least = min(least, reseeds_of(number) - seeds[number]);
	/* A turn in every second reseed is 3 to each. */
	if (least < 2)
		return failed(report, "a node without readers got %llu seeds in %u reseeds",
			      least, reseeds);
	return passed(report, "%llu seeds or more to each node in %u reseeds", least,
		      reseeds);
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

/* Reservations of a node, or 0 if it is gone. */
static u64 reservations_of(unsigned int number)
{
	struct ws_node_statistics node = {};

	ws_nodes_statistics(number, &node);
	return node.reservations;
}

/* Draws on a node. The number of another node that served, or -1. */
static int draw_and_look(unsigned int number, u8 *buf, size_t len)
{
	u64 before[WS_MAX_NODES];
	unsigned int other;

	for (other = 0; other < ws_nodes_count(); other++)
		before[other] = reservations_of(other);
	ws_nodes_save(number, buf, len);
	for (other = 0; other < ws_nodes_count(); other++)
		if (reservations_of(other) - before[other] != (other == number))
			return other;
	return -1;
}

/*
 * Each node is a generator by itself: a draw on one touches no other, and no
 * two make the same bytes.
 */
static int nodes_distinct(struct report *report)
{
	struct value_set set;
	unsigned int number, offset, count = 0;
	struct ws_node_statistics node;
	u8 bytes[256];
	int other = -1;
	long repeats;

	if (value_set_init(&set, WS_MAX_NODES * 16))
		return failed(report, "no memory");
	ws_harvester_park(true);
	for (number = 0; other < 0 && number < ws_nodes_count(); number++) {
		if (!ws_nodes_statistics(number, &node))
			continue;
		count++;
		other = draw_and_look(number, bytes, sizeof(bytes));
		for (offset = 0; offset < sizeof(bytes); offset += 16)
			value_set_add(&set, bytes + offset);
	}
	ws_harvester_park(false);
	repeats = value_sets_repeats(&set, 1);
	value_set_exit(&set);
	if (other >= 0)
		return failed(report, "node %d was drawn on for node %u", other,
			      number - 1);
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
			error = ws_restore(number, seed, 0);
		if (!error)
			error = ws_nodes_save(number, again, sizeof(again));
		if (error)
			return failed(report, "node %u: error %d", number, error);
		if (!memcmp(seed, again, sizeof(seed)))
			return failed(report, "node %u gives its seed twice",
				      number);
	}
	if (ws_nodes_save(number, seed, sizeof(seed)) != -ENXIO ||
	    ws_restore(number, seed, 0) != -ENXIO)
		return failed(report, "there is a node past the last");
	return passed(report, "%u nodes", number);
}

const struct test distribution_tests[] = {
	{ "nodes/placed", nodes_placed },
	{ "nodes/distinct", nodes_distinct },
	{ "nodes/seeds", nodes_seeds },
	{ "distribution/low-credit-first", distribution_low_credit_first },
	{ "distribution/round-robin", distribution_round_robin },
	{ "distribution/idle-nodes", distribution_idle_nodes },
	{}
};
