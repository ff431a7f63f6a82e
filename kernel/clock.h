/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef WELLSPRING_CLOCK_H
#define WELLSPRING_CLOCK_H

#include <linux/ktime.h>

static inline u64 ws_now_ms(void)
{
	return ktime_to_ms(ktime_get());
}

#endif
