// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * 16 bytes for a task and for a softirq: read directly, and through a worker.
 *
 * A task reads in a loop. A softirq comes with a timer, and makes some reads each time. A
 * worker serves one request at a time: it is queued, it runs, and the task that asked is
 * woken.
 */
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/timex.h>
#include <linux/workqueue.h>

#include "requests.h"
#include "test.h"
#include "timers.h"
#include "workers.h"

#define PERIOD_NS 400000
/* Reads of a softirq at one time. */
#define BURST 8

/* The request for the worker, one at a time. */
static struct {
	struct work_struct work;
	struct completion done;
	u8 bytes[REQUEST_BYTES];
	u64 since_ns;
	u64 since_ticks;
	bool busy;
	u32 wanted;
	struct cost cost;
	u64 worker_switches;
} request;

static u64 switches_of(const struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

static void serve_request(struct work_struct *unused)
{
	u64 switches = switches_of(current);

	if (wellspring_get_bytes(request.bytes, sizeof(request.bytes)))
		request.cost.errors++;
	request.cost.ticks += get_cycles() - request.since_ticks;
	request.cost.ns += ktime_get_ns() - request.since_ns;
	/*
	 * Two workers may take turns: a worker that slept counts as one
	 * switch.
	 */
	if (request.cost.requests)
		request.cost.switches += switches > request.worker_switches;
	request.worker_switches = switches;
	WRITE_ONCE(request.cost.requests, request.cost.requests + 1);
	/* Pairs with softirq_sends(): the figures of this request are complete. */
	smp_store_release(&request.busy, false);
	complete(&request.done);
}

static void prepare_worker(u32 requests)
{
	INIT_WORK(&request.work, serve_request);
	init_completion(&request.done);
	memset(&request.cost, 0, sizeof(request.cost));
	request.busy = false;
	request.wanted = requests;
}

/* Reads @count times, and adds up what it cost. */
static void read_directly(struct cost *cost, u32 count)
{
	u64 since_ns = ktime_get_ns(), since_ticks = get_cycles();
	u64 switches = current->nvcsw;
	u8 bytes[REQUEST_BYTES];
	u32 index;

	for (index = 0; index < count; index++)
		if (wellspring_get_bytes(bytes, sizeof(bytes)))
			cost->errors++;
	cost->ticks += get_cycles() - since_ticks;
	cost->ns += ktime_get_ns() - since_ns;
	/* Only voluntary switches: a busy machine takes the CPU away. */
	cost->switches += current->nvcsw - switches;
	WRITE_ONCE(cost->requests, cost->requests + count);
}

int requests_by_task(u32 requests, struct cost *cost)
{
	while (cost->requests < requests) {
		read_directly(cost, min(requests - cost->requests, 1000u));
		cond_resched();
	}
	return 0;
}

int requests_by_task_to_worker(u32 requests, struct cost *cost)
{
	u64 switches = current->nvcsw, ticks = 0, ns = 0;
	u32 index;

	prepare_worker(requests);
	for (index = 0; index < requests; index++) {
		reinit_completion(&request.done);
		request.since_ns = ktime_get_ns();
		request.since_ticks = get_cycles();
		queue_work(system_highpri_wq, &request.work);
		wait_for_completion(&request.done);
		ticks += get_cycles() - request.since_ticks;
		ns += ktime_get_ns() - request.since_ns;
	}
	/* The worker may still be at the end of the last one. */
	flush_work(&request.work);
	*cost = request.cost;
	cost->ticks = ticks;
	cost->ns = ns;
	cost->switches += current->nvcsw - switches;
	return 0;
}

/* What the timers' function needs: it stops at @wanted. */
struct softirq_reads {
	struct cost *cost;
	u32 wanted;
};

static void softirq_reads(int cpu, void *argument)
{
	struct softirq_reads *reads = argument;

	if (!cpu && reads->cost->requests < reads->wanted)
		read_directly(reads->cost, BURST);
}

static bool reads_are_done(void *argument)
{
	const struct softirq_reads *reads = argument;

	return READ_ONCE(reads->cost->requests) >= reads->wanted;
}

static void softirq_sends(int cpu, void *argument)
{
	/* Pairs with the end of the request. */
	if (cpu || smp_load_acquire(&request.busy))
		return;
	request.busy = true;
	request.since_ns = ktime_get_ns();
	request.since_ticks = get_cycles();
	queue_work_on(0, system_highpri_wq, &request.work);
}

static bool worker_is_done(void *unused)
{
	return READ_ONCE(request.cost.requests) >= request.wanted &&
	       READ_ONCE(request.cost.switches);
}

int requests_by_softirq(u32 requests, struct cost *cost)
{
	struct softirq_reads reads = { .cost = cost, .wanted = requests };
	struct timers timers = { .function = softirq_reads, .argument = &reads,
				 .softirq = true, .period_ns = PERIOD_NS };
	int error = timers_start(&timers);

	if (error)
		return error;
	if (!wait_until(reads_are_done, &reads))
		error = -ETIMEDOUT;
	timers_stop(&timers);
	return error;
}

int requests_by_softirq_to_worker(u32 requests, struct cost *cost)
{
	struct timers timers = { .function = softirq_sends, .softirq = true,
				 .period_ns = PERIOD_NS };
	int error;

	prepare_worker(requests);
	error = timers_start(&timers);
	if (error)
		return error;
	if (!wait_until(worker_is_done, NULL))
		error = -ETIMEDOUT;
	timers_stop(&timers);
	flush_work(&request.work);
	*cost = request.cost;
	return error;
}
