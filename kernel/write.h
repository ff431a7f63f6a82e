/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Writes of users to the device.
 */
#ifndef WELLSPRING_WRITE_H
#define WELLSPRING_WRITE_H

#include <linux/gfp.h>
#include <linux/uio.h>

/*
 * Mixes it, without credit. The bytes mixed, or -EFAULT if there were none. @flags: as for
 * ws_bounce_init().
 */
ssize_t ws_write(struct iov_iter *from, gfp_t flags);

#endif
