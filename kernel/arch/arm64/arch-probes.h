/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Where this machine has NMIs, they are ordinary interrupts with another priority, and no
 * handler can be added to all of them: a registration fails.
 */
#ifndef WELLSPRING_ARCH_PROBES_H
#define WELLSPRING_ARCH_PROBES_H

#include <asm/ptrace.h>
#include <linux/errno.h>
#include <linux/kprobes.h>

#define NMI_LOCAL 0
#define NMI_HANDLED 1
#define register_nmi_handler(type, function, flags, name) ((void)(function), -EOPNOTSUPP)
#define unregister_nmi_handler(type, name) do { } while (0)

/* Whether what a probe interrupted had interrupts on. */
static inline bool ws_arch_had_interrupts(const struct pt_regs *registers)
{
	return interrupts_enabled(registers);
}

#endif
