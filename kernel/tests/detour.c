// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A read makes its bytes at once and by itself: no context switch. Through a worker, as an
 * asynchronous cipher would make them, there is one.
 */
#include "requests.h"
#include "test.h"

#define REQUESTS 500
/* Requests by a softirq to a worker, which come as fast as it serves them. */
#define LEAST_BY_WORKER 100

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

static int detour_task(struct report *report)
{
	struct cost direct = {}, detour = {};
	int error = requests_by_task(REQUESTS, &direct);

	if (!error)
		error = requests_by_task_to_worker(REQUESTS, &detour);
	if (error)
		return failed(report, "error %d", error);
	return judge_detour(report, &direct, &detour);
}

static int detour_softirq(struct report *report)
{
	struct cost direct = {}, detour = {};
	int error = requests_by_softirq(REQUESTS, &direct);

	if (!error)
		error = requests_by_softirq_to_worker(LEAST_BY_WORKER, &detour);
	if (error)
		return failed(report, "error %d", error);
	return judge_detour(report, &direct, &detour);
}

const struct test detour_tests[] = {
	{ "detour/task", detour_task },
	{ "detour/softirq", detour_softirq },
	{}
};
