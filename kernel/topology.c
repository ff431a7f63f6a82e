// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Which node serves which CPU, while CPUs and memory come and go.
 *
 * A NUMA node with memory and CPUs has a node of ours, in its own memory. Any other
 * is served by the nearest that has one. Readers find theirs by two loads under
 * rcu_read_lock(); a map of pointers changes under their eyes, one pointer at a time,
 * and each is good.
 *
 * A node whose CPUs all leave keeps its state; its mailbox fills, and it is passed
 * over. One whose memory leaves is taken off the map, and when its last reader is
 * gone, its generator is mixed into the pools before it is erased.
 */
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/memory.h>
#include <linux/mutex.h>
#include <linux/nodemask.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/topology.h>

#include "internal.h"

static DEFINE_MUTEX(topology_lock);
static struct ws_node __rcu *nodes[WS_MAX_NODES];
static unsigned int numbers;
/* For each NUMA node, whether it is there or not. */
static struct ws_node __rcu **serving;
static int cpuhp_state;

struct ws_node *ws_node_root(void)
{
	return rcu_dereference(nodes[0]);
}

struct ws_node *ws_node_here(void)
{
	return rcu_dereference(serving[numa_node_id()]);
}

struct ws_node *ws_node_numbered(unsigned int number)
{
	return rcu_dereference(nodes[number]);
}

unsigned int ws_node_numbers(void)
{
	return READ_ONCE(numbers);
}
WS_EXPORT_FOR_TEST(ws_node_numbers);

static struct ws_node *held(unsigned int number)
{
	return rcu_dereference_protected(nodes[number],
					 lockdep_is_held(&topology_lock));
}

static bool has_node(int numa_node)
{
	unsigned int number;

	for (number = 0; number < numbers; number++)
		if (held(number) && held(number)->numa_node == numa_node)
			return true;
	return false;
}

static int add(int numa_node)
{
	struct ws_node *node;
	unsigned int number;

	for (number = 0; number < numbers && held(number); number++)
		;
	if (number == WS_MAX_NODES)
		return 0;
	node = ws_alloc_node(sizeof(*node), numa_node);
	if (!node)
		return -ENOMEM;
	ws_node_prepare(node, number, numa_node);
	/* Before the root is ready, ws_nodes_grow() does it for all. */
	if (ws_phase() == WS_READY)
		ws_node_initialise(node);
	rcu_assign_pointer(nodes[number], node);
	WRITE_ONCE(numbers, max(numbers, number + 1));
	return 0;
}

/* Points every NUMA node to the nearest node of ours. */
static void map(void)
{
	int numa_node;

	for (numa_node = 0; numa_node < nr_node_ids; numa_node++) {
		struct ws_node *nearest = held(0);
		unsigned int number;

		for (number = 1; node_online(numa_node) && number < numbers;
		     number++)
			if (held(number) &&
			    node_distance(numa_node, held(number)->numa_node) <
			    node_distance(numa_node, nearest->numa_node))
				nearest = held(number);
		rcu_assign_pointer(serving[numa_node], nearest);
	}
}

/* The root stays: memory that holds it cannot leave. */
static void retire(unsigned int number)
{
	struct ws_node *node = held(number);
	struct ws_claim claim;

	RCU_INIT_POINTER(nodes[number], NULL);
	map();
	synchronize_rcu();
	if (!ws_node_claim_on(node, sizeof(claim.key), &claim))
		ws_mix(WS_SOURCE_MIX, claim.key, sizeof(claim.key), 0);
	memzero_explicit(&claim, sizeof(claim));
	ws_free(node, sizeof(*node));
}

/* Brings nodes and map up to date; @coming is a CPU about to start, or -1. */
static int refresh(int coming)
{
	int numa_node, error = 0;
	unsigned int number;

	mutex_lock(&topology_lock);
	for_each_node_state(numa_node, N_MEMORY) {
		bool has_cpu = !cpumask_empty(cpumask_of_node(numa_node)) ||
			(coming >= 0 && cpu_to_node(coming) == numa_node);

		if (has_cpu && !has_node(numa_node))
			error = add(numa_node) ?: error;
	}
	if (numbers)
		map();
	for (number = 1; number < numbers; number++)
		if (held(number) &&
		    !node_state(held(number)->numa_node, N_MEMORY))
			retire(number);
	mutex_unlock(&topology_lock);
	return error;
}

/* Without memory for a node of its own, a CPU is served by the nearest. */
static int cpu_comes(unsigned int cpu)
{
	refresh(cpu);
	return 0;
}

static int cpu_is_gone(unsigned int cpu)
{
	ws_taps_wipe(cpu);
	return 0;
}

static int memory_changed(struct notifier_block *block, unsigned long action,
			  void *data)
{
	if (action == MEM_ONLINE || action == MEM_OFFLINE)
		refresh(-1);
	return NOTIFY_OK;
}

static struct notifier_block memory_notifier = {
	.notifier_call = memory_changed,
};

void ws_nodes_grow(void)
{
	unsigned int number;
	bool initialised = true;

	mutex_lock(&topology_lock);
	if (ws_phase() == WS_EARLY && ws_root_credited_bits() >= WS_READY_BITS) {
		for (number = 1; number < numbers; number++)
			if (held(number) && ws_node_initialise(held(number)))
				initialised = false;
		if (initialised)
			ws_phase_set(WS_READY);
	}
	mutex_unlock(&topology_lock);
	ws_phase_announce();
}

static void free_nodes(void)
{
	unsigned int number;

	mutex_lock(&topology_lock);
	for (number = 0; number < numbers; number++)
		if (held(number))
			ws_free(held(number), sizeof(struct ws_node));
	mutex_unlock(&topology_lock);
	ws_free(serving, nr_node_ids * sizeof(*serving));
}

int ws_nodes_init(void)
{
	int error = -ENOMEM;

	serving = ws_alloc_node(nr_node_ids * sizeof(*serving), NUMA_NO_NODE);
	if (!serving)
		return error;
	error = refresh(-1);
	if (error)
		goto free;
	error = register_memory_notifier(&memory_notifier);
	if (error)
		goto free;
	error = cpuhp_setup_state(CPUHP_BP_PREPARE_DYN, "wellspring:prepare",
				  cpu_comes, cpu_is_gone);
	if (error < 0)
		goto unregister;
	cpuhp_state = error;
	return 0;

unregister:
	unregister_memory_notifier(&memory_notifier);
free:
	free_nodes();
	return error;
}

void ws_nodes_exit(void)
{
	cpuhp_remove_state_nocalls(cpuhp_state);
	unregister_memory_notifier(&memory_notifier);
	free_nodes();
	ws_distribution_wipe();
}
