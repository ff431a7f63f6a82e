// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Finds 16-byte values that were handed out twice. Among a million random values of 128
 * bits, two are equal with probability 2^-89.
 */
#include <linux/sort.h>
#include <linux/vmalloc.h>

#include "test.h"

int collector_init(struct collector *collector, u32 capacity)
{
	collector->values = vzalloc(array_size(capacity, 16));
	collector->capacity = capacity;
	collector->count = 0;
	return collector->values ? 0 : -ENOMEM;
}

void collector_exit(struct collector *collector)
{
	vfree(collector->values);
}

bool collector_add(struct collector *collector, const void *value)
{
	if (collector->count == collector->capacity)
		return false;
	memcpy(collector->values[collector->count++], value, 16);
	return true;
}

static int compare(const void *one, const void *other)
{
	return memcmp(one, other, 16);
}

long collectors_repeats(struct collector *collectors, unsigned int count)
{
	static const u64 zeros[2];
	u64 (*all)[2];
	size_t total = 0, index;
	unsigned int one;
	long repeats = 0;

	for (one = 0; one < count; one++)
		total += collectors[one].count;
	all = vmalloc(array_size(total + 1, 16));
	if (!all)
		return -ENOMEM;
	for (total = 0, one = 0; one < count; one++) {
		memcpy(all[total], collectors[one].values,
		       (size_t)collectors[one].count * 16);
		total += collectors[one].count;
	}
	sort(all, total, 16, compare, NULL);
	for (index = 0; index < total; index++)
		repeats += !memcmp(all[index], zeros, 16) ||
			   (index && !compare(all[index - 1], all[index]));
	vfree(all);
	return repeats;
}
