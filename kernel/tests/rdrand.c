// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * RDRAND, on arm64 RNDR, is used with each key that a tap takes from its node, and not with each
 * refill: it is a slow unit that all CPUs of a machine share. A probe on every such instruction
 * of the module counts how often this task comes there.
 */
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "test.h"

#define MOST_PROBES 32
#define FETCHES 16
#define REFILLS_PER_FETCH 32
/* Half a buffer or more would take a key instead of buffered bytes. */
#define READ_BYTES (WS_TAP_BUFFER_BYTES / 4)

static struct task_struct *counted_task;
static unsigned int count;

static int on_rdrand(struct kprobe *probe, struct pt_regs *registers)
{
	if (current == READ_ONCE(counted_task))
		WRITE_ONCE(count, READ_ONCE(count) + 1);
	return 0;
}

/* The function of wellspring.ko around an address: false without one. */
static bool find_function(unsigned long address, unsigned long *start, unsigned long *end)
{
	char text[KSYM_SYMBOL_LEN], *numbers;
	unsigned long offset, len;

	sprint_symbol(text, address);
	numbers = strstr(text, "+0x");
	if (!numbers || !strstr(text, "[wellspring]") ||
	    sscanf(numbers, "+0x%lx/0x%lx", &offset, &len) != 2 || !len)
		return false;
	*start = address - offset;
	*end = *start + len;
	return true;
}

/* Probes every RDRAND from @start to @end. Bytes that only look like one are refused. */
static unsigned int probe_range(struct kprobe *probes, unsigned int placed,
				unsigned long start, unsigned long end)
{
	unsigned long at;

	for (at = start; at + 4 <= end && placed < MOST_PROBES; at++) {
		struct kprobe *probe = &probes[placed];

		if (!ws_arch_is_random_word((const u8 *)at))
			continue;
		memset(probe, 0, sizeof(*probe));
		probe->addr = (kprobe_opcode_t *)at;
		probe->pre_handler = on_rdrand;
		if (!register_kprobe(probe))
			placed++;
	}
	return placed;
}

/* All functions, from a known one to the module's first and to its last. */
static unsigned int probe_module(struct kprobe *probes)
{
	unsigned long known = (unsigned long)wellspring_get_bytes, start, end, first, last;
	unsigned int placed = 0;

	if (!find_function(known, &first, &last))
		return 0;
	placed = probe_range(probes, placed, first, last);
	while (find_function(last, &start, &end) && end > last) {
		placed = probe_range(probes, placed, last, end);
		last = end;
	}
	while (find_function(first - 1, &start, &end) && start < first) {
		placed = probe_range(probes, placed, start, first);
		first = start;
	}
	return placed;
}

/* A fetch, and refills after it, again and again. */
static int read_and_refill(void)
{
	unsigned int fetch, read;
	u8 bytes[READ_BYTES];
	int error = 0;

	for (fetch = 0; !error && fetch < FETCHES; fetch++) {
		ws_generation_bump();
		for (read = 0; !error && read < 4 * REFILLS_PER_FETCH; read++)
			error = ws_read(WS_PER_CPU, bytes, sizeof(bytes));
	}
	return error;
}

static int rdrand_per_fetch(struct report *report)
{
	const unsigned int refills = FETCHES * REFILLS_PER_FETCH;
	unsigned int placed, index;
	struct kprobe *probes;
	unsigned long word;
	int error;

	if (!IS_ENABLED(CONFIG_KPROBES))
		return skipped(report, "this kernel has no kprobes");
	if (!ws_arch_random_word(&word))
		return skipped(report, "this CPU has neither RDRAND nor RNDR");
	probes = kcalloc(MOST_PROBES, sizeof(*probes), GFP_KERNEL);
	if (!probes)
		return failed(report, "no memory");
	placed = probe_module(probes);
	WRITE_ONCE(count, 0);
	WRITE_ONCE(counted_task, current);
	error = read_and_refill();
	WRITE_ONCE(counted_task, NULL);
	for (index = 0; index < placed; index++)
		unregister_kprobe(&probes[index]);
	kfree(probes);
	if (error || !placed)
		return failed(report, "error %d, %u probes", error, placed);
	/* Some more if RDRAND had nothing, or if this task went to another CPU. */
	if (count < FETCHES || count >= refills)
		return failed(report, "%u RDRANDs in %u fetches and %u refills",
			      count, FETCHES, refills);
	return passed(report, "%u RDRANDs in %u fetches and %u refills", count,
		      FETCHES, refills);
}

const struct test rdrand_tests[] = {
	{ "rdrand/per-fetch", rdrand_per_fetch },
	{}
};
