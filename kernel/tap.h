/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Taps: a key and a buffer for each CPU and context. Small reads take no lock, and
 * erase what they take.
 */
#ifndef WELLSPRING_TAP_H
#define WELLSPRING_TAP_H

#include "cipher.h"
#include "simd.h"

/* One refill makes the next key and this buffer: 1024 bytes in one FPU section. */
#define WS_TAP_BUFFER_BYTES (1024 - WS_KEY_BYTES)

struct ws_tap_statistics {
	u64 reads;
	u64 fetches;		/* keys drawn from the node */
	u64 refills;
	u64 deeper;		/* reads that found the tap busy and used the node */
};

/*
 * Bytes that are ready, in any context: no lock, no call, no section of the FPU. False, and
 * nothing is done, where ws_tap_read() has to look further: the tap has too few or is in use, or
 * this is an NMI. A tap has none before Ready.
 */
bool ws_tap_take(void *buf, size_t len);
/* Any context but NMI. 0, or -EAGAIN before the first credited seed. */
int ws_tap_read(void *buf, size_t len);
void ws_tap_statistics(int cpu, enum ws_context context,
		       struct ws_tap_statistics *statistics);
/* The reads of all taps so far. */
u64 ws_taps_reads(void);
/* Wipes the taps of a CPU that is offline. */
void ws_taps_wipe(int cpu);

/* For tests: no key and no output is left in the taps of a CPU that is offline. */
bool ws_taps_are_wiped(int cpu);

int ws_taps_init(void);
void ws_taps_exit(void);

#endif
