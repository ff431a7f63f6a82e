/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Writes of users to the device.
 */
#ifndef WELLSPRING_WRITE_H
#define WELLSPRING_WRITE_H

#include <linux/uio.h>

/* Mixes it, without credit. The bytes mixed, or -EFAULT if there were none. */
ssize_t ws_write(struct iov_iter *from);

#endif
