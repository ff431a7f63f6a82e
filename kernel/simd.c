// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The FPU section: the only place that knows where SIMD may be used.
 *
 * The kernel has one FPU state a CPU to lend, and it cannot be lent twice. Who can
 * come in between?
 *
 *   task     A section switches preemption off, so no other task can.
 *   softirq  Can, on the way out of any hard interrupt, and would find the FPU
 *            lent. Since 6.16 kernel_fpu_begin() holds softirqs back itself. Before,
 *            nobody does: with 1 kHz of softirqs on each of 8 CPUs that are all in
 *            sections, 97 % of the softirqs were refused (2684). So on those
 *            kernels softirqs are held back here, before the section begins, and
 *            run right after it: 0 refusals. That is why reads from a softirq are
 *            synchronous and full speed, with no worker and no second copy.
 *   hardirq  Can at any time, and is refused if it hits a section, or softirqs held
 *            back. The caller takes the scalar path: the same bytes, later.
 *   NMI      Never has an FPU, and gets no bytes at all (read.c).
 *
 * Softirqs cannot be held back where interrupts are off, and need not be: none
 * comes. In a hard interrupt none comes either.
 *
 * What is left on old kernels is a softirq that lands in a bare section of *another*
 * subsystem. It is refused like a hardirq, and counted. Sections are short, at most
 * WS_SECTION_BYTES of output, so that nobody is held back for long.
 */
#include <asm/fpu/api.h>
#include <linux/bottom_half.h>
#include <linux/compiler.h>
#include <linux/irqflags.h>
#include <linux/percpu.h>

#include "compat.h"
#include "simd.h"

static DEFINE_PER_CPU(struct ws_simd_statistics, statistics_of_cpu);

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
	*statistics = data_race(per_cpu(statistics_of_cpu, cpu));
}
WS_EXPORT_FOR_TEST(ws_simd_statistics);
