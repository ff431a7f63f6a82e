/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * 16 bytes for a task and for a softirq: read directly, and through a worker, as an
 * asynchronous cipher would make them.
 */
#ifndef WELLSPRING_TEST_REQUESTS_H
#define WELLSPRING_TEST_REQUESTS_H

#include <linux/types.h>

#define REQUEST_BYTES 16

/*
 * The sum over all requests. @ns and @ticks: from the request to its bytes.
 * @ticks counts with the time stamp counter, or instructions in an emulator
 * that counts these (QEMU with -icount shift=0).
 */
struct cost {
	u64 ns;
	u64 ticks;
	u64 switches;
	u32 requests;
	u32 errors;
};

/*
 * Each makes at least @requests requests, one at a time, and adds them up. 0, or a
 * negative errno.
 */
int requests_by_task(u32 requests, struct cost *cost);
int requests_by_task_to_worker(u32 requests, struct cost *cost);
int requests_by_softirq(u32 requests, struct cost *cost);
int requests_by_softirq_to_worker(u32 requests, struct cost *cost);

#endif
