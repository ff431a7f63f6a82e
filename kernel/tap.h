/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A CPU's own keys and buffers, one for each context: small reads without a lock,
 * under fast key erasure.
 */
#ifndef WELLSPRING_TAP_H
#define WELLSPRING_TAP_H

#include "generator.h"
#include "simd.h"

/* The output of one refill: with the next key, 1024 bytes in one FPU section. */
#define WS_TAP_BUFFER_BYTES (1024 - WS_KEY_BYTES)

struct ws_tap {
	u64 generation;
	bool busy;
	u32 left_bytes;		/* of the buffer's end, not handed out yet */
	struct ws_counter counter;
	struct {
		u8 key[WS_KEY_BYTES];
		u8 buffer[WS_TAP_BUFFER_BYTES];
	} made;			/* by one refill */

	u64 reads;
	u64 fetches;		/* of a key from the node */
	u64 refills;
	u64 deeper;		/* reads that found the tap busy and went to the node */
};

struct ws_tap_statistics {
	u64 reads;
	u64 fetches;
	u64 refills;
	u64 deeper;
};

/* Any context but NMI. 0, or -EAGAIN before the first seed. */
int ws_tap_read(void *destination, size_t bytes);
void ws_tap_statistics(int cpu, enum ws_context context,
		       struct ws_tap_statistics *statistics);
/* Erases what a CPU that is gone left behind. */
void ws_taps_wipe(int cpu);

int ws_taps_init(void);
void ws_taps_exit(void);

#endif
