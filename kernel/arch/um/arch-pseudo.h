/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * User Mode Linux has no segment for the memory of a CPU. A task that moves to another CPU
 * between the address and the instruction would replace a state beside its owner.
 */
#ifndef WELLSPRING_ARCH_PSEUDO_H
#define WELLSPRING_ARCH_PSEUDO_H

#include <asm/cpufeature.h>
#include <linux/percpu.h>
#include <linux/preempt.h>

#include "pseudo.h"

static inline bool ws_arch_can_replace(void)
{
	return boot_cpu_has(X86_FEATURE_CX16);
}

static inline bool ws_arch_replace(struct ws_pseudo __percpu *state,
				   const struct ws_pseudo *old,
				   const struct ws_pseudo *next)
{
	u64 low = old->words[0], high = old->words[1];
	bool replaced;

	preempt_disable_notrace();
	asm volatile("cmpxchg16b (%[state])"
		     : "=@ccz" (replaced), "+a" (low), "+d" (high)
		     : [state] "r" (raw_cpu_ptr(state)),
		       "b" (next->words[0]), "c" (next->words[1])
		     : "memory");
	preempt_enable_notrace();
	return replaced;
}

#endif
