// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Noise: the health tests, the queues of events, what writers can do, and how often the CPU's own source is read.
 */
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "test.h"

/*
 * Health tests, alone, and between raw samples and the pools.
 */

/* Feeds samples until the state is @wanted. How many it took, or 0 after @most. */
static unsigned int feed_until(struct ws_health *health, bool constant,
			       enum ws_health_state wanted, unsigned int most)
{
	unsigned int fed;

	for (fed = 1; fed <= most; fed++) {
		u8 sample = constant ? 7 : get_random_u32();

		ws_health_judge(health, &sample, 1);
		if (health->state == wanted)
			return fed;
	}
	return 0;
}

static int health_states(struct report *report)
{
	struct ws_health health = { };
	unsigned int fed;

	if (feed_until(&health, false, WS_HEALTH_QUARANTINED, 1 << 20))
		return failed(report, "random samples are quarantined");
	fed = feed_until(&health, true, WS_HEALTH_QUARANTINED, 100);
	if (fed < 40 || fed > 41)
		return failed(report, "quarantined after %u equal samples", fed);
	fed = feed_until(&health, false, WS_HEALTH_ACTIVE, 2000);
	if (fed != 1024)
		return failed(report, "active again after %u samples", fed);
	if (!feed_until(&health, true, WS_HEALTH_QUARANTINED, 100))
		return failed(report, "the second failure is no quarantine");
	if (!feed_until(&health, true, WS_HEALTH_DISABLED, 100))
		return failed(report, "the third failure does not disable");
	if (feed_until(&health, false, WS_HEALTH_ACTIVE, 10000))
		return failed(report, "a disabled source came back");
	return passed(report, "quarantined, active again, disabled");
}

/* Two thirds of the samples equal the first, never many in a row. */
static int health_proportion(struct report *report)
{
	struct ws_health health = { };
	unsigned int fed;

	for (fed = 0; fed < 512; fed++) {
		u8 sample = fed % 3 ? 7 : 8;

		if (!fed)
			sample = 7;
		ws_health_judge(&health, &sample, 1);
	}
	if (health.state != WS_HEALTH_QUARANTINED)
		return failed(report, "341 of 512 equal samples pass");
	return passed(report, "341 of 512 equal samples fail");
}

static enum ws_health_state hwrng_health(u64 *events)
{
	struct ws_source_statistics source;

	ws_source_statistics(WS_SOURCE_HWRNG, &source);
	*events = source.events;
	return source.health;
}

/* Like the hook, straight to the queue. */
static void push(const u8 *sample)
{
	ws_queue_push(WS_SOURCE_HWRNG, sample, WS_EVENT_BYTES, 0);
}

static void push_and_harvest(unsigned int events, bool constant)
{
	u8 sample[WS_EVENT_BYTES] = {};

	ws_reseed();
	for (; events; events--) {
		if (!constant)
			get_random_bytes(sample, sizeof(sample));
		push(sample);
	}
	ws_reseed();
}

/* Enough good samples that failures of this test are forgotten. */
static bool feed_good_samples(void)
{
	unsigned int pushed;
	u64 events;

	for (pushed = 0; pushed < 2 * WS_HEALTH_FORGET_SAMPLES / WS_EVENT_BYTES;
	     pushed += WS_QUEUE_EVENTS / 2)
		push_and_harvest(WS_QUEUE_EVENTS / 2, false);
	return hwrng_health(&events) == WS_HEALTH_ACTIVE;
}

static int health_raw_samples(struct report *report)
{
	u64 before, after;

	/* 64 samples: one failure, and not yet the next. */
	push_and_harvest(2, true);
	if (hwrng_health(&before) != WS_HEALTH_QUARANTINED)
		return failed(report, "a stuck hwrng is used");
	push_and_harvest(1, false);
	hwrng_health(&after);
	if (after != before)
		return failed(report, "samples of a quarantined source are used");
	if (!feed_good_samples())
		return failed(report, "the quarantine does not end");
	return passed(report, "quarantined, and active again");
}

const struct test health_tests[] = {
	{ "health/states", health_states },
	{ "health/proportion", health_proportion },
	{ "health/raw-samples", health_raw_samples },
	{}
};

/*
 * The queues of events: what one source sends takes no place from another.
 */

static u64 dropped(enum ws_source source)
{
	struct ws_queue_statistics statistics;

	ws_queue_statistics(smp_processor_id(), source, &statistics);
	return statistics.dropped;
}

/*
 * Any user can have a CPU switch tasks as often as they like. The queue of that source
 * then drops, and the sample of hwrng that comes after it is taken in.
 */
static int queues_apart(struct report *report)
{
	u8 sample[WS_EVENT_BYTES];
	u64 switches, samples;
	unsigned long flags;
	u32 event;

	get_random_bytes(sample, sizeof(sample));
	ws_harvester_park(true);
	/* Drains all queues. */
	ws_reseed();
	local_irq_save(flags);
	switches = dropped(WS_SOURCE_SCHEDULER);
	samples = dropped(WS_SOURCE_HWRNG);
	for (event = 0; event < 2 * WS_QUEUE_EVENTS; event++)
		ws_queue_push(WS_SOURCE_SCHEDULER, &event, sizeof(event), 0);
	ws_queue_push(WS_SOURCE_HWRNG, sample, sizeof(sample), 0);
	switches = dropped(WS_SOURCE_SCHEDULER) - switches;
	samples = dropped(WS_SOURCE_HWRNG) - samples;
	local_irq_restore(flags);
	ws_harvester_park(false);
	if (switches < WS_QUEUE_EVENTS)
		return failed(report, "a full queue dropped %llu events", switches);
	if (samples)
		return failed(report, "a flood of task switches displaced a sample of hwrng");
	return passed(report, "%llu task switches dropped, no sample of hwrng",
		      switches);
}

/* In tasks, on all CPUs. */
static u64 count_sections(void)
{
	struct ws_simd_statistics statistics;
	u64 sections = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		ws_simd_statistics(cpu, &statistics);
		sections += statistics.sections[WS_TASK] + statistics.refusals[WS_TASK];
	}
	return sections;
}

/*
 * The events of a CPU share a section, for all that it costs. A round has other sections: one for
 * the queues of each other CPU, and less than 32 for a sample, the pools and the nodes.
 */
static int queues_in_a_section(struct report *report)
{
	u64 before, most = WS_QUEUE_EVENTS + num_possible_cpus(), fewest = U64_MAX;
	u8 sample[WS_EVENT_BYTES];
	unsigned long flags;
	unsigned int turn;
	u32 event;

	ws_harvester_park(true);
	/* Others may read meanwhile. */
	for (turn = 0; turn < 3; turn++) {
		ws_reseed();
		local_irq_save(flags);
		for (event = 0; event < WS_QUEUE_EVENTS; event++) {
			get_random_bytes(sample, sizeof(sample));
			ws_queue_push(WS_SOURCE_HWRNG, sample, sizeof(sample), 0);
			ws_queue_push(WS_SOURCE_SCHEDULER, &event, sizeof(event), 0);
		}
		local_irq_restore(flags);
		before = count_sections();
		ws_harvester_round();
		fewest = min(fewest, count_sections() - before);
	}
	ws_harvester_park(false);
	if (fewest >= most)
		return failed(report, "a round with %u events has %llu sections",
			      2 * WS_QUEUE_EVENTS, fewest);
	return passed(report, "a round with %u events has %llu sections, less than %llu",
		      2 * WS_QUEUE_EVENTS, fewest, most);
}

const struct test queues_tests[] = {
	{ "queues/apart", queues_apart },
	{ "queues/in-a-section", queues_in_a_section },
	{}
};

/*
 * Floods of writers, and credit of operators.
 */

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
 * written makes no reseed due. Loaded with timing=off (guest.sh), the last of these is
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

/*
 * RDRAND, on arm64 RNDR, is used with each key that a tap takes from its node, and not with each
 * refill: it is a slow unit that all CPUs of a machine share. A probe on every such instruction
 * of the module counts how often this task comes there.
 */

#define MOST_PROBES 32
#define FETCHES 16
#define REFILLS_PER_FETCH 32
/* Half a buffer or more would take a key instead of buffered bytes. */
#define READ_BYTES (WS_TAP_BUFFER_BYTES / 4)

static struct task_struct *counted_task;
static unsigned int count;

static int on_rdrand(struct kprobe *probe, struct pt_regs *registers)
{
	if (current == READ_ONCE(counted_task))
		WRITE_ONCE(count, READ_ONCE(count) + 1);
	return 0;
}

/* The function of wellspring.ko around an address: false without one. */
static bool find_function(unsigned long address, unsigned long *start, unsigned long *end)
{
	char text[KSYM_SYMBOL_LEN], *numbers;
	unsigned long offset, len;

	sprint_symbol(text, address);
	numbers = strstr(text, "+0x");
	if (!numbers || !strstr(text, "[wellspring]") ||
	    sscanf(numbers, "+0x%lx/0x%lx", &offset, &len) != 2 || !len)
		return false;
	*start = address - offset;
	*end = *start + len;
	return true;
}

/* Probes every RDRAND from @start to @end. Bytes that only look like one are refused. */
static unsigned int probe_range(struct kprobe *probes, unsigned int placed,
				unsigned long start, unsigned long end)
{
	unsigned long at;

	for (at = start; at + 4 <= end && placed < MOST_PROBES; at++) {
		struct kprobe *probe = &probes[placed];

		if (!ws_arch_is_random_word((const u8 *)at))
			continue;
		memset(probe, 0, sizeof(*probe));
		probe->addr = (kprobe_opcode_t *)at;
		probe->pre_handler = on_rdrand;
		if (!register_kprobe(probe))
			placed++;
	}
	return placed;
}

/* All functions, from a known one to the module's first and to its last. */
static unsigned int probe_module(struct kprobe *probes)
{
	unsigned long known = (unsigned long)wellspring_get_bytes, start, end, first, last;
	unsigned int placed = 0;

	if (!find_function(known, &first, &last))
		return 0;
	placed = probe_range(probes, placed, first, last);
	while (find_function(last, &start, &end) && end > last) {
		placed = probe_range(probes, placed, last, end);
		last = end;
	}
	while (find_function(first - 1, &start, &end) && start < first) {
		placed = probe_range(probes, placed, start, first);
		first = start;
	}
	return placed;
}

/* A fetch, and refills after it, again and again. */
static int read_and_refill(void)
{
	unsigned int fetch, read;
	u8 bytes[READ_BYTES];
	int error = 0;

	for (fetch = 0; !error && fetch < FETCHES; fetch++) {
		ws_generation_bump();
		for (read = 0; !error && read < 4 * REFILLS_PER_FETCH; read++)
			error = ws_read(WS_PER_CPU, bytes, sizeof(bytes));
	}
	return error;
}

static int rdrand_per_fetch(struct report *report)
{
	const unsigned int refills = FETCHES * REFILLS_PER_FETCH;
	unsigned int placed, index;
	struct kprobe *probes;
	unsigned long word;
	int error;

	if (!IS_ENABLED(CONFIG_KPROBES))
		return skipped(report, "this kernel has no kprobes");
	if (!ws_arch_random_word(&word))
		return skipped(report, "this CPU has neither RDRAND nor RNDR");
	probes = kcalloc(MOST_PROBES, sizeof(*probes), GFP_KERNEL);
	if (!probes)
		return failed(report, "no memory");
	placed = probe_module(probes);
	WRITE_ONCE(count, 0);
	WRITE_ONCE(counted_task, current);
	error = read_and_refill();
	WRITE_ONCE(counted_task, NULL);
	for (index = 0; index < placed; index++)
		unregister_kprobe(&probes[index]);
	kfree(probes);
	if (error || !placed)
		return failed(report, "error %d, %u probes", error, placed);
	/* Some more if RDRAND had nothing, or if this task went to another CPU. */
	if (count < FETCHES || count >= refills)
		return failed(report, "%u RDRANDs in %u fetches and %u refills",
			      count, FETCHES, refills);
	return passed(report, "%u RDRANDs in %u fetches and %u refills", count,
		      FETCHES, refills);
}

const struct test rdrand_tests[] = {
	{ "rdrand/per-fetch", rdrand_per_fetch },
	{}
};
