// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The module of the tests: its device file, suites for KUnit, and the threads and timers that
 * tests use.
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

#if IS_REACHABLE(CONFIG_KUNIT)
#include <kunit/test.h>
#if __has_include(<kunit/run-in-irq-context.h>)
#include <kunit/run-in-irq-context.h>
#define HAS_IRQ_TEST
#endif

/*
 * The tests as KUnit suites: one for each group, with a case for each test. KUnit runs them when
 * this module has been loaded, or at boot where it is built in. Debian's kernels have no
 * KUnit, so the tests do not call it: there kernel-test runs them by name.
 */

/* The verdict of the test of this name. */
static int run_by_name(const char *name, struct report *report)
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

static void run_case(struct kunit *test)
{
	struct report *report = kunit_kzalloc(test, sizeof(*report), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, report);
	switch (run_by_name(test->name, report)) {
	case WELLSPRING_TEST_OK:
		kunit_info(test, "%s", report->text);
		break;
	case WELLSPRING_TEST_SKIPPED:
		kunit_skip(test, "%s", report->text);
		break;
	default:
		KUNIT_FAIL(test, "%s", report->text);
	}
}

#define SUITE(group)							\
static struct kunit_suite group##_suite = { .name = "wellspring-" #group };
EACH_GROUP(SUITE)

#define SUITE_AND_TESTS(group) { &group##_suite, group##_tests },
static const struct {
	struct kunit_suite *suite;
	const struct test *tests;
} suites[] = { EACH_GROUP(SUITE_AND_TESTS) };

/*
 * The cases of all suites, with an empty one after each. KUnit needs them until
 * this module is gone.
 */
static struct kunit_case cases[128];

static int kunit_init(void)
{
	struct kunit_case *next = cases;
	const struct test *test;
	unsigned int group;

	for (group = 0; group < ARRAY_SIZE(suites); group++) {
		suites[group].suite->test_cases = next;
		for (test = suites[group].tests; test->name; test++) {
			if (next + 1 >= cases + ARRAY_SIZE(cases))
				return -E2BIG;
			next->run_case = run_case;
			next->name = test->name;
			next->module_name = KBUILD_MODNAME;
			next++;
		}
		next++;
	}
	return 0;
}

#ifdef HAS_IRQ_TEST
#define STREAM_BYTES 1500

static const u8 stream_key[WS_KEY_BYTES] = { 1, 2, 3 };
static const struct ws_counter stream_start = { U64_MAX - 20, 7 };

struct streams {
	enum ws_cipher cipher;
	u8 expected[STREAM_BYTES];
	/* The contexts run at the same time. */
	u8 made[WS_CONTEXTS][STREAM_BYTES];
};

static void make_stream(enum ws_cipher cipher, enum ws_backend backend, u8 *buf)
{
	struct ws_keystream keystream;

	ws_keystream_init(&keystream, cipher, stream_key, &stream_start);
	keystream.backend = backend;
	ws_keystream_fill(&keystream, buf, STREAM_BYTES);
	ws_keystream_wipe(&keystream);
}

static bool stream_is_right(void *argument)
{
	struct streams *streams = argument;
	u8 *made = streams->made[ws_context()];

	make_stream(streams->cipher, ws_best_backend(streams->cipher), made);
	return !memcmp(made, streams->expected, STREAM_BYTES);
}

/* Where an interrupt comes in a section the scalar backend makes the same bytes. */
static void check_streams(struct kunit *test, enum ws_cipher cipher)
{
	struct streams *streams = kunit_kzalloc(test, sizeof(*streams), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, streams);
	streams->cipher = cipher;
	make_stream(cipher, WS_SCALAR, streams->expected);
	kunit_run_irq_test(test, stream_is_right, 100000, streams);
}

static void aes256_is_the_same_in_every_context(struct kunit *test)
{
	check_streams(test, WS_AES256);
}

static void chacha20_is_the_same_in_every_context(struct kunit *test)
{
	check_streams(test, WS_CHACHA20);
}

static bool read_succeeds(void *unused)
{
	u8 bytes[2][64] = {};
	bool is_read = !wellspring_get_bytes(bytes[0], sizeof(bytes[0]));

	wellspring_get_pseudo_bytes(bytes[1], sizeof(bytes[1]));
	return is_read && memchr_inv(bytes[0], 0, sizeof(bytes[0])) &&
	       memchr_inv(bytes[1], 0, sizeof(bytes[1]));
}

static void reads_succeed_in_every_context(struct kunit *test)
{
	kunit_run_irq_test(test, read_succeeds, 100000, NULL);
}

static struct kunit_case contexts_cases[] = {
	KUNIT_CASE(aes256_is_the_same_in_every_context),
	KUNIT_CASE(chacha20_is_the_same_in_every_context),
	KUNIT_CASE(reads_succeed_in_every_context),
	{}
};

static struct kunit_suite contexts_suite = {
	.name = "wellspring-contexts",
	.test_cases = contexts_cases,
};
kunit_test_suite(contexts_suite);
#endif

#define SUITE_POINTER(group) &group##_suite,
kunit_test_suites(EACH_GROUP(SUITE_POINTER));
#else
static int kunit_init(void)
{
	return 0;
}
#endif

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
