// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * /sys/kernel/debug/wellspring: counts and states, no secrets. Each table has the
 * names of its columns in the first line. Counts start when the module is loaded.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "backend.h"
#include "harvester.h"
#include "doors.h"
#include "generation.h"
#include "nodes.h"
#include "phase.h"
#include "queue.h"
#include "read.h"
#include "simd.h"
#include "source.h"
#include "tap.h"

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
	seq_puts(file, " reseed_age_ms credit_bits credited_bits mailbox\n");
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
		seq_printf(file, " %u %llu %s\n", node.credit_bits,
			   node.credited_bits,
			   node.mailbox_full ? "full" : "empty");
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
void ws_debugfs_init(void)
{
	directory = debugfs_create_dir("wellspring", NULL);
	debugfs_create_file("state", 0444, directory, NULL, &state_fops);
	debugfs_create_file("nodes", 0444, directory, NULL, &nodes_fops);
	debugfs_create_file("cpus", 0444, directory, NULL, &cpus_fops);
	debugfs_create_file("taps", 0444, directory, NULL, &taps_fops);
	debugfs_create_file("sources", 0444, directory, NULL, &sources_fops);
}

void ws_debugfs_exit(void)
{
	debugfs_remove_recursive(directory);
}
