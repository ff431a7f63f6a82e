// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Finds 16-byte values that were handed out twice. Among a million random values of 128
 * bits, two are equal with probability 2^-89.
 */
#include <linux/sort.h>
#include <linux/vmalloc.h>

#include "test.h"

int value_set_init(struct value_set *set, u32 capacity)
{
	set->values = vzalloc(array_size(capacity, 16));
	set->capacity = capacity;
	set->count = 0;
	return set->values ? 0 : -ENOMEM;
}

void value_set_exit(struct value_set *set)
{
	vfree(set->values);
}

bool value_set_add(struct value_set *set, const void *value)
{
	if (set->count == set->capacity)
		return false;
	memcpy(set->values[set->count++], value, 16);
	return true;
}

static int compare(const void *one, const void *other)
{
	return memcmp(one, other, 16);
}

long value_sets_repeats(struct value_set *sets, unsigned int count)
{
	static const u64 zeros[2];
	u64 (*all)[2];
	size_t total = 0, index;
	unsigned int one;
	long repeats = 0;

	for (one = 0; one < count; one++)
		total += sets[one].count;
	all = vmalloc(array_size(total + 1, 16));
	if (!all)
		return -ENOMEM;
	for (total = 0, one = 0; one < count; one++) {
		memcpy(all[total], sets[one].values,
		       (size_t)sets[one].count * 16);
		total += sets[one].count;
	}
	sort(all, total, 16, compare, NULL);
	for (index = 0; index < total; index++)
		repeats += !memcmp(all[index], zeros, 16) ||
			   (index && !compare(all[index - 1], all[index]));
	vfree(all);
	return repeats;
}
