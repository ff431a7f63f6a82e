// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Threads bound to CPUs, which work until they are told to stop.
 */
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/slab.h>

#include "test.h"
#include "workers.h"

#define LONGEST_WAIT_MS 300000
#define TICK_MS 20

struct assignment {
	struct worker worker;
	work_function function;
};

static int work_until_stopped(void *data)
{
	struct assignment *assignment = data;

	while (!kthread_should_stop()) {
		assignment->function(&assignment->worker);
		WRITE_ONCE(assignment->worker.works,
			   assignment->worker.works + 1);
		give_way();
	}
	return 0;
}

/* All threads are made before the first is woken, so that they start together. */
int workers_start(struct workers *workers, unsigned int per_cpu,
		  work_function function, void *argument)
{
	struct assignment *all;
	unsigned int number;
	int cpu, error = 0;

	workers->count = 0;
	all = kcalloc(per_cpu * num_possible_cpus(), sizeof(*all), GFP_KERNEL);
	if (!all)
		return -ENOMEM;
	workers->all = &all->worker;
	cpus_read_lock();
	for_each_online_cpu(cpu) {
		for (number = 0; number < per_cpu && !error; number++) {
			struct assignment *one = all + workers->count;
			struct task_struct *task;

			one->function = function;
			one->worker.cpu = cpu;
			one->worker.number = workers->count;
			one->worker.argument = argument;
			task = kthread_create_on_node(work_until_stopped, one, cpu_to_node(cpu),
						      "wellspring-test/%d", cpu);
			if (IS_ERR(task)) {
				error = PTR_ERR(task);
				break;
			}
			kthread_bind(task, cpu);
			one->worker.task = task;
			workers->count++;
		}
	}
	cpus_read_unlock();
	for (number = 0; number < workers->count; number++)
		wake_up_process(all[number].worker.task);
	if (error) {
		workers_stop(workers);
		workers->count = 0;
	}
	return error;
}

void workers_stop(struct workers *workers)
{
	struct assignment *all =
		container_of(workers->all, struct assignment, worker);
	unsigned int number;

	for (number = 0; number < workers->count; number++)
		kthread_stop(all[number].worker.task);
	kfree(all);
}

bool wait_until(bool (*is_true)(void *argument), void *argument)
{
	unsigned long end = jiffies + msecs_to_jiffies(LONGEST_WAIT_MS);

	while (!is_true(argument)) {
		if (time_after(jiffies, end))
			return false;
		msleep(TICK_MS);
	}
	return true;
}

static bool all_have_worked(void *argument)
{
	const struct workers *workers = argument;
	const struct assignment *all =
		container_of(workers->all, struct assignment, worker);
	unsigned int number;

	for (number = 0; number < workers->count; number++)
		if (!READ_ONCE(all[number].worker.works))
			return false;
	return true;
}

int workers_run(unsigned int per_cpu, work_function function, void *argument,
		unsigned int time_ms, bool (*is_enough)(void *argument))
{
	struct workers workers;
	int error = workers_start(&workers, per_cpu, function, argument);

	if (error)
		return error;
	msleep(time_ms);
	if (!wait_until(all_have_worked, &workers) ||
	    !wait_until(is_enough, argument))
		error = -ETIMEDOUT;
	workers_stop(&workers);
	return error;
}
