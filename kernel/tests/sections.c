// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SIMD in softirqs. All CPUs spend their time in FPU sections, and a thousand times per
 * second a softirq asks for the FPU too: first with the bare sections of the kernel, then
 * with those of the module.
 */
#include <asm/fpu/api.h>
#include <linux/delay.h>
#include <linux/percpu.h>

#include "test.h"
#include "timers.h"
#include "workers.h"

/* Much longer than the module's sections, so that most softirqs interrupt one. */
#define SECTION_US 900
#define PERIOD_NS 1000000
#define TIME_MS 1000
#define LEAST_SOFTIRQS 50

struct counts {
	u64 softirqs;
	u64 refused;
};

struct sections {
	bool bare;
	struct counts __percpu *counts;
};

static void spend_time(struct worker *worker)
{
	const struct sections *sections = worker->argument;
	struct ws_simd simd;

	if (sections->bare) {
		kernel_fpu_begin();
		udelay(SECTION_US);
		kernel_fpu_end();
	} else if (ws_simd_begin(&simd)) {
		udelay(SECTION_US);
		ws_simd_end(&simd);
	}
}

static void want_fpu(int cpu, void *argument)
{
	const struct sections *sections = argument;
	struct counts *counts = per_cpu_ptr(sections->counts, cpu);
	struct ws_simd simd;

	counts->softirqs++;
	if (ws_simd_begin(&simd))
		ws_simd_end(&simd);
	else
		counts->refused++;
}

static void add_up(const struct sections *sections, struct counts *total)
{
	int cpu;

	memset(total, 0, sizeof(*total));
	for_each_possible_cpu(cpu) {
		const struct counts *counts = per_cpu_ptr(sections->counts, cpu);

		total->softirqs += READ_ONCE(counts->softirqs);
		total->refused += READ_ONCE(counts->refused);
	}
}

/* And refusals, where bare sections must show some. */
static bool enough_softirqs(void *argument)
{
	const struct sections *sections = argument;
	struct counts total;

	add_up(sections, &total);
	return total.softirqs >= LEAST_SOFTIRQS &&
	       (total.refused || !sections->bare || WS_SECTION_HOLDS_SOFTIRQS);
}

static int count_refusals(bool bare, struct counts *total)
{
	struct sections sections = { .bare = bare };
	struct timers timers = { .function = want_fpu, .argument = &sections,
				 .softirq = true, .period_ns = PERIOD_NS };
	int error;

	sections.counts = alloc_percpu(struct counts);
	if (!sections.counts)
		return -ENOMEM;
	error = timers_start(&timers);
	if (!error) {
		error = workers_run(1, spend_time, &sections, TIME_MS,
				    enough_softirqs);
		timers_stop(&timers);
	}
	add_up(&sections, total);
	free_percpu(sections.counts);
	return error;
}

static int sections_hold_softirqs(struct report *report)
{
	struct counts bare, ours;
	int error = count_refusals(true, &bare);

	if (!error)
		error = count_refusals(false, &ours);
	if (error)
		return failed(report, "error %d", error);
	if (ours.refused)
		return failed(report, "%llu of %llu softirqs refused", ours.refused,
			      ours.softirqs);
	return passed(report,
		      "refused: %llu of %llu with bare sections, %llu of %llu with those of the module",
		      bare.refused, bare.softirqs, ours.refused, ours.softirqs);
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
