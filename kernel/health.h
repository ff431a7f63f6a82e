/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Continuous health tests of raw samples (SP 800-90B 4.4), and what follows from them.
 */
#ifndef WELLSPRING_HEALTH_H
#define WELLSPRING_HEALTH_H

#include <linux/types.h>

/* The samples that must pass in a row before a quarantine ends. */
#define WS_HEALTH_RETURN_SAMPLES 1024
/* 3 failures, without WS_HEALTH_FORGET_SAMPLES good samples between, disable a source. */
#define WS_HEALTH_MAX_FAILURES 3
#define WS_HEALTH_FORGET_SAMPLES (1 << 16)

enum ws_health_state {
	WS_HEALTH_ACTIVE,	/* samples are used */
	WS_HEALTH_QUARANTINED,	/* it failed: samples are tested and thrown away */
	WS_HEALTH_DISABLED,	/* it failed too often */
};

/* All zeros is a source of which nothing is known: active. */
struct ws_health {
	enum ws_health_state state;
	u32 passed;		/* samples since the last failure */
	u32 failures;		/* in a row */
	/* Repetition count (4.4.1) */
	u8 last;
	u32 run;		/* how often the last sample came; 0 before the first */
	/* Adaptive proportion (4.4.2) */
	u8 first;
	u32 position;
	u32 count;
};

/* Tests samples of one byte each. True if they may be used. */
bool ws_health_judge(struct ws_health *health, const u8 *samples, size_t len);
/* "active", "quarantined" or "disabled". */
const char *ws_health_state_name(enum ws_health_state state);

#endif
