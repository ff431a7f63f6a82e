// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * CPUs go offline and come back, and nodes retire, while all others read: nothing is
 * lost, no value comes twice, and a CPU that is gone leaves no secret behind.
 */
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/smp.h>

#include "../topology.h"
#include "test.h"
#include "workers.h"

#define CYCLES 6
/* The kernel waits 5 to 10 s for a CPU. An emulated one may need longer. */
#define ATTEMPTS 30
#define VALUES (1 << 18)

static struct collector values;
static DEFINE_SPINLOCK(values_lock);
static u32 errors;

static void keep_value(const u8 *bytes)
{
	spin_lock(&values_lock);
	collector_add(&values, bytes);
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
	if (collector_init(&values, VALUES))
		return failed(report, "no memory");
	error = workers_start(&workers, 1, read_some, NULL);
	if (error) {
		collector_exit(&values);
		return failed(report, "error %d", error);
	}
	/* The reader of a CPU that goes moves to another CPU, and goes on there. */
	for (round = 0, verdict = WELLSPRING_TEST_OK;
	     round < CYCLES && verdict == WELLSPRING_TEST_OK; round++)
		verdict = cycle_cpu(report, last - round % min(last, 2));
	workers_stop(&workers);
	repeats = collectors_repeats(&values, 1);
	if (verdict == WELLSPRING_TEST_OK && (repeats || errors))
		verdict = failed(report, "%ld values came twice, errors: %u",
				 repeats, errors);
	if (verdict == WELLSPRING_TEST_OK)
		verdict = passed(report, "%u times off and on, %u values", CYCLES,
				 values.count);
	collector_exit(&values);
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
	if (collector_init(&values, VALUES))
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
	repeats = collectors_repeats(&values, 1);
	collector_exit(&values);
	if (error || errors || repeats || wrong)
		return failed(report, "error %d, %u, %ld values came twice, %s",
			      error, errors, repeats, wrong ?: "");
	return passed(report, "%u nodes retired and made again", CYCLES);
}

const struct test hotplug_tests[] = {
	{ "hotplug/cpus", hotplug_cpus },
	{ "hotplug/nodes", hotplug_nodes },
	{}
};
