// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * CPUs go offline and come back, and nodes retire, while all others read: nothing is
 * lost, no value comes twice, and a CPU that is gone leaves no secret behind.
 */
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/smp.h>

#include "test.h"
#include "workers.h"

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
static void read_there(void *data)
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

	error = smp_call_function_single(cpu, read_there, before, true);
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
		error = smp_call_function_single(cpu, read_there, after, true);
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

/* Whether a NUMA node has a node of ours other than the root, which never leaves. */
static bool is_served(int numa_node)
{
	struct ws_node_statistics node;
	unsigned int number;

	for (number = 1; number < ws_nodes_count(); number++)
		if (ws_nodes_statistics(number, &node) &&
		    node.numa_node == numa_node)
			return true;
	return false;
}

/* NULL, or what is wrong after all these CPUs of a NUMA node went and came back. */
static const char *cycle_all(int numa_node, const struct cpumask *cpus)
{
	const char *wrong = NULL;
	u64 mixed;
	int cpu;

	ws_reseed();
	mixed = mixed_events();
	for_each_cpu(cpu, cpus)
		if (!wrong && remove_cpu(cpu))
			wrong = "a CPU does not go";
	if (!wrong && is_served(numa_node))
		wrong = "a node without CPUs stays";
	ws_reseed();
	if (!wrong && mixed_events() == mixed)
		wrong = "the retired generator was not mixed in";
	for_each_cpu(cpu, cpus)
		if (!cpu_online(cpu) && return_cpu(cpu) && !wrong)
			wrong = "a CPU does not come back";
	if (!wrong && !is_served(numa_node))
		wrong = "the node does not come back";
	return wrong;
}

/* All CPUs of a NUMA node go, with its node, and come back, while all others read. */
static int hotplug_all_cpus(struct report *report)
{
	int numa_node = cpu_to_node(cpumask_last(cpu_online_mask));
	struct workers workers;
	cpumask_var_t cpus;
	const char *wrong;
	long repeats;

	if (!IS_ENABLED(CONFIG_HOTPLUG_CPU) || ws_nodes_count() < 2 ||
	    !is_served(numa_node))
		return skipped(report, "this machine has one node");
	errors = 0;
	if (!alloc_cpumask_var(&cpus, GFP_KERNEL))
		return failed(report, "no memory");
	if (value_set_init(&values, VALUES)) {
		free_cpumask_var(cpus);
		return failed(report, "no memory");
	}
	cpumask_copy(cpus, cpumask_of_node(numa_node));
	wrong = workers_start(&workers, 1, read_node, NULL) ?
		"no workers" : cycle_all(numa_node, cpus);
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
	return passed(report, "NUMA node %d lost its node and got one again",
		      numa_node);
}

const struct test hotplug_tests[] = {
	{ "hotplug/cpus", hotplug_cpus },
	{ "hotplug/all-cpus-of-a-node", hotplug_all_cpus },
	{ "hotplug/nodes", hotplug_nodes },
	{}
};
