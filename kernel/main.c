// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * wellspring: Fortuna, made concurrent. The ladder of loading, and memory.
 *
 *	source -> health -> harvest -> pool -> generator -> node -> tap -> door
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "internal.h"

enum ws_cipher ws_cipher = WS_CHACHA20;
WS_EXPORT_FOR_TEST(ws_cipher);

static char *cipher = "chacha20";
module_param(cipher, charp, 0444);
MODULE_PARM_DESC(cipher, "chacha20 (default) or aes256");

static unsigned int fail_step;
module_param(fail_step, uint, 0400);
MODULE_PARM_DESC(fail_step,
		 "make the nth fallible step of loading fail, for tests; 0: none");

bool ws_step_fails(void)
{
	static unsigned int step;

	return ++step == fail_step;
}

void *ws_alloc_node(size_t bytes, int numa_node)
{
	if (ws_step_fails())
		return NULL;
	return kzalloc_node(bytes, GFP_KERNEL, numa_node);
}

void ws_free(void *memory, size_t bytes)
{
	memzero_explicit(memory, bytes);
	kfree(memory);
}

static int cipher_init(void)
{
	if (!strcmp(cipher, ws_cipher_name(WS_AES256)))
		ws_cipher = WS_AES256;
	else if (strcmp(cipher, ws_cipher_name(WS_CHACHA20)))
		return -EINVAL;
	ws_cipher_detect();
	return 0;
}

/* Doors come last, the device last of all: what can be opened works. */
static const struct rung {
	int (*init)(void);
	void (*exit)(void);
} ladder[] = {
	{ cipher_init },
	{ ws_answers_check },
	{ ws_pseudo_init },
	{ ws_taps_init, ws_taps_exit },
	{ ws_nodes_init, ws_nodes_exit },
	{ ws_sources_init },
	{ ws_harvest_init, ws_harvest_exit },
	{ ws_timing_init, ws_timing_exit },
	{ ws_clone_init, ws_clone_exit },
	{ ws_debugfs_init, ws_debugfs_exit },
	{ ws_rng_init, ws_rng_exit },
	{ ws_device_init, ws_device_exit },
};

static void climb_down(unsigned int rungs)
{
	while (rungs--)
		if (ladder[rungs].exit)
			ladder[rungs].exit();
}

static int __init wellspring_init(void)
{
	unsigned int rung;

	for (rung = 0; rung < ARRAY_SIZE(ladder); rung++) {
		int error = ws_step_fails() ? -ENOMEM : ladder[rung].init();

		if (error) {
			climb_down(rung);
			return error;
		}
	}
	pr_info("wellspring: %u nodes, %s (%s), %s\n", ws_node_numbers(),
		ws_cipher_name(ws_cipher),
		ws_path_name(ws_cipher, ws_best_path(ws_cipher)),
		ws_phase() == WS_EMPTY ? "not seeded yet" : "seeded");
	return 0;
}

static void __exit wellspring_exit(void)
{
	climb_down(ARRAY_SIZE(ladder));
}

module_init(wellspring_init);
module_exit(wellspring_exit);
MODULE_DESCRIPTION("Fortuna, made concurrent: a generator per NUMA node, a tap per CPU");
MODULE_AUTHOR("The wellspring developers");
MODULE_LICENSE("Dual MIT/GPL");
