/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef WELLSPRING_IOCTL_H
#define WELLSPRING_IOCTL_H

#include <linux/fs.h>

/* The ioctls of uapi.h. */
long ws_ioctl(struct file *file, unsigned int command, unsigned long argument);

#endif
