// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Contexts: reads that interrupt each other, sections of the FPU, and how long a read keeps interrupts or NMIs out.
 */
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "test.h"

/*
 * Reads that are interrupted by reads. On each CPU a task reads without a pause, and a
 * hard interrupt and a softirq interrupt it and read too. No 16 bytes may come twice,
 * neither secret nor pseudo-random ones.
 */

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

/*
 * SIMD in softirqs. All CPUs spend their time in stretches of code. A hard
 * interrupt and a softirq come into these a thousand times per second. The
 * softirq asks for the FPU. In a stretch of ordinary code softirqs come; in
 * the module's sections they wait.
 */

/* Much longer than the module's sections, so that most interrupts come in one. */
#define STRETCH_US 900
#define PERIOD_NS 1000000
#define SECTIONS_TIME_MS 500
#define LEAST_SOFTIRQS 50

/* A stretch: of ordinary code, in a section of the kernel, of the module, in its guard. */
enum kind { ORDINARY, BARE, SECTION, GUARD, KINDS };

struct counts {
	bool inside;
	u64 softirqs;
	u64 refused;
	/* Interrupts of either kind that came in a stretch. */
	u64 softirqs_inside;
	u64 hardirqs_inside;
};

struct stretches {
	enum kind kind;
	struct counts __percpu *counts;
};

static void spend_time(struct worker *worker)
{
	const struct stretches *stretches = worker->argument;
	bool *inside = &per_cpu_ptr(stretches->counts, worker->cpu)->inside;
	struct ws_simd simd;

	if (stretches->kind == BARE)
		ws_arch_simd_begin(&simd.arch);
	if (stretches->kind == SECTION && !ws_simd_begin(&simd))
		return;
	if (stretches->kind == GUARD)
		ws_simd_guard(&simd);
	WRITE_ONCE(*inside, true);
	udelay(STRETCH_US);
	WRITE_ONCE(*inside, false);
	if (stretches->kind == BARE)
		ws_arch_simd_end(&simd.arch);
	if (stretches->kind == SECTION)
		ws_simd_end(&simd);
	if (stretches->kind == GUARD)
		ws_simd_unguard(&simd);
}

static void want_fpu(int cpu, void *argument)
{
	const struct stretches *stretches = argument;
	struct counts *counts = per_cpu_ptr(stretches->counts, cpu);
	struct ws_simd simd;

	counts->softirqs++;
	counts->softirqs_inside += READ_ONCE(counts->inside);
	if (ws_simd_begin(&simd))
		ws_simd_end(&simd);
	else
		counts->refused++;
}

static void count_hardirqs(int cpu, void *argument)
{
	const struct stretches *stretches = argument;
	struct counts *counts = per_cpu_ptr(stretches->counts, cpu);

	counts->hardirqs_inside += READ_ONCE(counts->inside);
}

static void add_up(const struct stretches *stretches, struct counts *total)
{
	int cpu;

	memset(total, 0, sizeof(*total));
	for_each_possible_cpu(cpu) {
		const struct counts *counts = per_cpu_ptr(stretches->counts, cpu);

		total->softirqs += READ_ONCE(counts->softirqs);
		total->refused += READ_ONCE(counts->refused);
		total->softirqs_inside += READ_ONCE(counts->softirqs_inside);
		total->hardirqs_inside += READ_ONCE(counts->hardirqs_inside);
	}
}

/* Without interrupts in stretches a test would show nothing. */
static bool enough_interrupts(void *argument)
{
	const struct stretches *stretches = argument;
	struct counts total;

	add_up(stretches, &total);
	return total.softirqs >= LEAST_SOFTIRQS &&
	       total.hardirqs_inside >= LEAST_SOFTIRQS &&
	       (total.softirqs_inside || stretches->kind != ORDINARY);
}

static int count_interrupts(enum kind kind, struct counts *total)
{
	struct stretches stretches = { .kind = kind };
	struct timers softirqs = { .function = want_fpu, .argument = &stretches,
				   .softirq = true, .period_ns = PERIOD_NS };
	struct timers hardirqs = { .function = count_hardirqs,
				   .argument = &stretches,
				   .period_ns = PERIOD_NS + 7000 };
	int error;

	stretches.counts = alloc_percpu(struct counts);
	if (!stretches.counts)
		return -ENOMEM;
	error = timers_start(&softirqs);
	if (!error) {
		error = timers_start(&hardirqs);
		if (!error) {
			error = workers_run(1, spend_time, &stretches, SECTIONS_TIME_MS,
					    enough_interrupts);
			timers_stop(&hardirqs);
		}
		timers_stop(&softirqs);
	}
	add_up(&stretches, total);
	free_percpu(stretches.counts);
	return error;
}

/* By the module, or by the kernel's own section where that does it: both would cost more. */
static bool section_holds_once(void)
{
	struct ws_simd simd;
	unsigned long held;

	if (!ws_simd_begin(&simd))
		return false;
	held = softirq_count();
	ws_simd_end(&simd);
	return IS_ENABLED(CONFIG_PREEMPT_RT) || held == SOFTIRQ_DISABLE_OFFSET;
}

static int sections_hold_softirqs(struct report *report)
{
	struct counts counts[KINDS];
	enum kind kind;

	if (!section_holds_once())
		return failed(report, "a section disables softirqs not once");
	for (kind = 0; kind < KINDS; kind++) {
		int error = count_interrupts(kind, &counts[kind]);

		if (error)
			return failed(report, "error %d, kind %d", error, kind);
	}
	for (kind = SECTION; kind <= GUARD; kind++)
		if (counts[kind].softirqs_inside || counts[kind].refused)
			return failed(report, "kind %d: %llu softirqs came inside, %llu of %llu refused",
				      kind, counts[kind].softirqs_inside,
				      counts[kind].refused, counts[kind].softirqs);
	return passed(report,
		      "softirqs inside: %llu of %llu in ordinary code, %llu in bare sections (%llu refused), "
		      "none in those of the module, with %llu and %llu hard interrupts",
		      counts[ORDINARY].softirqs_inside, counts[ORDINARY].softirqs,
		      counts[BARE].softirqs_inside, counts[BARE].refused,
		      counts[SECTION].hardirqs_inside,
		      counts[GUARD].hardirqs_inside);
}

static u64 softirq_refusals(u64 *sections)
{
	struct ws_simd_statistics statistics;
	u64 refusals = 0;
	int cpu;

	*sections = 0;
	for_each_possible_cpu(cpu) {
		ws_simd_statistics(cpu, &statistics);
		*sections += statistics.sections[WS_SOFTIRQ];
		refusals += statistics.refusals[WS_SOFTIRQ];
	}
	return refusals;
}

static u32 read_errors;

static void read_long(struct worker *worker)
{
	u8 bytes[512];

	if (wellspring_get_bytes(bytes, sizeof(bytes)))
		WRITE_ONCE(read_errors, 1);
}

static void read_in_softirq(int cpu, void *argument)
{
	u8 bytes[256];

	if (wellspring_get_bytes(bytes, sizeof(bytes)))
		WRITE_ONCE(read_errors, 1);
}

/* The argument is the number of sections before. */
static bool softirqs_had_sections(void *argument)
{
	const u64 *before = argument;
	u64 sections;

	softirq_refusals(&sections);
	return sections > *before || ws_best_backend(ws_cipher) == WS_SCALAR;
}

/* The same with reads in tasks and softirqs, as the counts of debugfs show it. */
static int sections_of_reads(struct report *report)
{
	struct timers timers = { .function = read_in_softirq, .softirq = true,
				 .period_ns = PERIOD_NS / 4 };
	u64 before, sections_before, refused, sections;
	int error;

	read_errors = 0;
	before = softirq_refusals(&sections_before);
	error = timers_start(&timers);
	if (!error) {
		error = workers_run(1, read_long, &sections_before, SECTIONS_TIME_MS,
				    softirqs_had_sections);
		timers_stop(&timers);
	}
	if (error || read_errors)
		return failed(report, "error %d in %u reads", error, read_errors);
	refused = softirq_refusals(&sections) - before;
	sections -= sections_before;
	if (ws_best_backend(ws_cipher) == WS_SCALAR)
		return skipped(report, "the scalar backend needs no sections");
	if (refused)
		return failed(report, "%llu refusals, %llu sections in softirqs",
			      refused, sections);
	return passed(report, "0 refusals, %llu sections in softirqs", sections);
}

const struct test sections_tests[] = {
	{ "simd-in-softirqs/sections", sections_hold_softirqs },
	{ "simd-in-softirqs/reads", sections_of_reads },
	{}
};

/*
 * How much the module does at a time with interrupts or softirqs off. A probe on the
 * function that makes all keystreams looks at the interrupt flag of its caller.
 */

/* Four steps of a canonical read. */
#define READ_BYTES 16384
#define WRITE_BYTES 4096
/* The most of a write that may be hashed with softirqs off. */
#define MOST_WRITE_STEP_BYTES 512

static struct task_struct *watched;
static size_t longest_off_bytes, on_bytes;

/* ws_keystream_fill(keystream, buf, len) */
static int on_fill(struct kprobe *probe, struct pt_regs *registers)
{
	size_t len = regs_get_kernel_argument(registers, 2);

	if (current != READ_ONCE(watched))
		return 0;
	if (ws_arch_had_interrupts(registers))
		on_bytes += len;
	else
		longest_off_bytes = max(longest_off_bytes, len);
	return 0;
}

static struct kprobe fill_probe = {
	.symbol_name = "ws_keystream_fill",
	.pre_handler = on_fill,
};

static int watch_read(enum ws_mode mode, u8 *buf)
{
	int error;

	longest_off_bytes = 0;
	on_bytes = 0;
	WRITE_ONCE(watched, current);
	error = ws_read(mode, buf, READ_BYTES) ?: ws_read_sleeping(mode, buf, READ_BYTES);
	WRITE_ONCE(watched, NULL);
	return error;
}

/* A node's new key is made with interrupts off, and nothing longer. */
static int interrupts_reads(struct report *report)
{
	u8 *buf = kmalloc(READ_BYTES, GFP_KERNEL);
	enum ws_mode mode;
	int error;

	if (!buf)
		return failed(report, "no memory");
	fill_probe.addr = NULL;
	fill_probe.flags = 0;
	error = register_kprobe(&fill_probe);
	if (error) {
		kfree(buf);
		return IS_ENABLED(CONFIG_KPROBES) ?
			       failed(report, "no probe: error %d", error) :
			       skipped(report, "this kernel has no kprobes");
	}
	for (mode = 0; mode < WS_MODES; mode++) {
		error = watch_read(mode, buf);
		if (error || longest_off_bytes > WS_KEY_BYTES || on_bytes < 2 * READ_BYTES)
			break;
	}
	unregister_kprobe(&fill_probe);
	kfree(buf);
	if (mode < WS_MODES)
		return failed(report, "%s: error %d, at most %zu bytes with interrupts off, %zu with them on",
			      ws_mode_name(mode), error, longest_off_bytes, on_bytes);
	return passed(report, "at most %u bytes with interrupts off, in each mode",
		      WS_KEY_BYTES);
}

/* Each step of a write is one section, in which softirqs are off. */
static int interrupts_writes(struct report *report)
{
	struct ws_simd_statistics before, after;
	u8 *buf = kzalloc(WRITE_BYTES, GFP_KERNEL);
	u64 steps;

	if (!buf)
		return failed(report, "no memory");
	ws_harvester_park(true);
	migrate_disable();
	ws_simd_statistics(smp_processor_id(), &before);
	ws_mix(buf, WRITE_BYTES);
	ws_simd_statistics(smp_processor_id(), &after);
	migrate_enable();
	ws_harvester_park(false);
	kfree(buf);
	steps = after.sections[WS_TASK] - before.sections[WS_TASK] +
		after.refusals[WS_TASK] - before.refusals[WS_TASK];
	if (steps < WRITE_BYTES / MOST_WRITE_STEP_BYTES)
		return failed(report, "%u bytes in %llu steps", WRITE_BYTES, steps);
	return passed(report, "%u bytes in %llu steps", WRITE_BYTES, steps);
}

const struct test interrupts_tests[] = {
	{ "interrupts/reads", interrupts_reads },
	{ "interrupts/writes", interrupts_writes },
	{}
};

/*
 * Reads within NMIs. Secret bytes are refused there, and nothing is written. Pseudo
 * bytes are made, and an NMI in the middle of a call never gets that call's numbers.
 *
 * Someone outside sends the NMIs, such as the monitor of an emulator, and says so with
 * expects_nmi=1 when this module is loaded. They may come to one CPU alone, so each CPU
 * has its own sets.
 */

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
