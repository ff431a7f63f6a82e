/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The number that ties every tap to its node: a tap with another generation than this
 * one takes a fresh key before its next byte.
 */
#ifndef WELLSPRING_GENERATION_H
#define WELLSPRING_GENERATION_H

#include <linux/types.h>

/* The generation of a tap without a key. ws_generation() never returns it. */
#define WS_NO_GENERATION 0

/* Any context. */
u64 ws_generation(void);
/* Called after the seeds that it announces were posted. Returns the new generation. */
u64 ws_generation_bump(void);

#endif
