// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Sources that send samples by themselves: when interrupts come, and when tasks are
 * switched. Each hook pushes to a queue of its CPU: at most
 * WS_QUEUE_EVENTS per source, CPU and round of the harvester. A push to a full queue costs 4
 * loads.
 *
 * The noise of a timing event is its cycle counter, low 32 bits. Its data says only
 * what happened.
 */
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "queue.h"
#include "timing.h"

static void push_word(enum ws_source source, u32 word)
{
	ws_queue_push(source, &word, sizeof(word), 0);
}

static void on_interrupt(void *unused, int irq, struct irqaction *action)
{
	push_word(WS_SOURCE_INTERRUPT, irq);
}

/* The local timer has no irq handler, and without busy devices nothing else comes. */
static void on_timer(void *unused, int vector)
{
	push_word(WS_SOURCE_INTERRUPT, vector);
}

static void on_switch(void *unused, bool preempt, struct task_struct *previous,
		      struct task_struct *next, unsigned int previous_state)
{
	push_word(WS_SOURCE_SCHEDULER, next->pid);
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

static void find_tracepoint(struct tracepoint *tracepoint, void *unused)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(hooks); i++)
		if (!strcmp(tracepoint->name, hooks[i].name))
			hooks[i].tracepoint = tracepoint;
}

static bool timing = true;
module_param(timing, bool, 0444);
MODULE_PARM_DESC(timing,
		 "interrupts and task switches are sources (default); off: no hook is placed, for isolated CPUs");

/* A hook that cannot be placed means an absent source. It is no error. */
int ws_timing_init(void)
{
	unsigned int i;

	if (!timing)
		return 0;
	for_each_kernel_tracepoint(find_tracepoint, NULL);
	for (i = 0; i < ARRAY_SIZE(hooks); i++) {
		struct hook *hook = &hooks[i];

		if (hook->tracepoint &&
		    tracepoint_probe_register(hook->tracepoint, hook->probe, NULL))
			hook->tracepoint = NULL;
		if (hook->tracepoint)
			ws_source_set_present(hook->source, true);
	}
	return 0;
}

void ws_timing_exit(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(hooks); i++)
		if (hooks[i].tracepoint)
			tracepoint_probe_unregister(hooks[i].tracepoint,
						    hooks[i].probe, NULL);
	tracepoint_synchronize_unregister();
}
