/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef WELLSPRING_ARCH_CHACHA20_H
#define WELLSPRING_ARCH_CHACHA20_H

#include <crypto/chacha.h>

/* The kernel's library has its SIMD code inside. */
#define ws_arch_chacha20_crypt chacha20_crypt

static inline void ws_arch_chacha20_init(void)
{
}

#endif
