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
	u64 reseeds;		/* seeds taken from the pools */
	u64 held_back;		/* reseeds put off: node 0 had not taken the last seed */
	u32 first_pool_bytes;
};

/* Task context. All of them may sleep until the pools are free. */

/*
 * An operator's order: credits what was given to ws_mix() before, and reseeds at once.
 * When it returns, node 0 has the data and the credit. 0, or -EAGAIN if the pools had
 * no seed.
 */
int ws_credit(u32 credit_bits);
/*
 * An operator's order: draws on every source, reseeds even if the last reseed was less
 * than 100 ms ago, and bumps the generation in any case. 0, or -EAGAIN if the pools had
 * no seed.
 */
int ws_reseed(void);

/* For tests: no round of the thread begins until it is called with false. */
void ws_collector_park(bool park);

void ws_collector_statistics(struct ws_collector_statistics *statistics);

int ws_collector_init(void);
void ws_collector_exit(void);

#endif
