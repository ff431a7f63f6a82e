// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * CPUs go offline and come back while all others read: nothing is lost, no value comes
 * twice.
 */
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/smp.h>

#include "test.h"
#include "workers.h"

#define CYCLES 6
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

static u64 fetches_of(int cpu)
{
	struct ws_tap_statistics statistics;
	enum ws_context context;
	u64 sum = 0;

	for (context = 0; context < WS_CONTEXTS; context++) {
		ws_tap_statistics(cpu, context, &statistics);
		sum += statistics.fetches;
	}
	return sum;
}

static int cycle_cpu(struct report *report, int cpu)
{
	u8 before[16] = {}, after[16] = {};
	u64 old;
	int error;

	error = smp_call_function_single(cpu, read_there, before, true);
	if (!error)
		error = remove_cpu(cpu);
	if (error)
		return skipped(report, "CPU %d does not go: %d", cpu, error);
	msleep(30);
	old = fetches_of(cpu);
	error = add_cpu(cpu);
	if (!error)
		error = smp_call_function_single(cpu, read_there, after, true);
	if (error)
		return failed(report, "CPU %d does not come back: %d", cpu, error);
	if (fetches_of(cpu) == old)
		return failed(report, "CPU %d went on with its old key", cpu);
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

const struct test hotplug_tests[] = {
	{ "hotplug/cpus", hotplug_cpus },
	{}
};
