/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The FPU section, and the contexts that a read can come from; simd.c explains.
 */
#ifndef WELLSPRING_SIMD_H
#define WELLSPRING_SIMD_H

#include <linux/preempt.h>
#include <linux/types.h>

/* The output made in one FPU section at most: about 2 us of AES-NI. */
#define WS_SECTION_BYTES 4096

/* Who may be interrupted by whom: each by all that follow it. */
enum ws_context {
	WS_TASK,
	WS_SOFTIRQ,
	WS_HARDIRQ,
	WS_CONTEXTS,
};

static inline enum ws_context ws_context(void)
{
	if (in_hardirq())
		return WS_HARDIRQ;
	return in_serving_softirq() ? WS_SOFTIRQ : WS_TASK;
}

/* A section that was begun. */
struct ws_simd {
	bool softirqs_held;
};

/* What one CPU did with its FPU, for each context. */
struct ws_simd_statistics {
	u64 sections[WS_CONTEXTS];
	u64 refusals[WS_CONTEXTS];
};

/* Any context but NMI. False: the FPU is not to be had; the refusal is counted. */
bool ws_simd_begin(struct ws_simd *simd);
void ws_simd_end(const struct ws_simd *simd);

/* The same without the FPU itself: around library code with a section of its own. */
bool ws_simd_guard(struct ws_simd *simd);
void ws_simd_unguard(const struct ws_simd *simd);

void ws_simd_statistics(int cpu, struct ws_simd_statistics *statistics);

#endif
