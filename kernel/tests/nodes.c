// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Nodes: their turns and their memory, orders that reseed all of them, and CPUs that come and go.
 */
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/nodemask.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/topology.h>

#include "../uapi.h"
#include "test.h"

/*
 * How seeds are shared among the nodes, seen from outside: nodes with less than 75 % of
 * the credit come first, otherwise it is a round robin.
 */

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

/* Whether two CPUs are of one NUMA node, and of one cache there: they share a node. */
static bool are_together(int one, int other)
{
	return cpu_to_node(one) == cpu_to_node(other) && ws_cache(one) == ws_cache(other);
}

static bool is_first_there(int cpu)
{
	int other;

	for_each_online_cpu(other)
		if (are_together(other, cpu))
			break;
	return other == cpu;
}

/* What has memory and CPUs: NUMA nodes, or the last-level caches of these. */
static unsigned int whole_places(void)
{
	unsigned int count = 0;
	int cpu;

	for_each_online_cpu(cpu)
		count += is_first_there(cpu) && has_page(cpu_to_node(cpu));
	return count;
}

static bool has_twin(unsigned int number, const struct ws_node_statistics *node)
{
	struct ws_node_statistics other;

	while (number--)
		if (ws_nodes_statistics(number, &other) &&
		    other.numa_node == node->numa_node && other.cache == node->cache)
			return true;
	return false;
}

/* Every NUMA node or cache with memory and CPUs has a node in its memory, and no other has. */
static int nodes_placed(struct report *report)
{
	unsigned int number, count = 0;
	struct ws_node_statistics node;

	for (number = 0; number < ws_nodes_count(); number++) {
		if (!ws_nodes_statistics(number, &node))
			continue;
		if (node.memory_node != node.numa_node)
			return failed(report, "node %u of NUMA node %d is in %d",
				      number, node.numa_node, node.memory_node);
		if (has_twin(number, &node))
			return failed(report, "cache %u of NUMA node %d has two nodes",
				      node.cache, node.numa_node);
		count++;
	}
	if (count != max(whole_places(), 1u))
		return failed(report, "%u nodes for %u NUMA nodes or caches", count,
			      whole_places());
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

/*
 * Orders of an operator and notices of a clone: when the call returns, every node has
 * hashed the new seed in, read or not, and no tap goes on with an older key.
 */

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

/*
 * CPUs go offline and come back, and nodes retire, while all others read: nothing is
 * lost, no value comes twice, and a CPU that is gone leaves no secret behind.
 */

#define CYCLES 6
/* The kernel waits 5 to 10 s for a CPU. An emulated one may need longer. */
#define ATTEMPTS 30
#define VALUES (1 << 18)

static struct value_set values;
static DEFINE_SPINLOCK(values_lock);
static u32 errors;

static void keep_value(const u8 *bytes)
{
	spin_lock(&values_lock);
	value_set_add(&values, bytes);
	spin_unlock(&values_lock);
}

static void read_some(struct worker *worker)
{
	u8 bytes[16];

	if (wellspring_get_bytes(bytes, sizeof(bytes)))
		WRITE_ONCE(errors, 1);
	keep_value(bytes);
}

/* Runs on the CPU that goes: 16 bytes from its tap. */
static void hotplug_read_there(void *data)
{
	if (wellspring_get_bytes(data, 16))
		WRITE_ONCE(errors, 1);
}

static int return_cpu(int cpu)
{
	int attempt, error = -EAGAIN;

	for (attempt = 0; error && attempt < ATTEMPTS; attempt++) {
		if (attempt)
			msleep(1000);
		error = add_cpu(cpu);
	}
	return error;
}

static int cycle_cpu(struct report *report, int cpu)
{
	u8 before[16] = {}, after[16] = {};
	int error;

	error = smp_call_function_single(cpu, hotplug_read_there, before, true);
	if (!error)
		error = remove_cpu(cpu);
	if (error)
		return skipped(report, "CPU %d does not go: %d", cpu, error);
	if (!ws_taps_are_wiped(cpu)) {
		return_cpu(cpu);
		return failed(report, "CPU %d left keys or output behind", cpu);
	}
	error = return_cpu(cpu);
	if (!error)
		error = smp_call_function_single(cpu, hotplug_read_there, after, true);
	if (error)
		return failed(report, "CPU %d does not come back: %d", cpu, error);
	keep_value(before);
	keep_value(after);
	return WELLSPRING_TEST_OK;
}

static int hotplug_cpus(struct report *report)
{
	int last = cpumask_last(cpu_online_mask), verdict, error;
	struct workers workers;
	unsigned int round;
	long repeats;

	if (!IS_ENABLED(CONFIG_HOTPLUG_CPU) || !last)
		return skipped(report, "no CPU can go");
	errors = 0;
	if (value_set_init(&values, VALUES))
		return failed(report, "no memory");
	error = workers_start(&workers, 1, read_some, NULL);
	if (error) {
		value_set_exit(&values);
		return failed(report, "error %d", error);
	}
	/* The reader of a CPU that goes moves to another CPU, and goes on there. */
	for (round = 0, verdict = WELLSPRING_TEST_OK;
	     round < CYCLES && verdict == WELLSPRING_TEST_OK; round++)
		verdict = cycle_cpu(report, last - round % min(last, 2));
	workers_stop(&workers);
	repeats = value_sets_repeats(&values, 1);
	if (verdict == WELLSPRING_TEST_OK && (repeats || errors))
		verdict = failed(report, "%ld values came twice, errors: %u",
				 repeats, errors);
	if (verdict == WELLSPRING_TEST_OK)
		verdict = passed(report, "%u times off and on, %u values", CYCLES,
				 values.count);
	value_set_exit(&values);
	return verdict;
}

static u64 mixed_events(void)
{
	struct ws_source_statistics source;

	ws_source_statistics(WS_SOURCE_MIX, &source);
	return source.events;
}

/* Reads in the mode that takes the node's lock, so that readers are on it all the time. */
static void read_node(struct worker *worker)
{
	u8 bytes[16];

	if (ws_read(WS_PER_NODE, bytes, sizeof(bytes)))
		WRITE_ONCE(errors, 1);
	keep_value(bytes);
}

/* Nodes retire and come again under their readers. */
static int hotplug_nodes(struct report *report)
{
	unsigned int number, count = ws_nodes_count(), round;
	struct workers workers;
	u8 before[16], after[16];
	const char *wrong = NULL;
	long repeats;
	u64 mixed;
	int error;

	if (count < 2)
		return skipped(report, "this machine has one node");
	errors = 0;
	if (value_set_init(&values, VALUES))
		return failed(report, "no memory");
	error = workers_start(&workers, 1, read_node, NULL);
	for (round = 0; !error && !wrong && round < CYCLES; round++) {
		number = 1 + round % (count - 1);
		ws_reseed();
		mixed = mixed_events();
		error = ws_nodes_save(number, before, sizeof(before));
		if (!error)
			error = ws_topology_replace(number);
		if (!error)
			error = ws_nodes_save(number, after, sizeof(after));
		ws_reseed();
		if (error)
			break;
		if (mixed_events() == mixed)
			wrong = "the retired generator was not mixed in";
		keep_value(before);
		keep_value(after);
	}
	if (workers.count)
		workers_stop(&workers);
	repeats = value_sets_repeats(&values, 1);
	value_set_exit(&values);
	if (error || errors || repeats || wrong)
		return failed(report, "error %d, %u, %ld values came twice, %s",
			      error, errors, repeats, wrong ?: "");
	return passed(report, "%u nodes retired and made again", CYCLES);
}

/* Whether a CPU's NUMA node or cache has a node other than the root, which never leaves. */
static bool is_served(int cpu)
{
	struct ws_node_statistics node;
	unsigned int number;

	for (number = 1; number < ws_nodes_count(); number++)
		if (ws_nodes_statistics(number, &node) &&
		    node.numa_node == cpu_to_node(cpu) && node.cache == ws_cache(cpu))
			return true;
	return false;
}

/* NULL, or what is wrong after all CPUs that share the node of @last went and came back. */
static const char *cycle_all(int last, const struct cpumask *cpus)
{
	const char *wrong = NULL;
	u64 mixed;
	int cpu;

	ws_reseed();
	mixed = mixed_events();
	for_each_cpu(cpu, cpus)
		if (!wrong && remove_cpu(cpu))
			wrong = "a CPU does not go";
	if (!wrong && is_served(last))
		wrong = "a node without CPUs stays";
	ws_reseed();
	if (!wrong && mixed_events() == mixed)
		wrong = "the retired generator was not mixed in";
	for_each_cpu(cpu, cpus)
		if (!cpu_online(cpu) && return_cpu(cpu) && !wrong)
			wrong = "a CPU does not come back";
	if (!wrong && !is_served(last))
		wrong = "the node does not come back";
	return wrong;
}

/* All CPUs of a node go, and the node with them, and come back, while all others read. */
static int hotplug_all_cpus(struct report *report)
{
	int cpu, last = cpumask_last(cpu_online_mask);
	struct workers workers;
	cpumask_var_t cpus;
	const char *wrong;
	long repeats;

	if (!IS_ENABLED(CONFIG_HOTPLUG_CPU) || ws_nodes_count() < 2 ||
	    !is_served(last))
		return skipped(report, "this machine has one node");
	errors = 0;
	if (!zalloc_cpumask_var(&cpus, GFP_KERNEL))
		return failed(report, "no memory");
	if (value_set_init(&values, VALUES)) {
		free_cpumask_var(cpus);
		return failed(report, "no memory");
	}
	for_each_online_cpu(cpu)
		if (are_together(cpu, last))
			cpumask_set_cpu(cpu, cpus);
	wrong = workers_start(&workers, 1, read_node, NULL) ?
		"no workers" : cycle_all(last, cpus);
	if (workers.count)
		workers_stop(&workers);
	repeats = value_sets_repeats(&values, 1);
	if (!wrong && (repeats || errors))
		wrong = "a read failed, or a value came twice";
	value_set_exit(&values);
	free_cpumask_var(cpus);
	if (wrong)
		return failed(report, "%s; %ld values, errors %u", wrong,
			      repeats, errors);
	return passed(report, "the node of CPU %d went with its CPUs and came back", last);
}

const struct test hotplug_tests[] = {
	{ "hotplug/cpus", hotplug_cpus },
	{ "hotplug/all-cpus-of-a-node", hotplug_all_cpus },
	{ "hotplug/nodes", hotplug_nodes },
	{}
};
