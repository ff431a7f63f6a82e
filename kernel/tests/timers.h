/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A timer on each CPU, which interrupts what runs there, as a hard interrupt or
 * as a softirq.
 */
#ifndef WELLSPRING_TEST_TIMERS_H
#define WELLSPRING_TEST_TIMERS_H

#include <linux/hrtimer.h>

struct interruption {
	struct hrtimer timer;
	struct timers *timers;
	int cpu;
};

struct timers {
	struct interruption *of_cpu;
	void (*function)(int cpu, void *argument);
	void *argument;
	bool softirq;
	u64 period_ns;
};

/* On all online CPUs; the caller keeps them online. 0 or -ENOMEM. */
int timers_start(struct timers *timers);
void timers_stop(struct timers *timers);

#endif
