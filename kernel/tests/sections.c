// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SIMD in softirqs. All CPUs spend their time in stretches of code. A hard
 * interrupt and a softirq come into these a thousand times per second. The
 * softirq asks for the FPU. In a stretch of ordinary code softirqs come; in
 * the module's sections they wait.
 */
#include <linux/delay.h>
#include <linux/percpu.h>

#include "test.h"
#include "timers.h"
#include "workers.h"

/* Much longer than the module's sections, so that most interrupts come in one. */
#define STRETCH_US 900
#define PERIOD_NS 1000000
#define TIME_MS 500
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
			error = workers_run(1, spend_time, &stretches, TIME_MS,
					    enough_interrupts);
			timers_stop(&hardirqs);
		}
		timers_stop(&softirqs);
	}
	add_up(&stretches, total);
	free_percpu(stretches.counts);
	return error;
}

static int sections_hold_softirqs(struct report *report)
{
	struct counts counts[KINDS];
	enum kind kind;

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
		error = workers_run(1, read_long, &sections_before, TIME_MS,
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
