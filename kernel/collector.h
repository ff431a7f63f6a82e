/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The collector: owns the pools, and a thread that draws on sources, drains the queues
 * into the pools, and delivers seeds when a reseed is due.
 */
#ifndef WELLSPRING_COLLECTOR_H
#define WELLSPRING_COLLECTOR_H

#include "source.h"

struct ws_collector_statistics {
	u64 rounds;		/* of the thread */
	u64 skipped;		/* rounds that ended at once: the pools were in use */
	u64 reseeds;		/* seeds taken from the pools */
	u64 held_back;		/* reseeds put off: node 0 had not taken the last seed */
	u32 first_pool_bytes;
};

/* Task context. All of them may sleep until the pools are free. */

/* Mixes data into the pools. More than 32 bytes are hashed first. */
void ws_mix(enum ws_source source, const void *data, size_t bytes,
	    u32 credit_bits);
/*
 * An operator's order: draws on every source, reseeds even if the last reseed was less
 * than 100 ms ago, and bumps the generation in any case. 0, or -EAGAIN if the pools had
 * no seed.
 */
int ws_reseed(void);

void ws_collector_statistics(struct ws_collector_statistics *statistics);

int ws_collector_init(void);
void ws_collector_exit(void);

#endif
