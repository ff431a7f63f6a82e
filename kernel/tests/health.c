// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Health tests, alone, and between raw samples and the pools.
 */
#include <linux/irqflags.h>
#include <linux/random.h>

#include "test.h"

/* Feeds samples until the state is @wanted. How many it took, or 0 after @most. */
static unsigned int feed_until(struct ws_health *health, bool constant,
			       enum ws_health_state wanted, unsigned int most)
{
	unsigned int fed;

	for (fed = 1; fed <= most; fed++) {
		u8 sample = constant ? 7 : get_random_u32();

		ws_health_judge(health, &sample, 1);
		if (health->state == wanted)
			return fed;
	}
	return 0;
}

static int health_states(struct report *report)
{
	struct ws_health health = { };
	unsigned int fed;

	if (feed_until(&health, false, WS_HEALTH_QUARANTINED, 1 << 20))
		return failed(report, "random samples are quarantined");
	fed = feed_until(&health, true, WS_HEALTH_QUARANTINED, 100);
	if (fed < 40 || fed > 41)
		return failed(report, "quarantined after %u equal samples", fed);
	fed = feed_until(&health, false, WS_HEALTH_ACTIVE, 2000);
	if (fed != 1024)
		return failed(report, "active again after %u samples", fed);
	if (!feed_until(&health, true, WS_HEALTH_QUARANTINED, 100))
		return failed(report, "the second failure is no quarantine");
	if (!feed_until(&health, true, WS_HEALTH_DISABLED, 100))
		return failed(report, "the third failure does not disable");
	if (feed_until(&health, false, WS_HEALTH_ACTIVE, 10000))
		return failed(report, "a disabled source came back");
	return passed(report, "quarantined, active again, disabled");
}

/* Two thirds of the samples equal the first, never many in a row. */
static int health_proportion(struct report *report)
{
	struct ws_health health = { };
	unsigned int fed;

	for (fed = 0; fed < 512; fed++) {
		u8 sample = fed % 3 ? 7 : 8;

		if (!fed)
			sample = 7;
		ws_health_judge(&health, &sample, 1);
	}
	if (health.state != WS_HEALTH_QUARANTINED)
		return failed(report, "341 of 512 equal samples pass");
	return passed(report, "341 of 512 equal samples fail");
}

static enum ws_health_state hwrng_health(u64 *events)
{
	struct ws_source_statistics source;

	ws_source_statistics(WS_SOURCE_HWRNG, &source);
	*events = source.events;
	return source.health;
}

/* Like the hook, straight to the queue. */
static void push(const u8 *sample)
{
	ws_queue_push(WS_SOURCE_HWRNG, sample, WS_EVENT_BYTES, 0);
}

static void push_and_harvest(unsigned int events, bool constant)
{
	u8 sample[WS_EVENT_BYTES] = {};

	ws_reseed();
	for (; events; events--) {
		if (!constant)
			get_random_bytes(sample, sizeof(sample));
		push(sample);
	}
	ws_reseed();
}

/* Enough good samples that failures of this test are forgotten. */
static bool feed_good_samples(void)
{
	unsigned int pushed;
	u64 events;

	for (pushed = 0; pushed < 2 * WS_HEALTH_FORGET_SAMPLES / WS_EVENT_BYTES;
	     pushed += WS_QUEUE_EVENTS / 2)
		push_and_harvest(WS_QUEUE_EVENTS / 2, false);
	return hwrng_health(&events) == WS_HEALTH_ACTIVE;
}

static int health_raw_samples(struct report *report)
{
	u64 before, after;

	/* 64 samples: one failure, and not yet the next. */
	push_and_harvest(2, true);
	if (hwrng_health(&before) != WS_HEALTH_QUARANTINED)
		return failed(report, "a stuck hwrng is used");
	push_and_harvest(1, false);
	hwrng_health(&after);
	if (after != before)
		return failed(report, "samples of a quarantined source are used");
	if (!feed_good_samples())
		return failed(report, "the quarantine does not end");
	return passed(report, "quarantined, and active again");
}

const struct test health_tests[] = {
	{ "health/states", health_states },
	{ "health/proportion", health_proportion },
	{ "health/raw-samples", health_raw_samples },
	{}
};
