/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * User Mode Linux has neither kprobes nor NMIs. A registration fails there, and none of the
 * handlers is ever called.
 */
#ifndef WELLSPRING_ARCH_PROBES_H
#define WELLSPRING_ARCH_PROBES_H

#include <linux/errno.h>
#include <linux/kprobes.h>

struct pt_regs;

#define NMI_LOCAL 0
#define NMI_HANDLED 1
#define register_nmi_handler(type, function, flags, name) ((void)(function), -EOPNOTSUPP)
#define unregister_nmi_handler(type, name) do { } while (0)

static inline unsigned long regs_get_kernel_argument(struct pt_regs *registers,
						     unsigned int number)
{
	return 0;
}

static inline bool ws_arch_had_interrupts(const struct pt_regs *registers)
{
	return true;
}

#endif
