/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A queue of events for each CPU and source. It is lossy: a push never waits, and is
 * dropped if the queue is full or busy. A flood in one source takes no place from another.
 */
#ifndef WELLSPRING_QUEUE_H
#define WELLSPRING_QUEUE_H

#include "pool.h"
#include "source.h"

/* The events that a queue holds. */
#define WS_QUEUE_EVENTS 32

struct ws_queue_statistics {
	u64 events;		/* taken in */
	u64 dropped;		/* not taken in: full, or a push was under way already */
};

/* An event that happens now. At most WS_EVENT_BYTES are copied. Any context. */
void ws_event_init(struct ws_event *event, enum ws_source source,
		   const void *data, size_t len, u32 credit_bits);

/* To this CPU's queue of this source. Any context but NMI. */
void ws_queue_push(enum ws_source source, const void *data, size_t len,
		   u32 credit_bits);

/*
 * Hands each event of a CPU's queues to @absorb, at most WS_QUEUE_EVENTS of each source,
 * and wipes it. One caller at a time. The CPU may be offline.
 */
void ws_queue_drain(int cpu, void (*absorb)(const struct ws_event *event));

void ws_queue_statistics(int cpu, enum ws_source source,
			 struct ws_queue_statistics *statistics);

int ws_queues_init(void);
void ws_queues_exit(void);

#endif
