/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Bytes without secrecy: an xorshift128+ for each CPU.
 */
#ifndef WELLSPRING_PSEUDO_H
#define WELLSPRING_PSEUDO_H

#include <linux/types.h>

struct ws_pseudo {
	u64 words[2];
} __aligned(16);

u64 ws_pseudo_step(struct ws_pseudo *state);
/* 2^64 steps at once. */
void ws_pseudo_jump(struct ws_pseudo *state);

int ws_pseudo_init(void);

#endif
