/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef WELLSPRING_ARCH_PROBES_H
#define WELLSPRING_ARCH_PROBES_H

#include <asm/nmi.h>
#include <asm/processor-flags.h>
#include <linux/kprobes.h>

/* Whether what a probe or an NMI interrupted had interrupts on. */
static inline bool ws_arch_had_interrupts(const struct pt_regs *registers)
{
	return registers->flags & X86_EFLAGS_IF;
}

#endif
