// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Figures for a benchmark, which judges nothing: requests of 16 bytes, and a loop that
 * writes blocks.
 *
 * The loop imitates an allocator that draws two numbers for each block that it places, as
 * ZFS's metaslab allocator did. There, the change from secure numbers to statistical ones
 * moved their share of the write path from 3.16 % to 0.06 %.
 */
#include <linux/ktime.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "ciphers.h"
#include "requests.h"
#include "test.h"

#define MOST_COUNT (1 << 20)
#define BLOCK_BYTES 4096
/* 4 MiB, so that they stay in some cache. */
#define BLOCKS 1024
/* Blocks between two looks at what else wants to run. */
#define PORTION 64

typedef int (*numbers_function)(u64 numbers[2]);

static int secret_numbers(u64 numbers[2])
{
	return wellspring_get_u64(&numbers[0]) ?: wellspring_get_u64(&numbers[1]);
}

static int pseudo_numbers(u64 numbers[2])
{
	numbers[0] = wellspring_get_pseudo_u64();
	numbers[1] = wellspring_get_pseudo_u64();
	return 0;
}

static int kernel_numbers(u64 numbers[2])
{
	numbers[0] = get_random_u64();
	numbers[1] = get_random_u64();
	return 0;
}

/* The numbers alone are timed apart: they are too little for a difference of two times. */
static u64 time_numbers(numbers_function make, u32 count, u64 *errors)
{
	u64 since = ktime_get_ns(), numbers[2];

	while (count--) {
		*errors += !!make(numbers);
		/* Keeps the compiler from leaving them out. */
		barrier_data(numbers);
	}
	return ktime_get_ns() - since;
}

static u64 time_blocks(numbers_function make, u8 *memory, u32 count, u64 *errors)
{
	u64 since = ktime_get_ns(), numbers[2];

	while (count--) {
		u8 *block;

		*errors += !!make(numbers);
		block = memory + numbers[0] % BLOCKS * BLOCK_BYTES;
		memset(block, numbers[1], BLOCK_BYTES);
		barrier_data(block);
	}
	return ktime_get_ns() - since;
}

static int write_blocks(struct wellspring_test_measure *measure, numbers_function make)
{
	u8 *memory = vzalloc(BLOCKS * BLOCK_BYTES);
	u32 left = measure->count;

	if (!memory)
		return -ENOMEM;
	while (left && !fatal_signal_pending(current)) {
		u32 count = min_t(u32, left, PORTION);

		measure->ns += time_blocks(make, memory, count, &measure->errors);
		measure->numbers_ns += time_numbers(make, count, &measure->errors);
		left -= count;
		cond_resched();
	}
	vfree(memory);
	return left ? -EINTR : 0;
}

static int make_requests(struct wellspring_test_measure *measure,
			 int (*requests)(u32 count, struct cost *cost))
{
	struct cost cost = { };
	int error = requests(measure->count, &cost);

	measure->count = cost.requests;
	measure->ns = cost.ns;
	measure->switches = cost.switches;
	measure->errors = cost.errors;
	return error;
}

static int run_measurement(struct wellspring_test_measure *measure)
{
	switch (measure->measurement) {
	case WELLSPRING_TEST_TASK:
		return make_requests(measure, requests_by_task);
	case WELLSPRING_TEST_TASK_WORKER:
		return make_requests(measure, requests_by_task_to_worker);
	case WELLSPRING_TEST_SOFTIRQ:
		return make_requests(measure, requests_by_softirq);
	case WELLSPRING_TEST_SOFTIRQ_WORKER:
		return make_requests(measure, requests_by_softirq_to_worker);
	case WELLSPRING_TEST_BLOCKS_SECRET:
		return write_blocks(measure, secret_numbers);
	case WELLSPRING_TEST_BLOCKS_PSEUDO:
		return write_blocks(measure, pseudo_numbers);
	case WELLSPRING_TEST_BLOCKS_KERNEL:
		return write_blocks(measure, kernel_numbers);
	case WELLSPRING_TEST_XTS_16:
		return measure_cipher(false, 16, measure->count, &measure->ns);
	case WELLSPRING_TEST_XTS_16_CRYPTD:
		return measure_cipher(true, 16, measure->count, &measure->ns);
	case WELLSPRING_TEST_XTS_4096:
		return measure_cipher(false, 4096, measure->count, &measure->ns);
	case WELLSPRING_TEST_XTS_4096_CRYPTD:
		return measure_cipher(true, 4096, measure->count, &measure->ns);
	default:
		return -EINVAL;
	}
}

long measure(struct wellspring_test_measure __user *argument)
{
	struct wellspring_test_measure request;
	int error;

	if (copy_from_user(&request, argument, sizeof(request)))
		return -EFAULT;
	if (!request.count || request.count > MOST_COUNT)
		return -EINVAL;
	request.ns = 0;
	request.numbers_ns = 0;
	request.switches = 0;
	request.errors = 0;
	error = run_measurement(&request);
	if (error)
		return error;
	return copy_to_user(argument, &request, sizeof(request)) ? -EFAULT : 0;
}
