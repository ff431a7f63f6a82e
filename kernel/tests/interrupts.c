// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * How much the module does at a time with interrupts or softirqs off. A probe on the
 * function that makes all keystreams looks at the interrupt flag of its caller.
 */
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "test.h"

/* Four steps of a canonical read. */
#define READ_BYTES 16384
#define WRITE_BYTES 4096
/* The most of a write that may be hashed with softirqs off. */
#define MOST_WRITE_STEP_BYTES 512

static struct task_struct *watched;
static size_t longest_off_bytes, on_bytes;

/* ws_keystream_fill(keystream, buf, len) */
static int on_fill(struct kprobe *probe, struct pt_regs *registers)
{
	size_t len = regs_get_kernel_argument(registers, 2);

	if (current != READ_ONCE(watched))
		return 0;
	if (ws_arch_had_interrupts(registers))
		on_bytes += len;
	else
		longest_off_bytes = max(longest_off_bytes, len);
	return 0;
}

static struct kprobe fill_probe = {
	.symbol_name = "ws_keystream_fill",
	.pre_handler = on_fill,
};

static int watch_read(enum ws_mode mode, u8 *buf)
{
	int error;

	longest_off_bytes = 0;
	on_bytes = 0;
	WRITE_ONCE(watched, current);
	error = ws_read(mode, buf, READ_BYTES) ?: ws_read_sleeping(mode, buf, READ_BYTES);
	WRITE_ONCE(watched, NULL);
	return error;
}

/* A node's new key is made with interrupts off, and nothing longer. */
static int interrupts_reads(struct report *report)
{
	u8 *buf = kmalloc(READ_BYTES, GFP_KERNEL);
	enum ws_mode mode;
	int error;

	if (!buf)
		return failed(report, "no memory");
	fill_probe.addr = NULL;
	fill_probe.flags = 0;
	error = register_kprobe(&fill_probe);
	if (error) {
		kfree(buf);
		return IS_ENABLED(CONFIG_KPROBES) ?
			       failed(report, "no probe: error %d", error) :
			       skipped(report, "this kernel has no kprobes");
	}
	for (mode = 0; mode < WS_MODES; mode++) {
		error = watch_read(mode, buf);
		if (error || longest_off_bytes > WS_KEY_BYTES || on_bytes < 2 * READ_BYTES)
			break;
	}
	unregister_kprobe(&fill_probe);
	kfree(buf);
	if (mode < WS_MODES)
		return failed(report, "%s: error %d, at most %zu bytes with interrupts off, %zu with them on",
			      ws_mode_name(mode), error, longest_off_bytes, on_bytes);
	return passed(report, "at most %u bytes with interrupts off, in each mode",
		      WS_KEY_BYTES);
}

/* Each step of a write is one section, in which softirqs are off. */
static int interrupts_writes(struct report *report)
{
	struct ws_simd_statistics before, after;
	u8 *buf = kzalloc(WRITE_BYTES, GFP_KERNEL);
	u64 steps;

	if (!buf)
		return failed(report, "no memory");
	ws_harvester_park(true);
	migrate_disable();
	ws_simd_statistics(smp_processor_id(), &before);
	ws_mix(buf, WRITE_BYTES);
	ws_simd_statistics(smp_processor_id(), &after);
	migrate_enable();
	ws_harvester_park(false);
	kfree(buf);
	steps = after.sections[WS_TASK] - before.sections[WS_TASK] +
		after.refusals[WS_TASK] - before.refusals[WS_TASK];
	if (steps < WRITE_BYTES / MOST_WRITE_STEP_BYTES)
		return failed(report, "%u bytes in %llu steps", WRITE_BYTES, steps);
	return passed(report, "%u bytes in %llu steps", WRITE_BYTES, steps);
}

const struct test interrupts_tests[] = {
	{ "interrupts/reads", interrupts_reads },
	{ "interrupts/writes", interrupts_writes },
	{}
};
