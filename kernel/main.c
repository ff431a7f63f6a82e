// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * wellspring: Fortuna with a generator per NUMA node and a tap per CPU.
 *
 *	source -> queue -> health -> pool -> generator -> node -> tap -> door
 *
 * Only samples from hooks wait in a queue. This file watches for clones, has the tables of
 * debugfs, and starts and stops the other files' parts.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/random.h>
#include <linux/seq_file.h>
#include <linux/suspend.h>
#include <linux/timekeeping.h>
#include <linux/timex.h>

#include "internal.h"

/*
 * Clone detection: events after which another machine may have the same state as this
 * one. A virtual machine was cloned or restored (vmgenid), or a system resumed from an
 * image that may have been copied.
 *
 * The module answers each like a reseed: it hashes something new into every
 * node, and bumps the generation, so that every tap takes a fresh key before
 * its next byte.
 */

static const char domain[] = "wellspring node stir";

/*
 * The kernel's own generator is ahead of us: it mixes in the new id of the machine
 * before it calls the notifiers, and its own notifier of a resume is older than ours.
 */
static void diverge_from_clones(void)
{
	struct {
		u8 system[32];
		ktime_t time;
		u64 cycles;
	} fresh;

	memset(&fresh, 0, sizeof(fresh));
	get_random_bytes(fresh.system, sizeof(fresh.system));
	fresh.time = ktime_get_real();
	fresh.cycles = random_get_entropy();
	ws_nodes_stir(domain, 0, &fresh, sizeof(fresh), 0);
	memzero_explicit(&fresh, sizeof(fresh));
}

/*
 * The first thing after a resume, with one CPU and interrupts off: no task gets a byte of a
 * tap's old buffer. Fresh output of the kernel's own generator comes later, with the
 * notifier.
 */
static void system_resumed(void)
{
	struct {
		unsigned long word;
		ktime_t time;
		u64 cycles;
	} fresh;

	memset(&fresh, 0, sizeof(fresh));
	if (!ws_arch_seed_word(&fresh.word))
		fresh.word = 0;
	fresh.time = ktime_get_real();
	fresh.cycles = random_get_entropy();
	ws_nodes_stir(domain, 0, &fresh, sizeof(fresh), 0);
	memzero_explicit(&fresh, sizeof(fresh));
}

WS_DEFINE_RESUME(system_resumed);

static int vm_cloned(struct notifier_block *block, unsigned long action,
		     void *data)
{
	diverge_from_clones();
	return NOTIFY_DONE;
}

static int power_changed(struct notifier_block *block, unsigned long action,
			 void *data)
{
	switch (action) {
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		diverge_from_clones();
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block vm_clone_notifier = {
	.notifier_call = vm_cloned,
};

static struct notifier_block power_notifier = {
	.notifier_call = power_changed,
};

static int clone_detection_init(void)
{
	int error;

	error = register_pm_notifier(&power_notifier);
	if (error)
		return error;
	/* Without CONFIG_VMGENID there are no such events, and this returns 0. */
	error = register_random_vmfork_notifier(&vm_clone_notifier);
	if (error) {
		unregister_pm_notifier(&power_notifier);
		return error;
	}
	ws_register_resume();
	return 0;
}

static void clone_detection_exit(void)
{
	ws_unregister_resume();
	unregister_random_vmfork_notifier(&vm_clone_notifier);
	unregister_pm_notifier(&power_notifier);
}

/*
 * /sys/kernel/debug/wellspring: counts and states, no secrets. Each table has the
 * names of its columns in the first line. Counts start when the module is loaded.
 */

static int state_show(struct seq_file *file, void *unused)
{
	struct ws_harvester_statistics harvester;

	ws_harvester_statistics(&harvester);
	seq_printf(file, "phase %s\n", ws_phase_name(ws_phase()));
	seq_printf(file, "generation %llu\n", ws_generation());
	seq_printf(file, "mode %s\n", ws_mode_name(ws_mode()));
	seq_printf(file, "cipher %s\n", ws_cipher_name(ws_cipher));
	seq_printf(file, "backend %s\n",
		   ws_backend_name(ws_cipher, ws_best_backend(ws_cipher)));
	seq_printf(file, "harvester_rounds %llu\n", harvester.rounds);
	seq_printf(file, "harvester_ns %llu\n", harvester.rounds_ns);
	seq_printf(file, "reseeds %llu\n", harvester.reseeds);
	seq_printf(file, "reseeds_held_back %llu\n", harvester.held_back);
	seq_printf(file, "first_pool_bytes %u\n", harvester.first_pool_bytes);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(state);

static int nodes_show(struct seq_file *file, void *unused)
{
	struct ws_node_statistics node;
	unsigned int number;

	seq_puts(file, "node numa_node memory_node reservations contended lock_wait_ns reseeds");
	seq_puts(file, " reseed_age_ms credit_bits credited_bits mailbox cache\n");
	for (number = 0; number < ws_nodes_count(); number++) {
		if (!ws_nodes_statistics(number, &node))
			continue;
		seq_printf(file, "%u %d %d %llu %llu %llu %llu", number,
			   node.numa_node, node.memory_node, node.reservations, node.contended,
			   node.lock_wait_ns, node.reseeds);
		if (node.reseed_age_ms == U64_MAX)
			seq_puts(file, " never");
		else
			seq_printf(file, " %llu", node.reseed_age_ms);
		seq_printf(file, " %u %llu %s %u\n", node.credit_bits,
			   node.credited_bits,
			   node.mailbox_full ? "full" : "empty", node.cache);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(nodes);

static int cpus_show(struct seq_file *file, void *unused)
{
	struct ws_source_statistics source;
	struct ws_queue_statistics queue;
	enum ws_source number;
	int cpu;

	seq_puts(file, "cpu source events dropped\n");
	for_each_possible_cpu(cpu) {
		for (number = 0; number < WS_QUEUED_SOURCES; number++) {
			ws_source_statistics(number, &source);
			ws_queue_statistics(cpu, number, &queue);
			seq_printf(file, "%d %s %llu %llu\n", cpu, source.name,
				   queue.events, queue.dropped);
		}
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(cpus);

static int taps_show(struct seq_file *file, void *unused)
{
	struct ws_simd_statistics simd;
	struct ws_tap_statistics tap;
	enum ws_context context;
	int cpu;

	seq_puts(file, "cpu context reads fetches refills deeper sections");
	seq_puts(file, " refusals\n");
	for_each_possible_cpu(cpu) {
		ws_simd_statistics(cpu, &simd);
		for (context = 0; context < WS_CONTEXTS; context++) {
			ws_tap_statistics(cpu, context, &tap);
			seq_printf(file,
				   "%d %s %llu %llu %llu %llu %llu %llu\n", cpu,
				   ws_context_name(context), tap.reads,
				   tap.fetches, tap.refills, tap.deeper,
				   simd.sections[context],
				   simd.refusals[context]);
		}
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(taps);

static int sources_show(struct seq_file *file, void *unused)
{
	struct ws_source_statistics source;
	enum ws_source number;

	seq_puts(file, "source health events credit_bits\n");
	for (number = 0; number < WS_SOURCES; number++) {
		ws_source_statistics(number, &source);
		seq_printf(file, "%s %s %llu %llu\n", source.name,
			   source.present ? ws_health_state_name(source.health) :
					    "absent",
			   source.events, source.credit_bits);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(sources);

static struct dentry *directory;

/* Without debugfs these functions return errors and accept them as arguments. */
static void debugfs_init(void)
{
	directory = debugfs_create_dir("wellspring", NULL);
	debugfs_create_file("state", 0444, directory, NULL, &state_fops);
	debugfs_create_file("nodes", 0444, directory, NULL, &nodes_fops);
	debugfs_create_file("cpus", 0444, directory, NULL, &cpus_fops);
	debugfs_create_file("taps", 0444, directory, NULL, &taps_fops);
	debugfs_create_file("sources", 0444, directory, NULL, &sources_fops);
}

static void debugfs_exit(void)
{
	debugfs_remove_recursive(directory);
}

/*
 * Calls the init functions in order. On an error and at the end it calls their exit functions in
 * reverse order.
 *
 * Linux frees a module whose init function fails, even if a program holds its device or a
 * file in debugfs, or another module its rng. So all that users see comes last, and nothing
 * can fail once a user can see something: first the device, then parts whose failure is not
 * an error.
 */
static const struct part {
	int (*init)(void);
	void (*exit)(void);
} parts[] = {
	{ .init = ws_simd_init },
	{ .init = ws_backends_init },
	{ .init = ws_answers_check },
	{ .init = ws_pseudo_init },
	{ .init = ws_taps_init, .exit = ws_taps_exit },
	{ .init = ws_queues_init, .exit = ws_queues_exit },
	{ .init = ws_mix_init, .exit = ws_mix_exit },
	{ .init = ws_topology_init, .exit = ws_topology_exit },
	{ .init = ws_sources_init },
	{ .init = ws_harvester_init, .exit = ws_harvester_exit },
	{ .init = ws_timing_init, .exit = ws_timing_exit },
	{ .init = ws_hwrng_init, .exit = ws_hwrng_exit },
	{ .init = clone_detection_init, .exit = clone_detection_exit },
	{ .init = ws_device_init, .exit = ws_device_exit },
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
	debugfs_init();
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
	debugfs_exit();
	exit_parts(ARRAY_SIZE(parts));
}

module_init(wellspring_init);
module_exit(wellspring_exit);
MODULE_DESCRIPTION("Fortuna with a generator per NUMA node and a tap per CPU");
MODULE_AUTHOR("The wellspring developers");
MODULE_VERSION("0.1.0");
MODULE_LICENSE("Dual MIT/GPL");
