/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What yields noise, and what it claims. Never trusted because it exists.
 */
#ifndef WELLSPRING_SOURCE_H
#define WELLSPRING_SOURCE_H

#include "pool.h"

enum ws_source {
	WS_SOURCE_SYSTEM,	/* get_random_bytes */
	WS_SOURCE_CPU,		/* RDSEED */
	WS_SOURCE_HWRNG,	/* what hwrng feeds to the kernel's own pool */
	WS_SOURCE_INTERRUPT,	/* when interrupts come */
	WS_SOURCE_SCHEDULER,	/* when tasks are switched */
	WS_SOURCE_MIX,		/* what anyone writes */
	WS_SOURCE_CLONE,	/* a clone notice: pool 0 at once, as in random(4) */
	WS_SOURCES,
};

struct ws_source_statistics {
	const char *name;
	bool present;		/* on this machine, and not quarantined */
	bool quarantined;	/* failed its health test, for good */
	u64 events;		/* absorbed by the pools */
	u64 credit_bits;
};

void ws_source_statistics(enum ws_source source,
			  struct ws_source_statistics *statistics);

/* Draws on the sources that can be asked. Task context; the pools' lock is held. */
void ws_sources_draw(unsigned int turn);
void ws_sources_draw_all(void);

/* Books an event, and says which pool is next: a round robin for each source. */
unsigned int ws_source_book(enum ws_source source, u32 credit_bits);

int ws_sources_init(void);

#endif
