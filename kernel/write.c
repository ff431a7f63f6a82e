// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Writes of users to the device.
 */
#include "bounce.h"
#include "mix.h"
#include "write.h"

ssize_t ws_write(struct iov_iter *from, gfp_t flags)
{
	struct ws_bounce bounce;
	bool faulted = false;
	size_t done = 0;

	if (!iov_iter_count(from))
		return 0;
	ws_bounce_init(&bounce, iov_iter_count(from), flags);
	do {
		size_t len = min(iov_iter_count(from), bounce.capacity);
		size_t copied = copy_from_iter(bounce.bytes, len, from);

		if (copied)
			ws_mix(bounce.bytes, copied);
		done += copied;
		faulted = copied < len;
	} while (!faulted && iov_iter_count(from) && ws_bounce_continue(done));
	ws_bounce_exit(&bounce);
	return done ? done : -EFAULT;
}
