// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A bounce buffer for bytes between user space and the module.
 *
 * A large transfer goes page by page. Between two pages it holds nothing, lets other
 * tasks run, and looks for signals. So neither a length of 4 GiB nor a slow page fault
 * in user memory makes others wait.
 */
#include <linux/gfp.h>
#include <linux/sched/signal.h>
#include <linux/string.h>

#include "bounce.h"

void ws_bounce_init(struct ws_bounce *bounce, size_t wanted, gfp_t flags)
{
	bounce->bytes = NULL;
	if (wanted > WS_BOUNCE_SMALL_BYTES)
		bounce->bytes = (u8 *)__get_free_page(flags | __GFP_NOWARN);
	bounce->capacity = bounce->bytes ? PAGE_SIZE : WS_BOUNCE_SMALL_BYTES;
	if (!bounce->bytes)
		bounce->bytes = bounce->small;
}

void ws_bounce_exit(struct ws_bounce *bounce)
{
	memzero_explicit(bounce->bytes, bounce->capacity);
	if (bounce->bytes != bounce->small)
		free_page((unsigned long)bounce->bytes);
}

/* A read of one page or less is never cut short: programs rely on that for keys. */
bool ws_bounce_continue(size_t done)
{
	if (done % PAGE_SIZE)
		return true;
	if (signal_pending(current))
		return false;
	cond_resched();
	return true;
}
