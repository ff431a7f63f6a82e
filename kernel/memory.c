// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Memory for secrets, and the failures that tests order.
 */
#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "internal.h"

#ifdef WELLSPRING_TESTS

static unsigned int fail_step;
module_param(fail_step, uint, 0400);
MODULE_PARM_DESC(fail_step,
		 "for tests: the step of loading, from 1, that fails; 0: none");

/* "hold" has the step wait; then it reads "held", until a test writes "go". */
static char fail_gate[8] = "go";
module_param_string(fail_gate, fail_gate, sizeof(fail_gate), 0600);
MODULE_PARM_DESC(fail_gate,
		 "for tests: hold: the step that fails waits until go is written");

#define LONGEST_HOLD_MS 300000

/* A test looks meanwhile at what users can see and open. */
static void wait_at_gate(void)
{
	unsigned long end = jiffies + msecs_to_jiffies(LONGEST_HOLD_MS);

	if (strcmp(fail_gate, "hold"))
		return;
	strscpy(fail_gate, "held", sizeof(fail_gate));
	while (!sysfs_streq(fail_gate, "go") && !signal_pending(current) &&
	       time_before(jiffies, end))
		msleep(20);
}

bool ws_step_fails(void)
{
	static unsigned int step;

	if (++step != fail_step)
		return false;
	wait_at_gate();
	return true;
}

#else

bool ws_step_fails(void)
{
	return false;
}

#endif

void *ws_alloc(size_t size)
{
	if (ws_step_fails())
		return NULL;
	return kzalloc(size, GFP_KERNEL);
}

void *ws_alloc_on_node(size_t size, int numa_node)
{
	struct page *page;

	if (ws_step_fails())
		return NULL;
	page = alloc_pages_node(numa_node,
				GFP_KERNEL | __GFP_THISNODE | __GFP_ZERO,
				get_order(size));
	return page ? page_address(page) : NULL;
}

int ws_memory_node(const void *memory)
{
	return page_to_nid(virt_to_page(memory));
}

void ws_free_on_node(void *memory, size_t size)
{
	memzero_explicit(memory, size);
	free_pages((unsigned long)memory, get_order(size));
}

void ws_free(void *memory, size_t size)
{
	memzero_explicit(memory, size);
	kfree(memory);
}
