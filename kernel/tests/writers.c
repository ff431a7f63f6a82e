// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Floods of writers, and credit of operators.
 */
#include <linux/delay.h>
#include <linux/slab.h>

#include "test.h"
#include "workers.h"

#define WRITERS_PER_CPU 4
#define ROUNDS 40

static void write_event(struct worker *worker)
{
	ws_mix(worker->argument, 32);
}

struct counts {
	struct ws_harvester_statistics harvester;
	struct ws_source_statistics sources[WS_SOURCES];
};

static void take_counts(struct counts *counts)
{
	enum ws_source source;

	ws_harvester_statistics(&counts->harvester);
	for (source = 0; source < WS_SOURCES; source++)
		ws_source_statistics(source, &counts->sources[source]);
}

struct flood {
	struct counts before;
	struct counts after;
};

static u64 rounds_in(const struct flood *flood)
{
	return flood->after.harvester.rounds - flood->before.harvester.rounds;
}

static u64 events_in(const struct flood *flood, enum ws_source source)
{
	return flood->after.sources[source].events -
	       flood->before.sources[source].events;
}

static bool rounds_are_made(void *argument)
{
	struct flood *flood = argument;

	take_counts(&flood->after);
	return rounds_in(flood) >= ROUNDS;
}

/*
 * The reseeds for which the sources have sent enough: each needs 64 bytes in pool 0, which
 * gets every 32nd event of each source, of at most 36 bytes.
 */
static u64 reseeds_by_sources(const struct flood *flood)
{
	u64 bytes = flood->before.harvester.first_pool_bytes;
	enum ws_source source;

	for (source = 0; source < WS_SOURCES; source++) {
		u64 events = DIV_ROUND_UP(events_in(flood, source), WS_POOLS);
		bool is_short = source == WS_SOURCE_INTERRUPT ||
				source == WS_SOURCE_SCHEDULER;

		if (source != WS_SOURCE_MIX)
			bytes += events * (sizeof(u32) + (is_short ? sizeof(u32) :
							  WS_EVENT_BYTES));
	}
	return bytes / WS_MIN_POOL_BYTES;
}

static const char *flood_is_wrong(const struct flood *flood)
{
	if (rounds_in(flood) < ROUNDS)
		return "the harvester stands still";
	if (!events_in(flood, WS_SOURCE_MIX))
		return "nothing of it was mixed";
	/* In turn the system, with two events, and the processor, with one. */
	if (events_in(flood, WS_SOURCE_SYSTEM) < rounds_in(flood) / 2 * 2 - 2)
		return "samples of the system were lost";
	if (flood->after.harvester.reseeds - flood->before.harvester.reseeds >
	    reseeds_by_sources(flood))
		return "it caused reseeds";
	return NULL;
}

/*
 * Writers on all CPUs: the harvester goes on, the sources lose no sample, and what was
 * written makes no reseed due. Loaded with timing=off (flood.sh), the last of these is
 * 3 reseeds in 40 rounds at most.
 */
static int writers_flood(struct report *report)
{
	struct flood *flood = kzalloc(sizeof(*flood), GFP_KERNEL);
	void *page = kzalloc(4096, GFP_KERNEL);
	struct workers workers;
	const char *wrong;
	int error = -ENOMEM;
	u64 reseeds;

	if (flood && page)
		error = workers_start(&workers, WRITERS_PER_CPU, write_event, page);
	if (error) {
		kfree(flood);
		kfree(page);
		return failed(report, "error %d", error);
	}
	take_counts(&flood->before);
	wait_until(rounds_are_made, flood);
	workers_stop(&workers);
	wrong = flood_is_wrong(flood);
	reseeds = flood->after.harvester.reseeds - flood->before.harvester.reseeds;
	passed(report,
	       "%u writers: %llu mixed events, %llu events of the system in %llu rounds, %llu reseeds, by sources at most %llu%s%s",
	       workers.count, events_in(flood, WS_SOURCE_MIX),
	       events_in(flood, WS_SOURCE_SYSTEM), rounds_in(flood), reseeds,
	       reseeds_by_sources(flood), wrong ? ": " : "", wrong ?: "");
	kfree(flood);
	kfree(page);
	return wrong ? WELLSPRING_TEST_FAILED : WELLSPRING_TEST_OK;
}

static void absorb_two(struct ws_accumulator *pools)
{
	struct ws_event event = { .bytes = WS_EVENT_BYTES };
	struct ws_simd simd;

	ws_simd_guard(&simd);
	ws_accumulator_absorb(pools, &event, 0);
	ws_accumulator_absorb(pools, &event, 0);
	ws_simd_unguard(&simd);
}

/* However much is mixed, it is no reason for a reseed, not even for one by order. */
static int writers_alone(struct report *report)
{
	struct ws_accumulator *pools = kzalloc(sizeof(*pools), GFP_KERNEL);
	struct ws_seed *seed = kzalloc(sizeof(*seed), GFP_KERNEL);
	bool taken = false, due = false;
	u8 data[32] = {}, without[SHA256_DIGEST_SIZE];
	unsigned int mixed;

	if (!pools || !seed) {
		kfree(pools);
		kfree(seed);
		return failed(report, "no memory");
	}
	ws_accumulator_init(pools);
	for (mixed = 0; mixed < 1000 && !taken; mixed++) {
		ws_accumulator_mix(pools, data, sizeof(data), 256);
		taken = ws_accumulator_take_seed(pools, 0, true, seed);
	}
	/* Two events of a source make one due, and it has what was mixed. */
	absorb_two(pools);
	due = ws_accumulator_take_seed(pools, 0, false, seed);
	memcpy(without, seed->data, sizeof(without));
	ws_accumulator_init(pools);
	absorb_two(pools);
	due = due && ws_accumulator_take_seed(pools, 0, false, seed);
	mixed = memcmp(without, seed->data, sizeof(without));
	kfree(pools);
	kfree(seed);
	if (taken)
		return failed(report, "it makes a reseed due");
	if (!due || !mixed)
		return failed(report, "the next seed does not have it");
	return passed(report, "1000 times 32 bytes make no reseed due, and are in the next");
}

static u64 root_credited_bits(void)
{
	struct ws_node_statistics root = {};

	ws_nodes_statistics(0, &root);
	return root.credited_bits;
}

/* When credit was given, node 0 has it before the call returns. */
static int writers_credit(struct report *report)
{
	static const u8 data[32] = "noise of an operator";
	u64 before, after;
	unsigned int round;
	int error;

	for (round = 0; round < 10; round++) {
		before = root_credited_bits();
		ws_mix(data, sizeof(data));
		error = ws_credit(256);
		after = root_credited_bits();
		if (error || after - before < 256)
			return failed(report, "error %d, %llu bits arrived", error,
				      after - before);
	}
	return passed(report, "%u times 256 bits", round);
}

/* However much data there is. The ioctl would hash it, in 14 s in an emulated machine. */
static int writers_limits(struct report *report)
{
	static const struct {
		int bits, bytes, counted;
	} cases[] = {
		{ 0, 0, 0 },
		{ 1, 0, 0 },
		{ 256, 16, 128 },
		{ 255, 32, 255 },
		{ INT_MAX, INT_MAX, 256 },
		{ 1, 1 << 28, 1 },
		{ 1, (1 << 28) + 32, 1 },
		{ 256, 1 << 29, 256 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		int counted = ws_ioctl_credit_bits(cases[i].bits, cases[i].bytes);

		if (counted != cases[i].counted)
			return failed(report, "of %d bits in %d bytes %d count", cases[i].bits,
				      cases[i].bytes, counted);
	}
	return passed(report, "%u counts", i);
}

const struct test writers_tests[] = {
	{ "writers/flood", writers_flood },
	{ "writers/alone", writers_alone },
	{ "writers/credit", writers_credit },
	{ "writers/limits", writers_limits },
	{}
};
