// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The FPU section: the only place that knows where SIMD may be used.
 *
 * A CPU has one set of FPU registers, and the kernel lends it to one user at a time.
 * Who can interrupt a section and ask for the FPU too?
 *
 *   task     Cannot: a section switches preemption off.
 *   softirq  Can, at the end of any hard interrupt, and then finds the FPU in use.
 *            Since 6.16 kernel_fpu_begin() disables softirqs itself. Before, it does
 *            not: with 8 CPUs in sections and 1000 softirqs a second on each, 97 % of
 *            the softirqs (2684) were refused. So on those kernels we disable softirqs
 *            before the section begins. They run right after it: 0 refusals. A read in
 *            a softirq is therefore synchronous and uses SIMD.
 *   hardirq  Can at any time. It is refused if it interrupts a section, or code with
 *            softirqs disabled, and takes the scalar backend: the same bytes, later.
 *   NMI      Never has an FPU, and gets no bytes (read.c).
 *
 * Where interrupts are off, and in a hard interrupt, no softirq can come, and softirqs
 * must not be disabled.
 *
 * One case is left on old kernels: a softirq that interrupts a section of *another*
 * subsystem. It is refused like a hard interrupt, and counted. Our sections are short,
 * at most WS_SECTION_BYTES of output, so that softirqs wait a few microseconds only.
 */
#include <asm/fpu/api.h>
#include <linux/bottom_half.h>
#include <linux/compiler.h>
#include <linux/irqflags.h>
#include <linux/percpu.h>

#include "compat.h"
#include "simd.h"
#include "testing.h"

static DEFINE_PER_CPU(struct ws_simd_statistics, statistics_of_cpu);

const char *ws_context_name(enum ws_context context)
{
	static const char *const names[WS_CONTEXTS] = {
		[WS_TASK] = "task",
		[WS_SOFTIRQ] = "softirq",
		[WS_HARDIRQ] = "hardirq",
	};

	return names[context];
}

bool ws_simd_guard(struct ws_simd *simd)
{
	simd->softirqs_held = !WS_SECTION_HOLDS_SOFTIRQS && !in_hardirq() &&
			      !irqs_disabled();
	if (simd->softirqs_held)
		local_bh_disable();
	if (irq_fpu_usable()) {
		this_cpu_inc(statistics_of_cpu.sections[ws_context()]);
		return true;
	}
	this_cpu_inc(statistics_of_cpu.refusals[ws_context()]);
	ws_simd_unguard(simd);
	return false;
}

void ws_simd_unguard(const struct ws_simd *simd)
{
	if (simd->softirqs_held)
		local_bh_enable();
}

bool ws_simd_begin(struct ws_simd *simd)
{
	if (!ws_simd_guard(simd))
		return false;
	kernel_fpu_begin();
	return true;
}
WS_EXPORT_FOR_TEST(ws_simd_begin);

void ws_simd_end(const struct ws_simd *simd)
{
	kernel_fpu_end();
	ws_simd_unguard(simd);
}
WS_EXPORT_FOR_TEST(ws_simd_end);

void ws_simd_statistics(int cpu, struct ws_simd_statistics *statistics)
{
	/* Counts that are a little old will do. */
	*statistics = data_race(per_cpu(statistics_of_cpu, cpu));
}
WS_EXPORT_FOR_TEST(ws_simd_statistics);
