/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What device.c and ioctl.c have of each other.
 */
#ifndef WELLSPRING_DEVICE_H
#define WELLSPRING_DEVICE_H

#include <linux/fs.h>
#include <linux/uio.h>

/* Mixes what a user wrote, without credit: the bytes mixed, or -EFAULT if none. */
ssize_t ws_mix_user(struct iov_iter *from);

long ws_ioctl(struct file *file, unsigned int command, unsigned long argument);

#endif
