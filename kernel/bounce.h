/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A bounce buffer for bytes between user space and the module.
 */
#ifndef WELLSPRING_BOUNCE_H
#define WELLSPRING_BOUNCE_H

#include <linux/types.h>

/* Transfers up to this length need no page. */
#define WS_BOUNCE_SMALL_BYTES 256

/* On the stack of the function that copies. */
struct ws_bounce {
	u8 *bytes;
	size_t capacity;
	u8 small[WS_BOUNCE_SMALL_BYTES];
};

/*
 * Task context. A page for @wanted bytes, or the small buffer if there is no page. @flags:
 * GFP_NOWAIT where it must not sleep, else GFP_KERNEL.
 */
void ws_bounce_init(struct ws_bounce *bounce, size_t wanted, gfp_t flags);
/* Wipes it. */
void ws_bounce_exit(struct ws_bounce *bounce);
/*
 * Between two pieces, after @done bytes: lets other tasks run. False if a signal is
 * pending and @done is a whole number of pages: the caller returns what it has.
 */
bool ws_bounce_continue(size_t done);

#endif
