// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * From Empty over Early to Ready. Only where the module was loaded with
 * withhold_credit=1, so that all credit comes from the test.
 */
#include <linux/completion.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kthread.h>

#include "test.h"

struct waiter {
	struct completion done;
	int error;
};

static int wait_in_thread(void *argument)
{
	struct waiter *waiter = argument;

	waiter->error = wellspring_wait_until_seeded();
	complete(&waiter->done);
	return 0;
}

/* The result of a read of the device that must not wait. */
static ssize_t read_device(void)
{
	struct file *file = filp_open("/dev/wellspring", O_RDONLY | O_NONBLOCK, 0);
	loff_t position = 0;
	u8 bytes[16];
	ssize_t got;

	if (IS_ERR(file))
		return PTR_ERR(file);
	got = kernel_read(file, bytes, sizeof(bytes), &position);
	filp_close(file, NULL);
	return got;
}

/* How every read must fail, or 0; NULL if all do. */
static const char *reads_are_wrong(int wanted, int wanted_early)
{
	u8 bytes[32];
	enum ws_mode mode;

	for (mode = 0; mode < WS_MODES; mode++)
		if (ws_read(mode, bytes, sizeof(bytes)) != wanted)
			return ws_mode_name(mode);
	if (wellspring_get_bytes(bytes, 0) != wanted)
		return "wellspring_get_bytes";
	if (wellspring_get_early_bytes(bytes, sizeof(bytes)) != wanted_early)
		return "wellspring_get_early_bytes";
	if (ws_nodes_save(0, bytes, sizeof(bytes)) != wanted)
		return "save";
	if (read_device() != (wanted ?: 16))
		return "/dev/wellspring";
	return NULL;
}

static int early_phases(struct report *report)
{
	struct waiter waiter;
	struct task_struct *task;
	const char *wrong;

	if (ws_phase() == WS_READY)
		return skipped(report, "load the module with withhold_credit=1");
	if (ws_phase() != WS_EMPTY)
		return failed(report, "the phase is Early without any credit");
	init_completion(&waiter.done);
	task = kthread_run(wait_in_thread, &waiter, "wellspring-test/wait");
	if (IS_ERR(task))
		return failed(report, "no thread");

	wrong = reads_are_wrong(-EAGAIN, -EAGAIN);
	if (!wrong && (ws_credit(127) || ws_phase() != WS_EARLY))
		wrong = "the phase with 127 bits";
	if (!wrong)
		wrong = reads_are_wrong(-EAGAIN, 0);
	if (!wrong && completion_done(&waiter.done))
		wrong = "a waiter with 127 bits";
	/* Releases the waiter in any case. */
	if ((ws_credit(1) || ws_credit(127) || ws_phase() != WS_READY) && !wrong)
		wrong = "the phase with 128 bits and more";
	if (!wrong)
		wrong = reads_are_wrong(0, 0);
	wait_for_completion(&waiter.done);
	if (wrong)
		return failed(report, "%s", wrong);
	if (waiter.error)
		return failed(report, "the waiter got error %d", waiter.error);
	return passed(report, "empty, early with 127 bits, ready");
}

const struct test early_tests[] = {
	{ "early/phases", early_phases },
	{}
};
