/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Per-CPU queues that give up when busy, and the thread that empties them into the
 * pools and reseeds.
 */
#ifndef WELLSPRING_HARVEST_H
#define WELLSPRING_HARVEST_H

#include "source.h"

/* The events that a queue holds. */
#define WS_QUEUE_EVENTS 32

struct ws_queue_statistics {
	u64 events;		/* taken in */
	u64 dropped;		/* given up: full, or this CPU was at it already */
};

struct ws_harvest_statistics {
	u64 rounds;		/* of the thread */
	u64 given_up;		/* of these, because someone had the pools */
	u64 reseeds;		/* seeds taken from the pools */
	u64 held_back;		/* reseeds put off because node 0 had not read the last */
	u32 first_pool_bytes;
};

/* Feeds this CPU's queue, or gives up. Any context but NMI. */
void ws_harvest_push(enum ws_source source, const void *data, size_t bytes,
		     u32 credit_bits);

/* All below: task context; they wait for the pools. */

/* Straight into the pools; more than 32 bytes are hashed first. */
void ws_mix(enum ws_source source, const void *data, size_t bytes,
	    u32 credit_bits);
/*
 * An operator's order: draws on every source, reseeds however long ago the last was,
 * and bumps the generation in any case. 0, or -EAGAIN if there was nothing to reseed
 * from.
 */
int ws_reseed(void);

/* To be called by sources alone; the pools' lock is held. */
void ws_harvest_absorb(enum ws_source source, const void *data, size_t bytes,
		       u32 credit_bits);

void ws_queue_statistics(int cpu, struct ws_queue_statistics *statistics);
void ws_harvest_statistics(struct ws_harvest_statistics *statistics);

int ws_harvest_init(void);
void ws_harvest_exit(void);

#endif
