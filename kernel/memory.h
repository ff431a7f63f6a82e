/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Memory for secrets: zeroed when it is allocated, and wiped before it is freed.
 */
#ifndef WELLSPRING_MEMORY_H
#define WELLSPRING_MEMORY_H

#include <linux/types.h>

/*
 * Counts the steps of loading that can fail, and says whether this one has to: tests
 * make each of them fail once (parameter fail_step).
 */
bool ws_step_fails(void);

/* Zeroed memory of a NUMA node, or of any with NUMA_NO_NODE. NULL if there is none. */
void *ws_alloc_node(size_t bytes, int numa_node);
void ws_free(void *memory, size_t bytes);

#endif
