// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Reads between two marks, for an emulator that counts there (dev/rig/plugin/counts.c). It
 * judges nothing.
 *
 *	echo KIND BYTES READS READERS TURNS >/sys/module/wellspring_test/parameters/marked
 *
 * In each turn one CPU after the other, as many as there are readers, makes the reads. So
 * what one wrote is always in the cache of another when it is needed: the order does not
 * depend on the host. KIND is a mode; "kernel" for get_random_bytes(); "pseudo"; or
 * "nothing", for what the loop itself costs.
 */
#include <linux/cpu.h>
#include <linux/kernel.h>
#include <linux/moduleparam.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "machine-test.h"
#include "test.h"

#define MOST_BYTES 4096
#define MOST_TURNS 10000

typedef int (*read_function)(enum ws_mode mode, void *buf, size_t len);

struct marked {
	read_function read;
	enum ws_mode mode;
	unsigned int bytes;
	unsigned int reads;
};

static int read_kernel(enum ws_mode unused, void *buf, size_t len)
{
	get_random_bytes(buf, len);
	return 0;
}

static int read_pseudo(enum ws_mode unused, void *buf, size_t len)
{
	wellspring_get_pseudo_bytes(buf, len);
	return 0;
}

static noinline int read_nothing(enum ws_mode unused, void *buf, size_t len)
{
	barrier_data(buf);
	return 0;
}

/* Uses memory of the CPU, so that no reader writes to another's. */
static long read_marked(void *argument)
{
	const struct marked *marked = argument;
	void *memory = kmalloc(MOST_BYTES, GFP_KERNEL);
	unsigned int left = marked->reads;
	int error = 0;

	if (!memory)
		return -ENOMEM;
	asm volatile(WS_ARCH_BEGIN_MARK ::: "memory");
	while (left-- && !error)
		error = marked->read(marked->mode, memory, marked->bytes);
	asm volatile(WS_ARCH_END_MARK ::: "memory");
	kfree_sensitive(memory);
	return error;
}

static int find_kind(const char *kind, struct marked *marked)
{
	static const struct {
		const char *name;
		read_function read;
	} others[] = {
		{ "kernel", read_kernel },
		{ "pseudo", read_pseudo },
		{ "nothing", read_nothing },
	};
	unsigned int index;

	marked->read = ws_read;
	for (marked->mode = 0; marked->mode < WS_MODES; marked->mode++)
		if (!strcmp(kind, ws_mode_name(marked->mode)))
			return 0;
	for (index = 0; index < ARRAY_SIZE(others); index++) {
		marked->read = others[index].read;
		if (!strcmp(kind, others[index].name))
			return 0;
	}
	return -EINVAL;
}

static long take_turn(struct marked *marked, unsigned int readers)
{
	unsigned int count = 0;
	int cpu;

	for_each_online_cpu(cpu) {
		long error;

		if (count++ == readers)
			break;
		error = work_on_cpu(cpu, read_marked, marked);
		if (error)
			return error;
	}
	return 0;
}

static int run_marked(const char *text, const struct kernel_param *unused)
{
	unsigned int readers, turns;
	struct marked marked;
	char kind[16];
	long error = 0;

	if (sscanf(text, "%15s %u %u %u %u", kind, &marked.bytes, &marked.reads,
		   &readers, &turns) != 5)
		return -EINVAL;
	if (find_kind(kind, &marked) || marked.bytes > MOST_BYTES ||
	    turns > MOST_TURNS)
		return -EINVAL;
	cpus_read_lock();
	while (turns-- && !error)
		error = take_turn(&marked, readers);
	cpus_read_unlock();
	return error;
}

static const struct kernel_param_ops marked_operations = { .set = run_marked };
module_param_cb(marked, &marked_operations, NULL, 0200);
MODULE_PARM_DESC(marked, "makes marked reads (for tests)");
