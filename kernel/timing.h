/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Sources that come by themselves: hooks into the running kernel.
 */
#ifndef WELLSPRING_TIMING_H
#define WELLSPRING_TIMING_H

#include <linux/types.h>

#include "source.h"

bool ws_timing_is_hooked(enum ws_source source);
int ws_timing_init(void);
void ws_timing_exit(void);

#endif
