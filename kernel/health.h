/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Continuous tests of raw samples: pure functions of the samples.
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
/* Goes over samples from where the last call ended, and says whether they pass. */
bool ws_health_passes(struct ws_health *health, const u8 *samples, size_t bytes);

#endif
