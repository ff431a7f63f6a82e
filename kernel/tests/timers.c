// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A timer on each CPU, which interrupts what runs there, as a hard interrupt or
 * as a softirq.
 */
#include <linux/cpu.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "test.h"
#include "timers.h"

static enum hrtimer_restart timer_fires(struct hrtimer *timer)
{
	struct interruption *one = container_of(timer, struct interruption, timer);

	one->timers->function(one->cpu, one->timers->argument);
	hrtimer_forward_now(timer, ns_to_ktime(one->timers->period_ns));
	return HRTIMER_RESTART;
}

/* Runs on the CPU that the timer interrupts. */
static void start_here(void *data)
{
	struct timers *timers = data;
	struct interruption *one = &timers->of_cpu[smp_processor_id()];
	enum hrtimer_mode mode = timers->softirq ? HRTIMER_MODE_REL_PINNED_SOFT :
						   HRTIMER_MODE_REL_PINNED_HARD;

	one->timers = timers;
	one->cpu = smp_processor_id();
	ws_hrtimer_setup(&one->timer, timer_fires, CLOCK_MONOTONIC, mode);
	hrtimer_start(&one->timer, ns_to_ktime(timers->period_ns), mode);
}

int timers_start(struct timers *timers)
{
	timers->of_cpu = kcalloc(nr_cpu_ids, sizeof(*timers->of_cpu), GFP_KERNEL);
	if (!timers->of_cpu)
		return -ENOMEM;
	on_each_cpu(start_here, timers, true);
	return 0;
}

void timers_stop(struct timers *timers)
{
	unsigned int cpu;

	for (cpu = 0; cpu < nr_cpu_ids; cpu++)
		if (timers->of_cpu[cpu].timers)
			hrtimer_cancel(&timers->of_cpu[cpu].timer);
	kfree(timers->of_cpu);
}
