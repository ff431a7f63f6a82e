/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The library leaves its SIMD code of ChaCha out of User Mode Linux. chacha20.c has it built
 * from the kernel's source, so that the speed is that of x86.
 */
#ifndef WELLSPRING_ARCH_CHACHA20_H
#define WELLSPRING_ARCH_CHACHA20_H

#include <crypto/chacha.h>

void ws_arch_chacha20_crypt(struct chacha_state *state, u8 *dst, const u8 *src,
			    unsigned int bytes);
/* Which of that code this CPU runs. */
void ws_arch_chacha20_init(void);

#endif
