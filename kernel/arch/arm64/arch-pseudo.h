/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A pair of exclusive instructions: an interrupt between them, or a write of another CPU, makes
 * the store fail. Every CPU of 64 bits has them, and an NMI may come. CASP would need Armv8.1,
 * and two more registers for the old words.
 */
#ifndef WELLSPRING_ARCH_PSEUDO_H
#define WELLSPRING_ARCH_PSEUDO_H

#include <linux/percpu.h>

#include "pseudo.h"

static inline bool ws_arch_can_replace(void)
{
	return true;
}

/*
 * If the state of this CPU is @old, makes it @next. True if it was. Of another CPU after a
 * migration, it is another state.
 */
static inline bool ws_arch_replace(struct ws_pseudo __percpu *state,
				   const struct ws_pseudo *old,
				   const struct ws_pseudo *next)
{
	struct ws_pseudo *here = raw_cpu_ptr(state);
	u64 low, high;
	bool replaced;
	u32 failed;

	asm volatile("1:	ldxp	%[low], %[high], %[here]\n"
		     "	cmp	%[low], %[old_low]\n"
		     "	ccmp	%[high], %[old_high], #0, eq\n"
		     "	b.ne	2f\n"
		     "	stxp	%w[failed], %[next_low], %[next_high], %[here]\n"
		     "	cbnz	%w[failed], 1b\n"
		     "2:"
		     : "=@cceq" (replaced), [here] "+Q" (*here), [low] "=&r" (low),
		       [high] "=&r" (high), [failed] "=&r" (failed)
		     : [old_low] "r" (old->words[0]), [old_high] "r" (old->words[1]),
		       [next_low] "r" (next->words[0]), [next_high] "r" (next->words[1]));
	return replaced;
}

#endif
