// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * wellspring: Fortuna with a generator per NUMA node and a tap per CPU.
 *
 *	source -> health -> queue -> pool -> generator -> node -> tap -> door
 *
 * This file calls the init functions in order. On an error and at the end it calls their exit
 * functions in reverse order.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/module.h>

#include "answers.h"
#include "backend.h"
#include "harvester.h"
#include "doors.h"
#include "hwrng.h"
#include "memory.h"
#include "mix.h"
#include "nodes.h"
#include "phase.h"
#include "pseudo.h"
#include "queue.h"
#include "simd.h"
#include "source.h"
#include "tap.h"
#include "timing.h"
#include "topology.h"

/*
 * Linux frees a module whose init function fails, also if a program holds its device or a
 * file in debugfs, or another module its rng. So all that users see comes last, and nothing
 * can fail once a user can see something: the device, then what is no error if it fails.
 */
static const struct part {
	int (*init)(void);
	void (*exit)(void);
} parts[] = {
	{ ws_simd_init },
	{ ws_backends_init },
	{ ws_answers_check },
	{ ws_pseudo_init },
	{ ws_taps_init, ws_taps_exit },
	{ ws_queues_init, ws_queues_exit },
	{ ws_mix_init, ws_mix_exit },
	{ ws_topology_init, ws_topology_exit },
	{ ws_sources_init },
	{ ws_harvester_init, ws_harvester_exit },
	{ ws_timing_init, ws_timing_exit },
	{ ws_hwrng_init, ws_hwrng_exit },
	{ ws_clone_detection_init, ws_clone_detection_exit },
	{ ws_device_init, ws_device_exit },
};

static void exit_parts(unsigned int count)
{
	while (count--)
		if (parts[count].exit)
			parts[count].exit();
}

static int __init wellspring_init(void)
{
	unsigned int part;

	for (part = 0; part < ARRAY_SIZE(parts); part++) {
		int error = ws_step_fails() ? -ENOMEM : parts[part].init();

		if (error) {
			exit_parts(part);
			return error;
		}
	}
	ws_debugfs_init();
	ws_rng_init();
	pr_info("%u nodes, %s (%s), phase %s\n", ws_nodes_count(),
		ws_cipher_name(ws_cipher),
		ws_backend_name(ws_cipher, ws_best_backend(ws_cipher)),
		ws_phase_name(ws_phase()));
	return 0;
}

static void __exit wellspring_exit(void)
{
	ws_rng_exit();
	ws_debugfs_exit();
	exit_parts(ARRAY_SIZE(parts));
}

module_init(wellspring_init);
module_exit(wellspring_exit);
MODULE_DESCRIPTION("Fortuna with a generator per NUMA node and a tap per CPU");
MODULE_AUTHOR("The wellspring developers");
MODULE_VERSION("0.1.0");
MODULE_LICENSE("Dual MIT/GPL");
