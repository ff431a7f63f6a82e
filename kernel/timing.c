// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * When interrupts come, when tasks are switched, and what hwrng brings: hooks where a
 * module may have them. Each feeds its CPU's queue, which gives up when busy: at most
 * WS_QUEUE_EVENTS a CPU in a round of the thread, and 4 loads for each one more.
 *
 * The time stamp of an event is its noise: the low 32 bits of the cycle counter. The
 * data is only what was happening.
 *
 * No function lends hwrng's output to another module. What it feeds to the kernel's
 * own pool passes by add_hwgenerator_randomness(), and a probe there sees it.
 */
#include <linux/interrupt.h>
#include <linux/kprobes.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "harvest.h"
#include "timing.h"

static void feed(enum ws_source source, u32 what)
{
	ws_harvest_push(source, &what, sizeof(what), 0);
}

static void on_interrupt(void *unused, int irq, struct irqaction *action)
{
	feed(WS_SOURCE_INTERRUPT, irq);
}

/* The local timer is no irq with a handler, and where devices are quiet it is all. */
static void on_timer(void *unused, int vector)
{
	feed(WS_SOURCE_INTERRUPT, vector);
}

static void on_switch(void *unused, bool preempt, struct task_struct *previous,
		      struct task_struct *next, unsigned int previous_state)
{
	feed(WS_SOURCE_SCHEDULER, next->pid);
}

static struct hook {
	const char *name;
	void *probe;
	enum ws_source source;
	struct tracepoint *tracepoint;
} hooks[] = {
	{ "irq_handler_entry", on_interrupt, WS_SOURCE_INTERRUPT },
	{ "local_timer_entry", on_timer, WS_SOURCE_INTERRUPT },
	{ "sched_switch", on_switch, WS_SOURCE_SCHEDULER },
};

/* buf is the first argument, count the second. */
static int on_hwrng(struct kprobe *probe, struct pt_regs *registers)
{
	const void *bytes = (const void *)regs_get_kernel_argument(registers, 0);
	size_t length = regs_get_kernel_argument(registers, 1);

	ws_harvest_push(WS_SOURCE_HWRNG, bytes,
			min_t(size_t, length, WS_EVENT_BYTES), 0);
	return 0;
}

static struct kprobe hwrng_probe = {
	.symbol_name = "add_hwgenerator_randomness",
	.pre_handler = on_hwrng,
};
static bool hwrng_is_hooked;

bool ws_timing_is_hooked(enum ws_source source)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(hooks); i++)
		if (hooks[i].source == source && hooks[i].tracepoint)
			return true;
	return source == WS_SOURCE_HWRNG && hwrng_is_hooked;
}

static void find(struct tracepoint *tracepoint, void *unused)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(hooks); i++)
		if (!strcmp(tracepoint->name, hooks[i].name))
			hooks[i].tracepoint = tracepoint;
}

/* A hook that is not to be had is a source that is absent, no error. */
int ws_timing_init(void)
{
	unsigned int i;

	for_each_kernel_tracepoint(find, NULL);
	for (i = 0; i < ARRAY_SIZE(hooks); i++) {
		struct hook *hook = &hooks[i];

		if (hook->tracepoint &&
		    tracepoint_probe_register(hook->tracepoint, hook->probe, NULL))
			hook->tracepoint = NULL;
	}
	hwrng_is_hooked = register_kprobe(&hwrng_probe) == 0;
	return 0;
}

void ws_timing_exit(void)
{
	unsigned int i;

	if (hwrng_is_hooked)
		unregister_kprobe(&hwrng_probe);
	for (i = 0; i < ARRAY_SIZE(hooks); i++)
		if (hooks[i].tracepoint)
			tracepoint_probe_unregister(hooks[i].tracepoint,
						    hooks[i].probe, NULL);
	tracepoint_synchronize_unregister();
}
