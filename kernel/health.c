// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The tests of SP 800-90B 4.4 for samples of 8 bits with at least 1 bit of
 * min-entropy.
 *
 * They find a source that is dead or stuck, not one that is a little weak. The cutoffs
 * are for one false alarm in 2^40 samples, the rarest that the standard allows.
 */
#include <linux/limits.h>
#include <linux/minmax.h>

#include "health.h"
#include "testing.h"

/* 4.4.1: 1 + ceil(40 / 1) */
#define REPETITION_CUTOFF 41
/* 4.4.2: of 512 samples, 337 equal the first with a chance of at most 2^-40. */
#define WINDOW_SAMPLES 512
#define PROPORTION_CUTOFF 337

static bool sample_passes(struct ws_health *health, u8 sample)
{
	bool repeats = health->run && health->last == sample;

	health->run = repeats ? min(health->run, U32_MAX - 1) + 1 : 1;
	health->last = sample;

	if (health->position == 0) {
		health->first = sample;
		health->count = 0;
	}
	health->count += health->first == sample;
	health->position = (health->position + 1) % WINDOW_SAMPLES;

	return health->run < REPETITION_CUTOFF &&
	       health->count < PROPORTION_CUTOFF;
}

static void sample_failed(struct ws_health *health)
{
	if (health->passed >= WS_HEALTH_FORGET_SAMPLES)
		health->failures = 0;
	health->failures++;
	health->state = health->failures < WS_HEALTH_MAX_FAILURES ?
				WS_HEALTH_QUARANTINED : WS_HEALTH_DISABLED;
	/* Both tests start again. */
	health->passed = 0;
	health->run = 0;
	health->position = 0;
}

static void sample_passed(struct ws_health *health)
{
	health->passed = min(health->passed, U32_MAX - 1) + 1;
	if (health->state == WS_HEALTH_QUARANTINED &&
	    health->passed >= WS_HEALTH_RETURN_SAMPLES)
		health->state = WS_HEALTH_ACTIVE;
}

bool ws_health_judge(struct ws_health *health, const u8 *samples, size_t len)
{
	enum ws_health_state before = health->state;

	for (; len && health->state != WS_HEALTH_DISABLED; len--) {
		if (sample_passes(health, *samples++))
			sample_passed(health);
		else
			sample_failed(health);
	}
	/* The samples that end a quarantine are not used themselves. */
	return before == WS_HEALTH_ACTIVE && health->state == WS_HEALTH_ACTIVE;
}
WS_EXPORT_FOR_TEST(ws_health_judge);

const char *ws_health_state_name(enum ws_health_state state)
{
	static const char *const names[] = {
		[WS_HEALTH_ACTIVE] = "active",
		[WS_HEALTH_QUARANTINED] = "quarantined",
		[WS_HEALTH_DISABLED] = "disabled",
	};

	return names[state];
}
