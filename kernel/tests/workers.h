/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Threads bound to CPUs, which work until they are told to stop.
 */
#ifndef WELLSPRING_TEST_WORKERS_H
#define WELLSPRING_TEST_WORKERS_H

#include <linux/sched.h>
#include <linux/types.h>

/*
 * In a loop. With PREEMPT cond_resched() does nothing, since an interrupt that returns
 * preempts. In User Mode Linux it does not.
 */
static inline void give_way(void)
{
	if (need_resched())
		schedule();
}

struct worker {
	struct task_struct *task;
	int cpu;
	unsigned int number;
	/* How often the function returned. */
	u64 works;
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
/*
 * Both, with a sleep of @time_ms in between, which goes on until each thread has called
 * the function and @is_enough says true. -ETIMEDOUT if that did not happen.
 */
int workers_run(unsigned int per_cpu, work_function function, void *argument,
		unsigned int time_ms, bool (*is_enough)(void *argument));
/*
 * Sleeps until the function says true. False if it did not within some minutes: an
 * emulated CPU on a busy host may get its turn after seconds, so no test may conclude
 * anything from a shorter time.
 */
bool wait_until(bool (*is_true)(void *argument), void *argument);

#endif
