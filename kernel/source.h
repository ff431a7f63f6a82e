/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The table of sources of noise, and the sources that can be asked for a sample.
 * timing.c has those that send samples by themselves.
 */
#ifndef WELLSPRING_SOURCE_H
#define WELLSPRING_SOURCE_H

#include "health.h"
#include "pool.h"

enum ws_source {
	/* Each of these has a queue on each CPU. */
	WS_SOURCE_HWRNG,	/* what hwrng feeds to the kernel's own pool */
	WS_SOURCE_INTERRUPT,	/* when interrupts come */
	WS_SOURCE_SCHEDULER,	/* when tasks are switched */
	WS_QUEUED_SOURCES,
	WS_SOURCE_SYSTEM = WS_QUEUED_SOURCES,	/* get_random_bytes() */
	WS_SOURCE_CPU,		/* RDSEED, or RDRAND; RNDRRS, or RNDR */
	WS_SOURCE_MIX,		/* what users and other modules write */
	WS_SOURCES,
};

struct ws_source_statistics {
	const char *name;
	bool present;		/* on this machine */
	enum ws_health_state health;
	u64 events;		/* absorbed by the pools */
	u64 credit_bits;
};

void ws_source_statistics(enum ws_source source,
			  struct ws_source_statistics *statistics);

/* The hooks of this source are in place, or were removed. */
void ws_source_set_present(enum ws_source source, bool present);

/* The most bytes of one sample. */
#define WS_SAMPLE_BYTES 256

/*
 * Task context, with the pools' lock held. Writes a sample of at most @len bytes and the
 * credit that the source claims for each byte of it. Returns how many bytes it wrote: 0
 * if the source is absent, not healthy or has nothing now.
 */
size_t ws_source_draw(enum ws_source source, u8 *sample, size_t len,
		      u32 *credit_bits_per_byte);

/*
 * With the pools' lock held. Tests the raw samples of a timing or hwrng event: false if
 * it must not be used.
 */
bool ws_source_judge(const struct ws_event *event);
/*
 * With the pools' lock held. Counts an event, and returns the pool that it goes to: each
 * source fills all pools in turn.
 */
unsigned int ws_source_count(enum ws_source source, u32 credit_bits);

int ws_sources_init(void);

#endif
