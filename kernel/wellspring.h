/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * For other modules: secret bytes and numbers, and bytes without secrecy. tap.c describes the
 * functions.
 */
#ifndef WELLSPRING_H
#define WELLSPRING_H

#include <linux/types.h>

int __must_check wellspring_get_bytes(void *buf, size_t len);
int __must_check wellspring_get_early_bytes(void *buf, size_t len);
int __must_check wellspring_wait_until_seeded(void);
int __must_check wellspring_get_u32_below(u32 *number, u32 ceiling);
void wellspring_get_pseudo_bytes(void *buf, size_t len);

/**
 * wellspring_get_u64() - a secret number
 * @number: memory for it
 *
 * As wellspring_get_bytes(): by default 8 bytes that the tap of this CPU and context has
 * ready, and erases. No section of the FPU, but in each 124th call, which makes 992 bytes.
 *
 * Context: and Return: as wellspring_get_bytes().
 */
static inline int __must_check wellspring_get_u64(u64 *number)
{
	return wellspring_get_bytes(number, sizeof(*number));
}

/**
 * wellspring_get_u32() - a secret number
 * @number: memory for it
 *
 * Context: and Return: as wellspring_get_bytes().
 */
static inline int __must_check wellspring_get_u32(u32 *number)
{
	return wellspring_get_bytes(number, sizeof(*number));
}

#endif
