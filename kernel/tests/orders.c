// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Orders of an operator and notices of a clone: when the call returns, every node has
 * hashed the new seed in, read or not, and no tap goes on with an older key.
 */
#include <linux/random.h>
#include <linux/slab.h>

#include "../uapi.h"
#include "test.h"
#include "workers.h"

#define ORDERS 40

static int order_reseed(void)
{
	return ws_ioctl(NULL, RNDRESEEDCRNG, 0);
}

/* RNDADDENTROPY and RNDADDTOENTCNT, after their data was written. */
static int order_credit(void)
{
	return ws_credit(1);
}

static int order_restore(void)
{
	u8 seed[WELLSPRING_SEED_BYTES];

	get_random_bytes(seed, sizeof(seed));
	return ws_restore(ws_nodes_count() - 1, seed, 0);
}

static int notice_of_a_clone(void)
{
	u64 fresh = get_random_u64();

	ws_nodes_stir("wellspring test", 0, &fresh, sizeof(fresh), 0);
	return 0;
}

static const struct {
	const char *name;
	int (*give)(void);
} orders[] = {
	{ "RNDRESEEDCRNG", order_reseed },
	{ "RNDADDENTROPY", order_credit },
	{ "a restore", order_restore },
	{ "a notice of a clone", notice_of_a_clone },
};

struct counts {
	bool present[WS_MAX_NODES];
	u64 reseeds[WS_MAX_NODES];
	u64 generation;
};

static void take_counts(struct counts *counts)
{
	struct ws_node_statistics node;
	unsigned int number;

	counts->generation = ws_generation();
	for (number = 0; number < ws_nodes_count(); number++) {
		counts->present[number] = ws_nodes_statistics(number, &node);
		counts->reseeds[number] = node.reseeds;
	}
}

/* The nodes that are left as they were; all of them if no tap needs a fresh key. */
static unsigned int nodes_left_out(const struct counts *before,
				   const struct counts *after)
{
	unsigned int number, left_out = 0;

	for (number = 0; number < ws_nodes_count(); number++)
		left_out += before->present[number] &&
			    (after->reseeds[number] == before->reseeds[number] ||
			     after->generation == before->generation);
	return left_out;
}

static int orders_all_nodes(struct report *report)
{
	struct counts *before = kcalloc(2, sizeof(*before), GFP_KERNEL);
	struct counts *after = before + 1;
	unsigned int kind, order, whole = 0, left_out, most = 0;
	int error = 0;

	if (!before)
		return failed(report, "no memory");
	ws_harvester_park(true);
	for (kind = 0; !error && whole == kind * ORDERS && kind < ARRAY_SIZE(orders);
	     kind++) {
		for (order = 0; !error && order < ORDERS; order++) {
			take_counts(before);
			error = orders[kind].give();
			take_counts(after);
			left_out = nodes_left_out(before, after);
			whole += !left_out;
			most = max(most, left_out);
		}
	}
	ws_harvester_park(false);
	kfree(before);
	kind--;
	if (error)
		return failed(report, "%s: error %d", orders[kind].name, error);
	if (most)
		return failed(report, "%s: %u of %u reached every node, %u were left out",
			      orders[kind].name, whole - kind * ORDERS, ORDERS, most);
	return passed(report, "%u of %u orders reached each of %u nodes", whole,
		      ORDERS * (kind + 1), ws_nodes_count());
}

/* Each generation since @base announced a seed that every node had already. */
struct watch {
	struct counts base;
	u32 early;	/* generations that came before their seed */
	u64 looks;
};

static void look_at_nodes(struct worker *worker)
{
	struct watch *watch = worker->argument;
	struct ws_node_statistics node;
	u64 generation = ws_generation();
	unsigned int number;

	for (number = 0; number < ws_nodes_count(); number++)
		if (ws_nodes_statistics(number, &node) &&
		    node.reseeds - watch->base.reseeds[number] <
			    generation - watch->base.generation)
			WRITE_ONCE(watch->early, 1);
	WRITE_ONCE(watch->looks, watch->looks + 1);
}

static bool has_looked(void *argument)
{
	return READ_ONCE(((struct watch *)argument)->looks) >= ORDERS;
}

/* A reader that sees the new generation finds the new seed in its node. */
static int orders_before_bump(struct report *report)
{
	struct watch *watch = kzalloc(sizeof(*watch), GFP_KERNEL);
	struct workers workers;
	unsigned int order;
	int error, verdict;
	bool looked;

	if (!watch)
		return failed(report, "no memory");
	ws_harvester_park(true);
	take_counts(&watch->base);
	error = workers_start(&workers, 1, look_at_nodes, watch);
	looked = !error && wait_until(has_looked, watch);
	for (order = 0; !error && order < ORDERS * ARRAY_SIZE(orders); order++) {
		error = orders[order % ARRAY_SIZE(orders)].give();
		give_way();
	}
	if (workers.count)
		workers_stop(&workers);
	ws_harvester_park(false);
	if (error || !looked)
		verdict = failed(report, "error %d, %llu looks", error, watch->looks);
	else if (watch->early)
		verdict = failed(report, "a generation was there before its seed");
	else
		verdict = passed(report, "%u orders", order);
	kfree(watch);
	return verdict;
}

const struct test orders_tests[] = {
	{ "orders/all-nodes", orders_all_nodes },
	{ "orders/seed-before-generation", orders_before_bump },
	{}
};
