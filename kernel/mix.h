/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Data that users and other modules write, on its way to the pools.
 */
#ifndef WELLSPRING_MIX_H
#define WELLSPRING_MIX_H

#include "compat.h"

/*
 * Hashes data into what this CPU gathers for the next round of the harvester. No
 * credit, no loss. Task or softirq, with interrupts on.
 */
void ws_mix(const void *data, size_t len);

/*
 * The hash of all that came through a CPU since the last call. False if nothing came,
 * or if a writer is there and @may_wait is false: then the data stays for the next
 * call. Task context. The CPU may be offline.
 */
bool ws_mix_take(int cpu, bool may_wait, u8 digest[SHA256_DIGEST_SIZE]);

int ws_mix_init(void);
void ws_mix_exit(void);

#endif
