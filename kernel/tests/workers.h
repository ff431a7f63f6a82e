/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Threads bound to CPUs, which work until they are told to stop.
 */
#ifndef WELLSPRING_TEST_WORKERS_H
#define WELLSPRING_TEST_WORKERS_H

#include <linux/types.h>

struct worker {
	struct task_struct *task;
	int cpu;
	unsigned int number;
	void *argument;
};

/* Called again and again in a thread that is bound to worker->cpu. */
typedef void (*work_function)(struct worker *worker);

struct workers {
	struct worker *all;
	unsigned int count;
};

/* @per_cpu threads on each online CPU. All start together. 0 or a negative errno. */
int workers_start(struct workers *workers, unsigned int per_cpu,
		  work_function function, void *argument);
void workers_stop(struct workers *workers);
/* Both, with a sleep in between. */
int workers_run(unsigned int per_cpu, work_function function, void *argument,
		unsigned int time_ms);

#endif
