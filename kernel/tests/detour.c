// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * 16 bytes for a task and for a softirq: read directly, and through a worker, as an
 * asynchronous cipher would make them. It counts context switches, and ticks of the
 * time stamp counter. In an emulator that counts instructions (QEMU with -icount
 * shift=0) the ticks are instructions.
 */
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/sched.h>
#include <linux/timex.h>
#include <linux/workqueue.h>

#include "test.h"
#include "timers.h"
#include "workers.h"

#define REQUESTS 500
#define PERIOD_NS 400000
/* Of the requests by a softirq, which come as fast as a worker serves them. */
#define LEAST_BY_WORKER 100

struct cost {
	u64 ticks;
	u64 switches;
	u32 requests;
	u32 errors;
};

/* The request for the worker, one at a time. */
static struct {
	struct work_struct work;
	struct completion done;
	u8 bytes[16];
	u64 since;
	bool busy;
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
	request.cost.ticks += get_cycles() - request.since;
	/* Two workers may take turns: one that slept counts as one switch. */
	if (request.cost.requests++)
		request.cost.switches += switches > request.worker_switches;
	request.worker_switches = switches;
	smp_store_release(&request.busy, false);
	complete(&request.done);
}

static void task_direct(struct cost *cost)
{
	u64 switches = current->nvcsw, since;
	u8 bytes[16];

	while (cost->requests < REQUESTS) {
		since = get_cycles();
		if (wellspring_get_bytes(bytes, sizeof(bytes)))
			cost->errors++;
		cost->ticks += get_cycles() - since;
		cost->requests++;
	}
	cost->switches = current->nvcsw - switches;
}

static void task_detour(struct cost *cost)
{
	u64 switches = current->nvcsw, since, ticks = 0;
	unsigned int index;

	memset(&request.cost, 0, sizeof(request.cost));
	for (index = 0; index < REQUESTS; index++) {
		reinit_completion(&request.done);
		since = get_cycles();
		request.since = since;
		queue_work(system_highpri_wq, &request.work);
		wait_for_completion(&request.done);
		ticks += get_cycles() - since;
	}
	*cost = request.cost;
	cost->ticks = ticks;
	cost->switches += current->nvcsw - switches;
}

static void softirq_reads(int cpu, void *argument)
{
	struct cost *cost = argument;
	u64 since = get_cycles(), switches = switches_of(current);
	u8 bytes[16];

	if (cpu || cost->requests == REQUESTS)
		return;
	if (wellspring_get_bytes(bytes, sizeof(bytes)))
		cost->errors++;
	cost->ticks += get_cycles() - since;
	cost->switches += switches_of(current) - switches;
	cost->requests++;
}

static void softirq_sends(int cpu, void *argument)
{
	if (cpu || smp_load_acquire(&request.busy))
		return;
	request.busy = true;
	request.since = get_cycles();
	queue_work_on(0, system_highpri_wq, &request.work);
}

static bool direct_is_done(void *argument)
{
	const struct cost *cost = argument;

	return READ_ONCE(cost->requests) == REQUESTS;
}

static bool detour_is_done(void *unused)
{
	return READ_ONCE(request.cost.requests) >= LEAST_BY_WORKER &&
	       READ_ONCE(request.cost.switches);
}

static int softirq_direct(struct cost *cost)
{
	struct timers timers = { .function = softirq_reads, .argument = cost,
				 .softirq = true, .period_ns = PERIOD_NS };
	int error = timers_start(&timers);

	if (error)
		return error;
	if (!wait_until(direct_is_done, cost))
		error = -ETIMEDOUT;
	timers_stop(&timers);
	return error;
}

static int softirq_detour(struct cost *cost)
{
	struct timers timers = { .function = softirq_sends, .softirq = true,
				 .period_ns = PERIOD_NS };
	int error;

	memset(&request.cost, 0, sizeof(request.cost));
	error = timers_start(&timers);
	if (error)
		return error;
	if (!wait_until(detour_is_done, NULL))
		error = -ETIMEDOUT;
	timers_stop(&timers);
	flush_work(&request.work);
	*cost = request.cost;
	return error;
}

/* In hundredths, per request. */
static u64 per_request(u64 count, const struct cost *cost)
{
	return count * 100 / max(cost->requests, 1u);
}

static int judge_detour(struct report *report, const struct cost *direct,
		 const struct cost *detour)
{
	u64 direct_ticks = per_request(direct->ticks, direct) / 100;
	u64 detour_ticks = per_request(detour->ticks, detour) / 100;
	u64 switches = per_request(detour->switches, detour);

	if (direct->errors || detour->errors || !direct->requests ||
	    !detour->requests)
		return failed(report, "%u and %u requests, %u and %u errors",
			      direct->requests, detour->requests,
			      direct->errors, detour->errors);
	if (direct->switches)
		return failed(report, "%llu context switches in direct reads",
			      direct->switches);
	/* The ticks are printed and not judged: they depend on what else runs. */
	if (!detour->switches)
		return failed(report, "no context switch in reads by a worker");
	return passed(report,
		      "direct %llu ticks, %llu switches; by a worker %llu ticks, %llu.%02llu switches a request",
		      direct_ticks, direct->switches, detour_ticks, switches / 100,
		      switches % 100);
}

static void prepare_request(void)
{
	INIT_WORK(&request.work, serve_request);
	init_completion(&request.done);
	request.busy = false;
}

static int detour_task(struct report *report)
{
	struct cost direct = {}, detour = {};

	prepare_request();
	task_direct(&direct);
	task_detour(&detour);
	return judge_detour(report, &direct, &detour);
}

static int detour_softirq(struct report *report)
{
	struct cost direct = {}, detour = {};
	int error;

	prepare_request();
	error = softirq_direct(&direct);
	if (!error)
		error = softirq_detour(&detour);
	if (error)
		return failed(report, "error %d", error);
	return judge_detour(report, &direct, &detour);
}

const struct test detour_tests[] = {
	{ "detour/task", detour_task },
	{ "detour/softirq", detour_softirq },
	{}
};
