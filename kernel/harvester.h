/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The harvester: owns the pools, and a thread that draws on sources, drains the queues
 * into the pools, and delivers seeds when a reseed is due.
 */
#ifndef WELLSPRING_HARVESTER_H
#define WELLSPRING_HARVESTER_H

#include "source.h"

struct ws_harvester_statistics {
	u64 rounds;		/* of the thread */
	u64 reseeds;		/* seeds taken from the pools */
	u64 held_back;		/* reseeds put off: a reader of node 0 had not taken the last seed */
	u32 first_pool_bytes;
	u64 rounds_ns;		/* the time of all rounds */
};

/* Task context. All of them may sleep until the pools are free. */

/*
 * An operator's orders. Each draws on every source, takes what was given to ws_mix()
 * before, and reseeds every node, even if the last reseed was less than 100 ms ago. Of the
 * locks of readers it waits for the nodes' alone. 0: no read that begins now returns a
 * byte that does not depend on the new seed. -EAGAIN: all of it stays in the pools, since
 * Ready waits for 128 bits in one seed.
 */
int ws_reseed(void);
/* Credits what was given to ws_mix() before. */
int ws_credit(u32 credit_bits);
/*
 * The seed that node @number once saved, of WS_KEY_BYTES. -ENODATA and -ENXIO as
 * ws_nodes_check().
 */
int ws_restore(unsigned int number, const u8 *saved, u32 credit_bits);

/* For tests: no round of the thread begins until it is called with false. */
void ws_harvester_park(bool park);
/* For tests, while it is parked: a round that does not wait for its pace. */
void ws_harvester_round(void);

void ws_harvester_statistics(struct ws_harvester_statistics *statistics);

int ws_harvester_init(void);
void ws_harvester_exit(void);

#endif
