// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Sections as kernel_fpu_begin() and irq_fpu_usable() have them in arch/x86/kernel/fpu/core.c,
 * without the XSAVE of the task's registers.
 */
#include <linux/bottom_half.h>
#include <linux/bug.h>
#include <linux/irqflags.h>
#include <linux/percpu.h>
#include <linux/preempt.h>

#include "machine.h"
#include "internal.h"

static DEFINE_PER_CPU(bool, in_section);

bool ws_arch_simd_usable(void)
{
	if (in_nmi() || this_cpu_read(in_section))
		return false;
	return !in_hardirq() || !softirq_count();
}
WS_EXPORT_FOR_TEST(ws_arch_simd_usable);

void ws_arch_simd_begin(struct ws_arch_simd *arch)
{
	if (!irqs_disabled())
		local_bh_disable();
	WARN_ON_ONCE(!ws_arch_simd_usable());
	this_cpu_write(in_section, true);
}
WS_EXPORT_FOR_TEST(ws_arch_simd_begin);

void ws_arch_simd_end(struct ws_arch_simd *arch)
{
	this_cpu_write(in_section, false);
	if (!irqs_disabled())
		local_bh_enable();
}
WS_EXPORT_FOR_TEST(ws_arch_simd_end);
