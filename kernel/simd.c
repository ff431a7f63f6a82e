// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The FPU section: the only place that knows where SIMD may be used.
 *
 * A CPU has one set of FPU registers, and the kernel lends it to one user at a time.
 * Who can interrupt a section and ask for the FPU too?
 *
 *   task     Cannot: a section switches preemption off.
 *   softirq  Can, at the end of any hard interrupt, and then finds the FPU in use:
 *            with 8 CPUs in sections and 1000 softirqs a second on each, 97 % of the
 *            softirqs (2684) were refused. So we disable softirqs before the section
 *            begins. They run right after it: 0 refusals. A read in a softirq is
 *            therefore synchronous and uses SIMD. Since 6.16 kernel_fpu_begin() does
 *            the same. With PREEMPT_RT softirqs are threads, and local_bh_disable()
 *            takes a lock that may sleep: there we switch preemption off.
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
 *
 * On arm64 there is no SIMD in hard interrupts, and before 6.19 none while interrupts are off:
 * not for a node's new key, 32 bytes. That is the rule there, and no refusal.
 *
 * The kernel leaves in the registers what was there at the end of a section, until a task
 * returns to user mode on this CPU. That is output, keys, and the
 * states of hashes. So the section's end wipes them. The library's sections end before we
 * can do that, so another section follows on the same CPU.
 */
#include <linux/bottom_half.h>
#include <linux/compiler.h>
#include <linux/export.h>
#include <linux/irqflags.h>
#include <linux/percpu.h>
#include <linux/string.h>

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

int ws_simd_init(void)
{
	ws_arch_simd_init();
	return 0;
}

/*
 * The library's ChaCha20 puts 128 bytes of output on the stack where it has AVX2, and its
 * SHA-256 half a kilobyte of the message. It does not wipe them.
 */
#define LIBRARY_STACK_BYTES 768

/* Not inlined: this is the stack that the library had, below the frame of our caller. */
static noinline void wipe_stack(void)
{
	u8 stack[LIBRARY_STACK_BYTES];

	memzero_explicit(stack, sizeof(stack));
}

static void release_cpu(const struct ws_simd *simd)
{
	if (!simd->holds_cpu)
		return;
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_enable();
	else
		local_bh_enable();
}

bool ws_simd_guard(struct ws_simd *simd)
{
	simd->holds_cpu = !in_hardirq() && !irqs_disabled();
	if (simd->holds_cpu) {
		if (IS_ENABLED(CONFIG_PREEMPT_RT))
			preempt_disable();
		else
			local_bh_disable();
	}
	simd->is_usable = ws_arch_simd_usable();
	simd->is_refused = !simd->is_usable &&
			   !(WS_ARCH_SIMD_WANTS_INTERRUPTS && irqs_disabled());
	if (simd->is_usable)
		this_cpu_inc(statistics_of_cpu.sections[ws_context()]);
	else if (simd->is_refused)
		this_cpu_inc(statistics_of_cpu.refusals[ws_context()]);
	return simd->is_usable;
}
EXPORT_SYMBOL_GPL(ws_simd_guard);

void ws_simd_unguard(struct ws_simd *simd)
{
	if (simd->is_usable) {
		ws_arch_simd_begin(&simd->arch);
		ws_arch_simd_wipe();
		ws_arch_simd_end(&simd->arch);
		wipe_stack();
	}
	release_cpu(simd);
}
EXPORT_SYMBOL_GPL(ws_simd_unguard);

bool ws_simd_begin(struct ws_simd *simd)
{
	if (!ws_simd_guard(simd)) {
		release_cpu(simd);
		return false;
	}
	ws_arch_simd_begin(&simd->arch);
	return true;
}
EXPORT_SYMBOL_GPL(ws_simd_begin);

void ws_simd_end(struct ws_simd *simd)
{
	ws_arch_simd_wipe();
	ws_arch_simd_end(&simd->arch);
	release_cpu(simd);
}
EXPORT_SYMBOL_GPL(ws_simd_end);

void ws_simd_statistics(int cpu, struct ws_simd_statistics *statistics)
{
	/* Counts that are a little old will do. */
	*statistics = data_race(per_cpu(statistics_of_cpu, cpu));
}
WS_EXPORT_FOR_TEST(ws_simd_statistics);
