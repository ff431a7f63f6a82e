/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * FPU sections, and the contexts that a read can come from. simd.c explains them.
 */
#ifndef WELLSPRING_SIMD_H
#define WELLSPRING_SIMD_H

#include <linux/preempt.h>
/* With PREEMPT_RT each task counts the softirqs that it disabled. */
#include <linux/sched.h>
#include <linux/types.h>

#include "arch-simd.h"

/* The most output of one FPU section: about 2 us of AES-NI. */
#define WS_SECTION_BYTES 4096

/* Each context can be interrupted by all that follow it. */
enum ws_context {
	WS_TASK,
	WS_SOFTIRQ,
	WS_HARDIRQ,
	WS_CONTEXTS,
	WS_NMI = WS_CONTEXTS,	/* has nothing of ours */
};

static inline enum ws_context ws_context(void)
{
	unsigned int level = interrupt_context_level();

	/* With PREEMPT_RT the preemption count does not know of softirqs. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && !level)
		level = !!in_serving_softirq();
	return level;
}

/* "task", "softirq" or "hardirq". */
const char *ws_context_name(enum ws_context context);

/* A section that has begun, or was refused. */
struct ws_simd {
	bool is_usable;
	bool is_refused;	/* not usable where it mostly is, and counted */
	bool holds_cpu;
	struct ws_arch_simd arch;
};

/* For one CPU, by context. */
struct ws_simd_statistics {
	u64 sections[WS_CONTEXTS];
	u64 refusals[WS_CONTEXTS];
};

/* Which registers there are to wipe. */
int ws_simd_init(void);

/*
 * Any context but NMI. False: the FPU cannot be used here; the refusal is counted, and
 * there is nothing to end. The end wipes all vector registers.
 */
bool ws_simd_begin(struct ws_simd *simd);
void ws_simd_end(struct ws_simd *simd);

/*
 * The same around functions of the kernel's library on secrets, which begin and end FPU
 * sections themselves, or use scalar code where the FPU is refused: the library may be
 * called, and ws_simd_unguard() follows, in either case.
 */
bool ws_simd_guard(struct ws_simd *simd);
void ws_simd_unguard(struct ws_simd *simd);

void ws_simd_statistics(int cpu, struct ws_simd_statistics *statistics);

#endif
