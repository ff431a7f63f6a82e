// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * /dev/wellspring-test: lists tests, runs them by number, and replays vectors.
 */
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "test.h"

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
