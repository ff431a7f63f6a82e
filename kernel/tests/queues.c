// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The queues of events: what one source sends takes no place from another.
 */
#include <linux/irqflags.h>
#include <linux/random.h>
#include <linux/smp.h>

#include "test.h"

static u64 dropped(enum ws_source source)
{
	struct ws_queue_statistics statistics;

	ws_queue_statistics(smp_processor_id(), source, &statistics);
	return statistics.dropped;
}

/*
 * Any user can have a CPU switch tasks as often as they like. The queue of that source
 * then drops, and the sample of hwrng that comes after it is taken in.
 */
static int queues_apart(struct report *report)
{
	u8 sample[WS_EVENT_BYTES];
	u64 switches, samples;
	unsigned long flags;
	u32 event;

	get_random_bytes(sample, sizeof(sample));
	ws_harvester_park(true);
	/* Drains all queues. */
	ws_reseed();
	local_irq_save(flags);
	switches = dropped(WS_SOURCE_SCHEDULER);
	samples = dropped(WS_SOURCE_HWRNG);
	for (event = 0; event < 2 * WS_QUEUE_EVENTS; event++)
		ws_queue_push(WS_SOURCE_SCHEDULER, &event, sizeof(event), 0);
	ws_queue_push(WS_SOURCE_HWRNG, sample, sizeof(sample), 0);
	switches = dropped(WS_SOURCE_SCHEDULER) - switches;
	samples = dropped(WS_SOURCE_HWRNG) - samples;
	local_irq_restore(flags);
	ws_harvester_park(false);
	if (switches < WS_QUEUE_EVENTS)
		return failed(report, "a full queue dropped %llu events", switches);
	if (samples)
		return failed(report, "a flood of task switches displaced a sample of hwrng");
	return passed(report, "%llu task switches dropped, no sample of hwrng",
		      switches);
}

const struct test queues_tests[] = {
	{ "queues/apart", queues_apart },
	{}
};
