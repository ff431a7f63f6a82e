/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The number that ties every tap to its node: a tap with another generation than this
 * one takes a fresh key before its next byte.
 */
#ifndef WELLSPRING_GENERATION_H
#define WELLSPRING_GENERATION_H

#include <linux/atomic.h>

/* The generation of a tap without a key. ws_generation() never returns it. */
#define WS_NO_GENERATION 0

/* For the two functions below, which each read calls. */
extern atomic64_t ws_generation_number;

/* Any context. */
static inline u64 ws_generation(void)
{
	return atomic64_read_acquire(&ws_generation_number);
}

/* Whether a key of this generation may still make bytes. It orders nothing. */
static inline bool ws_generation_is(u64 generation)
{
	return atomic64_read(&ws_generation_number) == generation;
}

/* Called after the seeds that it announces were posted. Returns the new generation. */
u64 ws_generation_bump(void);

#endif
