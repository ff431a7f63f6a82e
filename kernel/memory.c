// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Memory for secrets, and the failures that tests order.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "memory.h"

#ifdef WELLSPRING_TESTS

static unsigned int fail_step;
module_param(fail_step, uint, 0400);
MODULE_PARM_DESC(fail_step,
		 "for tests: the step of loading, from 1, that fails; 0: none");

bool ws_step_fails(void)
{
	static unsigned int step;

	return ++step == fail_step;
}

#else

bool ws_step_fails(void)
{
	return false;
}

#endif

void *ws_alloc(size_t bytes)
{
	if (ws_step_fails())
		return NULL;
	return kzalloc(bytes, GFP_KERNEL);
}

void *ws_alloc_on_node(size_t bytes, int numa_node)
{
	struct page *page;

	if (ws_step_fails())
		return NULL;
	page = alloc_pages_node(numa_node,
				GFP_KERNEL | __GFP_THISNODE | __GFP_ZERO,
				get_order(bytes));
	return page ? page_address(page) : NULL;
}

int ws_memory_node(const void *memory)
{
	return page_to_nid(virt_to_page(memory));
}

void ws_free_on_node(void *memory, size_t bytes)
{
	memzero_explicit(memory, bytes);
	free_pages((unsigned long)memory, get_order(bytes));
}

void ws_free(void *memory, size_t bytes)
{
	memzero_explicit(memory, bytes);
	kfree(memory);
}
