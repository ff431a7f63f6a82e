/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef WELLSPRING_TIMING_H
#define WELLSPRING_TIMING_H

int ws_timing_init(void);
void ws_timing_exit(void);

#endif
