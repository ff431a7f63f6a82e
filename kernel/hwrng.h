/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef WELLSPRING_HWRNG_H
#define WELLSPRING_HWRNG_H

int ws_hwrng_init(void);
void ws_hwrng_exit(void);

#endif
