/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef WELLSPRING_ARCH_PSEUDO_H
#define WELLSPRING_ARCH_PSEUDO_H

#include <asm/cpufeature.h>
#include <linux/percpu.h>

#include "pseudo.h"

static inline bool ws_arch_can_replace(void)
{
	return boot_cpu_has(X86_FEATURE_CX16);
}

/* In one instruction: if this CPU's state is @old, makes it @next. True if it was. */
static inline bool ws_arch_replace(struct ws_pseudo __percpu *state,
				   const struct ws_pseudo *old,
				   const struct ws_pseudo *next)
{
	u64 low = old->words[0], high = old->words[1];
	bool replaced;

	/* The kernel's own macro for this changed its name twice since 6.1. */
	asm volatile("cmpxchg16b %%gs:(%[state])"
		     : "=@ccz" (replaced), "+a" (low), "+d" (high)
		     : [state] "r" ((__force unsigned long)state),
		       "b" (next->words[0]), "c" (next->words[1])
		     : "memory");
	return replaced;
}

#endif
