// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Figures for a benchmark: kernel threads that read beside each other, in one of the ways that
 * uapi.h names. How long they waited for the locks of nodes, and what the harvester ran.
 *
 * The reads are timed in turns of some 20 us, and the median counts: a host
 * takes the CPU from an emulated or virtual machine for milliseconds.
 */
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/uaccess.h>

#include "test.h"
#include "workers.h"

#define MOST_READERS 64
#define MOST_BYTES (1 << 20)
#define MOST_MS 10000
/* The last turns are kept. */
#define TURNS 1024
#define TURN_BYTES 65536

struct speed_reader {
	struct task_struct *task;
	const struct wellspring_test_speed *request;
	void *memory;
	u32 turns_ns[TURNS];
	u64 turns;
	u64 reads;
	u64 ns;
	u64 errors;
};

static int read_once(u32 way, void *buf, size_t len)
{
	switch (way) {
	case WELLSPRING_TEST_WAY_KERNEL:
		get_random_bytes(buf, len);
		return 0;
	case WELLSPRING_TEST_WAY_PSEUDO:
		wellspring_get_pseudo_bytes(buf, len);
		return 0;
	case WELLSPRING_TEST_WAY_U64:
		return wellspring_get_u64(buf);
	case WELLSPRING_TEST_WAY_KERNEL_U64:
		*(u64 *)buf = get_random_u64();
		return 0;
	default:
		return ws_read_sleeping(way, buf, len);
	}
}

static u32 turn_reads(const struct wellspring_test_speed *request)
{
	return clamp(TURN_BYTES / request->bytes, 4u, 1024u);
}

static int read_until_stopped(void *data)
{
	struct speed_reader *reader = data;
	u32 way = reader->request->way, reads = turn_reads(reader->request), left;
	size_t len = reader->request->bytes;

	while (!kthread_should_stop()) {
		u64 since_ns = ktime_get_ns();

		for (left = reads; left; left--)
			reader->errors += !!read_once(way, reader->memory, len);
		since_ns = ktime_get_ns() - since_ns;
		reader->turns_ns[reader->turns % TURNS] = min_t(u64, since_ns, U32_MAX);
		WRITE_ONCE(reader->turns, reader->turns + 1);
		reader->ns += since_ns;
		reader->reads += reads;
		/* cond_resched() does nothing where the kernel is preempted, and User Mode Linux is not. */
		if (need_resched())
			schedule();
	}
	return 0;
}

static int compare_turns(const void *a, const void *b)
{
	u32 one = *(const u32 *)a, other = *(const u32 *)b;

	return one < other ? -1 : one > other;
}

static u64 median_turn_ns(struct speed_reader *reader)
{
	u64 turns = min_t(u64, reader->turns, TURNS);

	sort(reader->turns_ns, turns, sizeof(u32), compare_turns, NULL);
	return reader->turns_ns[turns / 2];
}

struct speed_counts {
	u64 locks;
	u64 lock_wait_ns;
	u64 harvester_ns;
};

static struct speed_counts take_counts(void)
{
	struct ws_harvester_statistics harvester;
	struct speed_counts counts = { };
	struct ws_node_statistics node;
	unsigned int number;

	for (number = 0; number < ws_nodes_count(); number++) {
		if (!ws_nodes_statistics(number, &node))
			continue;
		counts.locks += node.reservations;
		counts.lock_wait_ns += node.lock_wait_ns;
	}
	ws_harvester_statistics(&harvester);
	counts.harvester_ns = harvester.rounds_ns;
	return counts;
}

/* On the online CPUs in turn. All threads are made before the first is woken. */
static int make_readers(struct speed_reader *readers, const struct wellspring_test_speed *request)
{
	int cpu = -1, error = 0;
	u32 number;

	cpus_read_lock();
	for (number = 0; number < request->readers && !error; number++) {
		struct speed_reader *reader = &readers[number];

		cpu = cpumask_next(cpu, cpu_online_mask);
		if (cpu >= nr_cpu_ids)
			cpu = cpumask_first(cpu_online_mask);
		reader->request = request;
		reader->memory = kvmalloc(request->bytes, GFP_KERNEL);
		reader->task = kthread_create(read_until_stopped, reader, "wellspring-speed/%d", cpu);
		if (IS_ERR(reader->task)) {
			error = PTR_ERR(reader->task);
			reader->task = NULL;
		} else {
			kthread_bind(reader->task, cpu);
		}
		if (!reader->memory)
			error = -ENOMEM;
	}
	cpus_read_unlock();
	return error;
}

/* A busy host may give a thread no time in all of @ms. */
static bool all_had_a_turn(void *argument)
{
	const struct speed_reader *readers = argument;
	u32 number;

	for (number = 0; number < readers->request->readers; number++)
		if (!READ_ONCE(readers[number].turns))
			return false;
	return true;
}

static int run_readers(struct wellspring_test_speed *request, struct speed_reader *readers)
{
	int error = make_readers(readers, request);
	struct speed_counts before = take_counts(), after;
	u32 number;

	for (number = 0; number < request->readers && !error; number++)
		wake_up_process(readers[number].task);
	if (!error) {
		usleep_range(request->ms * 1000, request->ms * 1000 + 100);
		if (!wait_until(all_had_a_turn, readers))
			error = -ETIMEDOUT;
	}
	for (number = 0; number < request->readers; number++)
		if (readers[number].task)
			kthread_stop(readers[number].task);
	after = take_counts();
	for (number = 0; number < request->readers; number++) {
		kvfree(readers[number].memory);
		request->reads += readers[number].reads;
		request->ns += readers[number].ns;
		request->turn_ns += median_turn_ns(&readers[number]);
		request->errors += readers[number].errors;
	}
	request->turn_reads = request->readers * turn_reads(request);
	request->locks = after.locks - before.locks;
	request->lock_wait_ns = after.lock_wait_ns - before.lock_wait_ns;
	request->harvester_ns = after.harvester_ns - before.harvester_ns;
	return error;
}

long speed(struct wellspring_test_speed __user *argument)
{
	struct wellspring_test_speed request;
	struct speed_reader *readers;
	int error;

	if (copy_from_user(&request, argument, sizeof(request)))
		return -EFAULT;
	if (request.way > WELLSPRING_TEST_WAY_KERNEL_U64 || !request.readers ||
	    request.readers > MOST_READERS || request.bytes < sizeof(u64) ||
	    request.bytes > MOST_BYTES || request.ms > MOST_MS)
		return -EINVAL;
	readers = kvcalloc(request.readers, sizeof(*readers), GFP_KERNEL);
	if (!readers)
		return -ENOMEM;
	request.reads = 0;
	request.ns = 0;
	request.turn_ns = 0;
	request.errors = 0;
	error = run_readers(&request, readers);
	kvfree(readers);
	if (error)
		return error;
	return copy_to_user(argument, &request, sizeof(request)) ? -EFAULT : 0;
}
