// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Makes and retires nodes while CPUs and memory come and go.
 *
 * A NUMA node with memory and CPUs gets a node of ours, in its own memory. Any other is
 * served by the nearest that has one. There is always a root.
 *
 * Memory means memory that the kernel may use for itself. Memory that was made movable,
 * so that it can leave, has room for users' pages only: a node cannot be there, and a
 * NUMA node that has no other memory is served by the nearest.
 *
 * If all CPUs of a NUMA node leave, its node is withdrawn, and when its last reader is
 * gone, output of its generator is mixed into the pools before it is wiped. Otherwise
 * its pages would keep that memory from leaving. The root stays in any case, and all
 * stay during a suspend, which takes all CPUs but one away for a moment.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/memory.h>
#include <linux/mmzone.h>
#include <linux/mutex.h>
#include <linux/nodemask.h>
#include <linux/string.h>
#include <linux/topology.h>

#include "distribution.h"
#include "memory.h"
#include "mix.h"
#include "nodes.h"
#include "phase.h"
#include "tap.h"
#include "testing.h"
#include "topology.h"

static int cpuhp_state;

/* Linux 6.18 sets N_NORMAL_MEMORY at boot alone, not for memory that comes later. */
static bool has_memory(int numa_node)
{
	struct zone *zones = NODE_DATA(numa_node)->node_zones;
	unsigned int i;

	for (i = 0; i <= ZONE_NORMAL; i++)
		if (managed_zone(&zones[i]))
			return true;
	return false;
}

static bool has_own_node(int numa_node)
{
	unsigned int number;

	for (number = 0; number < ws_nodes_count(); number++)
		if (ws_nodes_held(number) &&
		    ws_nodes_held(number)->numa_node == numa_node)
			return true;
	return false;
}

static int add_node(int numa_node)
{
	unsigned int number = ws_nodes_free_number();
	struct ws_node *node;

	if (number == WS_MAX_NODES)
		return 0;
	node = ws_alloc_on_node(sizeof(*node), numa_node);
	if (!node)
		return -ENOMEM;
	ws_node_init(node, number, numa_node);
	/*
	 * First it is there for orders, then it draws on the root: so no order misses both.
	 * Readers come when ws_nodes_map() was called.
	 */
	ws_nodes_publish(node);
	/* Before that, ws_topology_grow() does it for all nodes. */
	if (ws_phase() == WS_READY)
		ws_distribution_initialise(node);
	return 0;
}

/* Not for the root: its memory cannot leave. */
static void retire_node(struct ws_node *node)
{
	struct ws_reservation reservation;
	u8 bytes[WS_KEY_BYTES];

	ws_nodes_withdraw(node);
	if (!ws_node_reserve(node, sizeof(bytes), &reservation)) {
		ws_reservation_generate(&reservation, bytes, sizeof(bytes));
		ws_mix(bytes, sizeof(bytes));
		memzero_explicit(bytes, sizeof(bytes));
	}
	ws_free_on_node(node, sizeof(*node));
}

/*
 * Where no NUMA node has both memory and CPUs, the root is in any memory. On such
 * machines all memory may be in one NUMA node and all CPUs in others.
 */
static int add_root(void)
{
	int numa_node;

	for_each_online_node(numa_node)
		if (has_memory(numa_node))
			return add_node(numa_node);
	return -ENOMEM;
}

/* Brings nodes up to date with the machine. @coming is a CPU about to start, or -1. */
static int refresh(int coming)
{
	int numa_node, error = 0;

	mutex_lock(&ws_nodes_lock);
	for_each_online_node(numa_node) {
		bool has_cpu = !cpumask_empty(cpumask_of_node(numa_node)) ||
			(coming >= 0 && cpu_to_node(coming) == numa_node);

		if (has_cpu && has_memory(numa_node) && !has_own_node(numa_node))
			error = add_node(numa_node) ?: error;
	}
	if (!error && !ws_nodes_count())
		error = add_root();
	if (ws_nodes_count())
		ws_nodes_map();
	mutex_unlock(&ws_nodes_lock);
	return error;
}

static void retire_nodes_without_cpus(void)
{
	unsigned int number;

	mutex_lock(&ws_nodes_lock);
	for (number = 1; number < ws_nodes_count(); number++) {
		struct ws_node *node = ws_nodes_held(number);

		if (node && cpumask_empty(cpumask_of_node(node->numa_node)))
			retire_node(node);
	}
	mutex_unlock(&ws_nodes_lock);
}

/* If there is no memory for a node, the CPU is served by the nearest. */
static int cpu_is_coming(unsigned int cpu)
{
	refresh(cpu);
	return 0;
}

static int cpu_is_gone(unsigned int cpu)
{
	ws_taps_wipe(cpu);
	if (!cpuhp_tasks_frozen)
		retire_nodes_without_cpus();
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

void ws_topology_grow(void)
{
	unsigned int number;
	bool initialised = true;

	mutex_lock(&ws_nodes_lock);
	if (ws_phase() == WS_EARLY && ws_distribution_is_ready()) {
		for (number = 1; number < ws_nodes_count(); number++)
			if (ws_nodes_held(number) &&
			    ws_distribution_initialise(ws_nodes_held(number)))
				initialised = false;
		if (initialised)
			ws_phase_advance(WS_READY);
	}
	mutex_unlock(&ws_nodes_lock);
	ws_phase_announce();
}

#ifdef WELLSPRING_TESTS
int ws_topology_replace(unsigned int number)
{
	struct ws_node *node;
	int error = -EINVAL;

	mutex_lock(&ws_nodes_lock);
	node = number && number < ws_nodes_count() ? ws_nodes_held(number) : NULL;
	if (node) {
		retire_node(node);
		error = 0;
	}
	mutex_unlock(&ws_nodes_lock);
	return error ?: refresh(-1);
}
WS_EXPORT_FOR_TEST(ws_topology_replace);
#endif

int ws_topology_init(void)
{
	int ret = ws_nodes_init();

	if (ret)
		return ret;
	ret = refresh(-1);
	if (ret)
		goto exit_nodes;
	ret = register_memory_notifier(&memory_notifier);
	if (ret)
		goto exit_nodes;
	ret = cpuhp_setup_state(CPUHP_BP_PREPARE_DYN, "wellspring:prepare",
				cpu_is_coming, cpu_is_gone);
	if (ret < 0)
		goto unregister;
	cpuhp_state = ret;
	return 0;

unregister:
	unregister_memory_notifier(&memory_notifier);
exit_nodes:
	ws_nodes_exit();
	return ret;
}

void ws_topology_exit(void)
{
	cpuhp_remove_state_nocalls(cpuhp_state);
	unregister_memory_notifier(&memory_notifier);
	ws_nodes_exit();
	ws_distribution_exit();
}
