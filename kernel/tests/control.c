// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The module of the tests: its device file, and the threads and timers that tests use.
 */
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/uaccess.h>

#include "test.h"

/*
 * /dev/wellspring-test: lists tests, runs them by number, and replays vectors.
 */

#define GROUP(group) group##_tests,
static const struct test *const groups[] = { EACH_GROUP(GROUP) };

/* One test at a time: they load all CPUs and count what happens. */
static DEFINE_MUTEX(run_lock);

#define VERDICT(name, value)						\
int name(struct report *report, const char *format, ...)		\
{									\
	va_list arguments;						\
									\
	va_start(arguments, format);					\
	vscnprintf(report->text, sizeof(report->text), format, arguments); \
	va_end(arguments);						\
	return value;							\
}

VERDICT(passed, WELLSPRING_TEST_OK)
VERDICT(failed, WELLSPRING_TEST_FAILED)
VERDICT(skipped, WELLSPRING_TEST_SKIPPED)

static const struct test *find_test(unsigned int index)
{
	const struct test *test;
	unsigned int group;

	for (group = 0; group < ARRAY_SIZE(groups); group++)
		for (test = groups[group]; test->name; test++)
			if (!index--)
				return test;
	return NULL;
}

int run_by_name(const char *name, struct report *report)
{
	const struct test *test;
	unsigned int index = 0;
	int verdict;

	do {
		test = find_test(index++);
	} while (test && strcmp(test->name, name));
	if (!test)
		return failed(report, "no test of this name");
	mutex_lock(&run_lock);
	verdict = test->run(report);
	mutex_unlock(&run_lock);
	return verdict;
}

static long list_test(struct wellspring_test_name __user *argument)
{
	struct wellspring_test_name request;
	const struct test *test;

	if (copy_from_user(&request, argument, sizeof(request)))
		return -EFAULT;
	test = find_test(request.index);
	if (!test)
		return -ENXIO;
	memset(request.name, 0, sizeof(request.name));
	strscpy(request.name, test->name, sizeof(request.name));
	return copy_to_user(argument, &request, sizeof(request)) ? -EFAULT : 0;
}

static long run_test(struct wellspring_test_run __user *argument)
{
	struct wellspring_test_run *request;
	const struct test *test;
	struct report *report;
	unsigned int index;
	long error = 0;

	if (get_user(index, &argument->index))
		return -EFAULT;
	test = find_test(index);
	if (!test)
		return -ENXIO;
	request = kzalloc(sizeof(*request), GFP_KERNEL);
	report = kzalloc(sizeof(*report), GFP_KERNEL);
	if (!request || !report) {
		error = -ENOMEM;
		goto free;
	}
	error = mutex_lock_interruptible(&run_lock);
	if (error)
		goto free;
	request->index = index;
	request->verdict = test->run(report);
	mutex_unlock(&run_lock);
	memcpy(request->report, report->text, sizeof(request->report));
	if (copy_to_user(argument, request, sizeof(*request)))
		error = -EFAULT;
free:
	kfree(report);
	kfree(request);
	return error;
}

static long measure_one(unsigned int command, void __user *argument)
{
	long error = mutex_lock_interruptible(&run_lock);

	if (error)
		return error;
	error = command == WELLSPRING_TEST_SPEED ? speed(argument) : measure(argument);
	mutex_unlock(&run_lock);
	return error;
}

static long control_ioctl(struct file *file, unsigned int command,
			  unsigned long argument)
{
	void __user *pointer = (void __user *)argument;

	switch (command) {
	case WELLSPRING_TEST_LIST:
		return list_test(pointer);
	case WELLSPRING_TEST_RUN:
		return run_test(pointer);
	case WELLSPRING_TEST_MEASURE:
	case WELLSPRING_TEST_SPEED:
		return measure_one(command, pointer);
	default:
		return replay_ioctl(file->private_data, command, pointer);
	}
}

static int control_open(struct inode *inode, struct file *file)
{
	file->private_data = replay_create();
	return file->private_data ? 0 : -ENOMEM;
}

static int control_release(struct inode *inode, struct file *file)
{
	replay_destroy(file->private_data);
	return 0;
}

static const struct file_operations control_operations = {
	.owner = THIS_MODULE,
	.open = control_open,
	.release = control_release,
	.unlocked_ioctl = control_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "wellspring-test",
	.mode = 0600,
	.fops = &control_operations,
};

static int __init control_init(void)
{
	return kunit_init() ?: misc_register(&device);
}

static void __exit control_exit(void)
{
	misc_deregister(&device);
	secrets_exit();
}

module_init(control_init);
module_exit(control_exit);

MODULE_DESCRIPTION("Tests of the module wellspring");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_IMPORT_NS(WS_NAMESPACE);

/*
 * Threads bound to CPUs, which work until they are told to stop.
 */

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

/*
 * A timer on each CPU, which interrupts what runs there, as a hard interrupt or
 * as a softirq.
 */

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
