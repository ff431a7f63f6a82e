// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Reads within NMIs. Secret bytes are refused there, and nothing is written. Pseudo
 * bytes are made, and an NMI in the middle of a call never gets that call's numbers.
 *
 * Someone outside sends the NMIs, such as the monitor of an emulator, and says so with
 * expects_nmi=1 when this module is loaded. They may come to one CPU alone, so each CPU
 * has its own sets.
 */
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "test.h"
#include "workers.h"

#define HANDLER "wellspring-test"
#define WANTED 100
#define MOST_IN_NMIS 4096
#define MOST_IN_TASKS (1 << 16)

static bool expects_nmi;
module_param(expects_nmi, bool, 0444);
MODULE_PARM_DESC(expects_nmi, "someone sends NMIs: run the test nmi/reads");

/* What the NMIs of all CPUs have in common. */
static atomic_t nmis, not_refused;

/* Pseudo bytes that NMIs and that tasks got, on each CPU. */
struct per_cpu_values {
	struct value_set in_nmis;
	struct value_set in_tasks;
};

static struct per_cpu_values *values_of_cpu;

static int nmi_reads(unsigned int type, struct pt_regs *registers)
{
	u8 bytes[16] = { };

	if (wellspring_get_bytes(bytes, sizeof(bytes)) != -EOPNOTSUPP ||
	    wellspring_get_early_bytes(bytes, sizeof(bytes)) != -EOPNOTSUPP ||
	    memchr_inv(bytes, 0, sizeof(bytes)))
		atomic_inc(&not_refused);
	wellspring_get_pseudo_bytes(bytes, sizeof(bytes));
	value_set_add(&values_of_cpu[smp_processor_id()].in_nmis, bytes);
	atomic_inc(&nmis);
	return NMI_HANDLED;
}

/* When the set is full, calls go on, so that NMIs still find calls to interrupt. */
static void read_until_stopped(struct worker *worker)
{
	struct value_set *mine = &values_of_cpu[worker->cpu].in_tasks;
	unsigned int again;
	u8 bytes[16];

	for (again = 0; again < 1000; again++) {
		wellspring_get_pseudo_bytes(bytes, sizeof(bytes));
		value_set_add(mine, bytes);
	}
	if (wellspring_get_bytes(bytes, sizeof(bytes)))
		atomic_inc(&not_refused);
}

static bool enough_nmis(void *unused)
{
	return atomic_read(&nmis) >= WANTED;
}

static int judge_nmis(struct report *report, int error)
{
	unsigned int cpu, values = 0;
	long repeats = 0;

	if (atomic_read(&not_refused))
		return failed(report, "%d reads went wrong: in an NMI they return -EOPNOTSUPP",
			      atomic_read(&not_refused));
	if (error)
		return failed(report, "error %d after %d NMIs", error, atomic_read(&nmis));
	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		struct per_cpu_values *own = &values_of_cpu[cpu];
		struct value_set both[2] = { own->in_nmis, own->in_tasks };

		values += both[0].count + both[1].count;
		repeats += value_sets_repeats(both, 2);
	}
	if (repeats)
		return failed(report, "%ld of %u pseudo values came twice", repeats, values);
	return passed(report, "%d NMIs: secret bytes refused, %u pseudo values all different",
		      atomic_read(&nmis), values);
}

static void free_values(void)
{
	unsigned int cpu;

	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		value_set_exit(&values_of_cpu[cpu].in_nmis);
		value_set_exit(&values_of_cpu[cpu].in_tasks);
	}
	kfree(values_of_cpu);
}

static int alloc_values(void)
{
	unsigned int cpu;

	values_of_cpu = kcalloc(nr_cpu_ids, sizeof(*values_of_cpu), GFP_KERNEL);
	if (!values_of_cpu)
		return -ENOMEM;
	for (cpu = 0; cpu < nr_cpu_ids; cpu++)
		if (value_set_init(&values_of_cpu[cpu].in_nmis, MOST_IN_NMIS) ||
		    value_set_init(&values_of_cpu[cpu].in_tasks, MOST_IN_TASKS)) {
			free_values();
			return -ENOMEM;
		}
	return 0;
}

static int nmi_test(struct report *report)
{
	int error, verdict;

	if (!expects_nmi)
		return skipped(report, "no NMIs are sent (expects_nmi=1)");
	atomic_set(&nmis, 0);
	atomic_set(&not_refused, 0);
	error = alloc_values();
	if (error)
		return failed(report, "error %d", error);
	error = register_nmi_handler(NMI_LOCAL, nmi_reads, 0, HANDLER);
	if (!error) {
		error = workers_run(1, read_until_stopped, NULL, 0, enough_nmis);
		unregister_nmi_handler(NMI_LOCAL, HANDLER);
	}
	verdict = judge_nmis(report, error);
	free_values();
	return verdict;
}

const struct test nmi_tests[] = {
	{ "nmi/reads", nmi_test },
	{}
};
