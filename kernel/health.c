// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The tests of SP 800-90B 4.4 for a source that claims full entropy, 8 bits per byte.
 *
 * They find a source that is dead or stuck, not one that is a little weak. The cutoffs
 * are for one false alarm in 2^40 samples, the rarest that the standard allows: with
 * 640 bytes per second, one in 54 years.
 */
#include "health.h"
#include "testing.h"

/* 4.4.1: 1 + ceil(40 / 8) */
#define REPETITION_CUTOFF 6
/* 4.4.2: 20 of 512 samples equal the first once in 2^40.9 windows. */
#define WINDOW_SAMPLES 512
#define PROPORTION_CUTOFF 20

void ws_health_init(struct ws_health *health)
{
	*health = (struct ws_health) { .last = -1 };
}
WS_EXPORT_FOR_TEST(ws_health_init);

static bool sample_passes(struct ws_health *health, u8 sample)
{
	health->run = health->last == sample ? health->run + 1 : 1;
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

bool ws_health_passes(struct ws_health *health, const u8 *samples, size_t bytes)
{
	bool passes = true;

	for (; bytes; bytes--)
		passes &= sample_passes(health, *samples++);
	return passes;
}
WS_EXPORT_FOR_TEST(ws_health_passes);
