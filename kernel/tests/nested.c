// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Reads that are interrupted by reads. On each CPU a task reads without a pause, and a
 * hard interrupt and a softirq interrupt it and read too. No 16 bytes may come twice,
 * neither secret nor pseudo-random ones.
 */
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "test.h"
#include "timers.h"
#include "workers.h"

#define VALUES 32768
/* No multiples of each other, so that they interrupt refills and long reads too. */
#define SOFTIRQ_PERIOD_NS 310000
#define HARDIRQ_PERIOD_NS 470000
#define TIME_MS 1500

struct reader {
	struct value_set values[WS_CONTEXTS];
	/* Set by the task: it is in the middle of a read. */
	bool inside;
	u32 hits[WS_CONTEXTS];
	u32 errors;
	unsigned int next_length;
	u8 bytes[WS_CONTEXTS][4096];
};

struct readers {
	struct reader **of_cpu;
	int (*get)(void *buf, size_t len);
};

static int get_pseudo(void *buf, size_t len)
{
	u64 *numbers = buf;

	if (len == 2 * sizeof(*numbers)) {
		numbers[0] = wellspring_get_pseudo_u64();
		numbers[1] = wellspring_get_pseudo_u64();
	} else {
		wellspring_get_pseudo_bytes(buf, len);
	}
	return 0;
}

static void read_here(struct readers *readers, int cpu, size_t len)
{
	struct reader *reader = readers->of_cpu[cpu];
	enum ws_context context = ws_context();
	u8 *buf = reader->bytes[context];
	size_t offset;

	if (readers->get(buf, len))
		reader->errors++;
	for (offset = 0; offset < len; offset += 16)
		value_set_add(&reader->values[context], buf + offset);
}

/* Multiples of 16, so that repeated bytes are whole values. */
static const size_t lengths[] = { 16, 16, 48, 16, 496, 16, 1024, 16, 4096 };

static void task_reads(struct worker *worker)
{
	struct readers *readers = worker->argument;
	struct reader *reader = readers->of_cpu[worker->cpu];
	size_t len = lengths[reader->next_length++ % ARRAY_SIZE(lengths)];

	WRITE_ONCE(reader->inside, true);
	barrier();
	read_here(readers, worker->cpu, len);
	barrier();
	WRITE_ONCE(reader->inside, false);
}

static void interrupt_reads(int cpu, void *argument)
{
	struct readers *readers = argument;
	struct reader *reader = readers->of_cpu[cpu];

	reader->hits[ws_context()] += READ_ONCE(reader->inside);
	read_here(readers, cpu, 16);
}

static void readers_exit(struct readers *readers)
{
	unsigned int context;
	int cpu;

	for_each_possible_cpu(cpu) {
		if (!readers->of_cpu[cpu])
			continue;
		for (context = 0; context < WS_CONTEXTS; context++)
			value_set_exit(&readers->of_cpu[cpu]->values[context]);
		vfree(readers->of_cpu[cpu]);
	}
	kfree(readers->of_cpu);
}

static int readers_init(struct readers *readers)
{
	unsigned int context;
	int cpu, error = 0;

	readers->of_cpu = kcalloc(nr_cpu_ids, sizeof(void *), GFP_KERNEL);
	if (!readers->of_cpu)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		struct reader *reader = vzalloc(sizeof(*reader));

		readers->of_cpu[cpu] = reader;
		for (context = 0; reader && context < WS_CONTEXTS; context++)
			error |= value_set_init(&reader->values[context], VALUES);
		if (error || !reader) {
			readers_exit(readers);
			return -ENOMEM;
		}
	}
	return 0;
}

/* Reads were interrupted by both: otherwise the test would show nothing. */
static bool both_interrupted(void *argument)
{
	const struct readers *readers = argument;
	u32 hits[WS_CONTEXTS] = {};
	unsigned int context;
	int cpu;

	for_each_possible_cpu(cpu)
		for (context = 0; context < WS_CONTEXTS; context++)
			hits[context] +=
				READ_ONCE(readers->of_cpu[cpu]->hits[context]);
	return hits[WS_SOFTIRQ] && hits[WS_HARDIRQ];
}

static int judge_nested(struct report *report, struct readers *readers)
{
	u32 counts[WS_CONTEXTS] = {}, hits[WS_CONTEXTS] = {}, errors = 0;
	struct value_set *all;
	unsigned int context, count = 0;
	long repeats;
	int cpu;

	all = kcalloc(nr_cpu_ids * WS_CONTEXTS, sizeof(*all), GFP_KERNEL);
	if (!all)
		return failed(report, "no memory");
	for_each_possible_cpu(cpu) {
		struct reader *reader = readers->of_cpu[cpu];

		errors += reader->errors;
		for (context = 0; context < WS_CONTEXTS; context++) {
			all[count++] = reader->values[context];
			counts[context] += reader->values[context].count;
			hits[context] += reader->hits[context];
		}
	}
	repeats = value_sets_repeats(all, count);
	kfree(all);
	if (errors || repeats)
		return failed(report, "%ld values came twice, %u errors", repeats,
			      errors);
	return passed(report,
		      "%u task, %u softirq, %u hardirq values; task reads interrupted by %u softirqs, %u hardirqs",
		      counts[WS_TASK], counts[WS_SOFTIRQ], counts[WS_HARDIRQ],
		      hits[WS_SOFTIRQ], hits[WS_HARDIRQ]);
}

static int run_nested(struct report *report, int (*get)(void *, size_t))
{
	struct readers readers = { .get = get };
	struct timers softirqs = { .function = interrupt_reads,
				   .argument = &readers,
				   .softirq = true,
				   .period_ns = SOFTIRQ_PERIOD_NS };
	struct timers hardirqs = { .function = interrupt_reads,
				   .argument = &readers,
				   .period_ns = HARDIRQ_PERIOD_NS };
	int verdict, error = readers_init(&readers);

	if (error)
		return failed(report, "error %d", error);
	error = timers_start(&softirqs);
	if (!error) {
		error = timers_start(&hardirqs);
		if (!error) {
			error = workers_run(1, task_reads, &readers, TIME_MS,
					    both_interrupted);
			timers_stop(&hardirqs);
		}
		timers_stop(&softirqs);
	}
	verdict = error ? failed(report, "error %d", error) :
			  judge_nested(report, &readers);
	readers_exit(&readers);
	return verdict;
}

static int nested_secret(struct report *report)
{
	return run_nested(report, wellspring_get_bytes);
}

/* A number in each 16 bytes: none may come twice either. */
static int get_numbers(void *buf, size_t len)
{
	u64 *numbers = buf;
	int error = 0;

	for (; len; len -= 16, numbers += 2) {
		error = wellspring_get_u64(numbers) ?: error;
		numbers[1] = numbers[0];
	}
	return error;
}

static int nested_numbers(struct report *report)
{
	return run_nested(report, get_numbers);
}

static int nested_pseudo(struct report *report)
{
	return run_nested(report, get_pseudo);
}

const struct test nested_tests[] = {
	{ "nested/secret", nested_secret },
	{ "nested/numbers", nested_numbers },
	{ "nested/pseudo", nested_pseudo },
	{}
};
