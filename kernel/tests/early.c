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
	ssize_t ret;

	if (IS_ERR(file))
		return PTR_ERR(file);
	ret = kernel_read(file, bytes, sizeof(bytes), &position);
	filp_close(file, NULL);
	return ret;
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

static u64 root_reseeds(void)
{
	struct ws_node_statistics root = {};

	ws_nodes_statistics(0, &root);
	return root.reseeds;
}

/*
 * Credit that comes in steps of 8 bits. Who reads early after each step could guess each:
 * so the first step makes one seed, and the others wait until they are 128 bits.
 */
static const char *small_steps(struct waiter *waiter)
{
	static const u8 seed[32] = "7 bits of a restore";
	const char *wrong;
	unsigned int step;
	u64 reseeds;

	ws_credit(8);
	if (ws_phase() != WS_EARLY)
		return "the phase with 8 bits";
	wrong = reads_are_wrong(-EAGAIN, 0);
	reseeds = root_reseeds();
	for (step = 1; step < 16; step++) {
		ws_credit(8);
		/* The harvester's rounds do not take them either. */
		ws_harvester_round();
		wrong = wrong ?: reads_are_wrong(-EAGAIN, 0);
	}
	if (!wrong && ws_phase() != WS_EARLY)
		wrong = "16 times 8 bits count as 128";
	ws_restore(0, seed, 7);
	ws_restore(ws_nodes_count() - 1, seed, 0);
	if (!wrong && root_reseeds() != reseeds)
		wrong = "a seed of less than 128 bits";
	if (!wrong && ws_phase() != WS_EARLY)
		wrong = "the phase with 127 bits after the early seed";
	if (!wrong && completion_done(&waiter->done))
		wrong = "a waiter with 127 bits";
	return wrong;
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
	ws_harvester_park(true);
	if (!wrong)
		wrong = small_steps(&waiter);
	ws_harvester_park(false);
	if ((ws_credit(1) || ws_phase() != WS_READY) && !wrong)
		wrong = "the phase with 128 bits after the early seed";
	/* Releases the waiter in any case. */
	ws_credit(256);
	if (!wrong)
		wrong = reads_are_wrong(0, 0);
	wait_for_completion(&waiter.done);
	if (wrong)
		return failed(report, "%s", wrong);
	if (waiter.error)
		return failed(report, "the waiter got error %d", waiter.error);
	return passed(report, "empty, early with 8 bits, ready with 128 in one seed");
}

const struct test early_tests[] = {
	{ "early/phases", early_phases },
	{}
};
