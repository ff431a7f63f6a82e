/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef WELLSPRING_IOCTL_H
#define WELLSPRING_IOCTL_H

#include <linux/fs.h>

/* The ioctls of uapi.h. */
long ws_ioctl(struct file *file, unsigned int command, unsigned long argument);

/*
 * How many of @bits that a user says of @len bytes of data count: 8 a byte at most, and no
 * more than a key has. Neither is negative.
 */
int ws_ioctl_credit_bits(int bits, int len);

#endif
