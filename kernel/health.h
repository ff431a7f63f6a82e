/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Continuous health tests of samples (SP 800-90B 4.4).
 */
#ifndef WELLSPRING_HEALTH_H
#define WELLSPRING_HEALTH_H

#include <linux/types.h>

struct ws_health {
	/* Repetition count (SP 800-90B 4.4.1) */
	int last;
	u32 run;
	/* Adaptive proportion (SP 800-90B 4.4.2) */
	int first;
	u32 position;
	u32 count;
};

void ws_health_init(struct ws_health *health);
/* Tests the samples that follow those of the last call. True if all pass. */
bool ws_health_passes(struct ws_health *health, const u8 *samples, size_t bytes);

#endif
