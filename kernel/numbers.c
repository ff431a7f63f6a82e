// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Numbers below a bound. Those of 32 and of 64 bits are in wellspring.h.
 */
#include <linux/errno.h>
#include <linux/export.h>

#include "wellspring.h"

/**
 * wellspring_get_u32_below() - a secret number below a ceiling
 * @number: memory for it
 * @ceiling: more than the greatest number; not 0
 *
 * Each number from 0 to @ceiling - 1 is as likely as any other (Lemire, Fast Random Integer
 * Generation in an Interval, 2019): of a product of 64 bits the upper half is the number,
 * and a product whose lower half is too small is thrown away, which is so for less than
 * @ceiling of 2^32.
 *
 * Context: as wellspring_get_bytes().
 * Return: as wellspring_get_bytes(); -EINVAL for a ceiling of 0.
 */
int wellspring_get_u32_below(u32 *number, u32 ceiling)
{
	u32 word, least = 0;
	u64 product;
	int error;

	if (!ceiling)
		return -EINVAL;
	do {
		error = wellspring_get_u32(&word);
		if (error)
			return error;
		product = (u64)word * ceiling;
		/* 2^32 % ceiling, a division that few calls need. */
		if (!least && (u32)product < ceiling)
			least = -ceiling % ceiling;
	} while ((u32)product < least);
	*number = product >> 32;
	return 0;
}
EXPORT_SYMBOL_GPL(wellspring_get_u32_below);
