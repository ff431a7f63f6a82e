/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * For other modules: secret bytes, and bytes without secrecy. read.c and pseudo.c
 * describe the functions.
 */
#ifndef WELLSPRING_H
#define WELLSPRING_H

#include <linux/types.h>

int __must_check wellspring_get_bytes(void *destination, size_t bytes);
int __must_check wellspring_get_early_bytes(void *destination, size_t bytes);
int __must_check wellspring_wait_until_seeded(void);
void wellspring_get_pseudo_bytes(void *destination, size_t bytes);

#endif
