/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Memory for secrets: zeroed when it is allocated, and wiped before it is freed.
 */
#ifndef WELLSPRING_MEMORY_H
#define WELLSPRING_MEMORY_H

#include <linux/types.h>

/*
 * Counts the steps of loading that can fail, and returns whether this one must: tests
 * make each of them fail once (parameter fail_step).
 */
bool ws_step_fails(void);

/* Zeroed memory, or NULL. Task context. */
void *ws_alloc(size_t size);
/*
 * The same in the memory of one NUMA node: never in that of another. Whole pages: in a
 * slab, what others keep there would hold the memory when the node leaves.
 */
void *ws_alloc_on_node(size_t size, int numa_node);
void ws_free_on_node(void *memory, size_t size);
/* The NUMA node that such memory is in. */
int ws_memory_node(const void *memory);
void ws_free(void *memory, size_t size);

#endif
