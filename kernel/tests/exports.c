// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The exported functions, the detour by a worker that a synchronous read saves, and numbers.
 */
#include <crypto/rng.h>
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/nodemask.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "test.h"

/*
 * The exported functions, called by another module: with any
 * length, and the rng of the crypto API.
 */

#define MOST_BYTES ((1 << 20) + 4099)
#define MARK 0xa5

static int get_pseudo(void *buf, size_t len)
{
	wellspring_get_pseudo_bytes(buf, len);
	return 0;
}

/* Exactly this many bytes are written, including the last one. */
static const char *check_lengths(int (*get)(void *, size_t), u8 *buf)
{
	static const size_t some[] = { 0, 1, 7, 15, 16, 17, 63, 64, 511, 512, 513,
				       1023, 1024, 4095, 4096, 4097, 65536,
				       1 << 20, MOST_BYTES - 16 };
	unsigned int index, again;

	for (index = 0; index < ARRAY_SIZE(some); index++) {
		bool last_written = !some[index];

		for (again = 0; again < 8; again++) {
			memset(buf, MARK, MOST_BYTES);
			if (get(buf, some[index]))
				return "an error";
			if (memchr_inv(buf + some[index], MARK, 16))
				return "too many bytes";
			if (some[index] && buf[some[index] - 1] != MARK)
				last_written = true;
		}
		if (!last_written)
			return "too few bytes";
	}
	return NULL;
}

/* A megabyte in pieces and a megabyte in one read, in units of 16 bytes. */
static long count_repeats(int (*get)(void *, size_t), u8 *buf)
{
	struct value_set set;
	size_t offset;
	long found;

	if (value_set_init(&set, MOST_BYTES / 8))
		return -ENOMEM;
	for (offset = 0; offset < 1 << 19; offset += 16) {
		get(buf, 16);
		value_set_add(&set, buf);
	}
	get(buf, 1 << 20);
	for (offset = 0; offset < 1 << 20; offset += 16)
		value_set_add(&set, buf + offset);
	found = value_sets_repeats(&set, 1);
	value_set_exit(&set);
	return found;
}

static int check_export(struct report *report, int (*get)(void *, size_t))
{
	u8 *buf = vmalloc(MOST_BYTES);
	const char *wrong = buf ? check_lengths(get, buf) : "no memory";
	long found = wrong ? 0 : count_repeats(get, buf);

	vfree(buf);
	if (wrong)
		return failed(report, "%s", wrong);
	if (found)
		return failed(report, "%ld values came twice", found);
	return passed(report, "up to 1 MiB, in pieces and in one");
}

static int exports_secret(struct report *report)
{
	return check_export(report, wellspring_get_bytes);
}

static int exports_pseudo(struct report *report)
{
	return check_export(report, get_pseudo);
}

/* SplitMix64 from a seed: bytes and numbers are one sequence, and a read ends with a cut word. */
static int pseudo_answers(struct report *report)
{
	static const u64 numbers[] = { 0x599ed017fb08fc85, 0x2c73f08458540fa5,
				       0x883ebce5a3f27c77, 0x3fbef740e9177b3f };
	unsigned long flags;
	u64 kept, number;
	u8 bytes[19];

	local_irq_save(flags);
	kept = this_cpu_read(wellspring_pseudo_sum);
	this_cpu_write(wellspring_pseudo_sum, 1234567);
	wellspring_get_pseudo_bytes(bytes, sizeof(bytes));
	number = wellspring_get_pseudo_u64();
	this_cpu_write(wellspring_pseudo_sum, kept);
	local_irq_restore(flags);
	if (memcmp(bytes, numbers, sizeof(bytes)))
		return failed(report, "the bytes are wrong");
	if (number != numbers[3])
		return failed(report, "the number after them is %#llx", number);
	return passed(report, "%zu bytes and a number", sizeof(bytes));
}

/* With interrupts off, where softirqs must not be enabled. */
static int exports_irqs_off(struct report *report)
{
	unsigned long flags;
	u8 *buf = kmalloc(2 * 4096, GFP_KERNEL);
	int error;

	if (!buf)
		return failed(report, "no memory");
	memset(buf, 0, 2 * 4096);
	local_irq_save(flags);
	error = wellspring_get_bytes(buf, 16);
	error |= wellspring_get_bytes(buf, 4096);
	wellspring_get_pseudo_bytes(buf + 4096, 4096);
	local_irq_restore(flags);
	if (!error && (!memchr_inv(buf, 0, 4096) ||
		       !memchr_inv(buf + 4096, 0, 4096)))
		error = -ENODATA;
	kfree(buf);
	return error ? failed(report, "error %d", error) : passed(report, " ");
}

static int crypto_rng(struct report *report)
{
	struct crypto_rng *rng;
	u8 bytes[2][64] = {};
	int error;

	if (!IS_REACHABLE(CONFIG_CRYPTO_RNG2))
		return skipped(report, "this kernel has no rng in its crypto API");
	rng = crypto_alloc_rng("wellspring", 0, 0);
	if (IS_ERR(rng))
		return failed(report, "no such rng: %ld", PTR_ERR(rng));
	error = crypto_rng_reset(rng, bytes[0], sizeof(bytes[0]));
	if (!error)
		error = crypto_rng_get_bytes(rng, bytes[0], sizeof(bytes[0]));
	if (!error)
		error = crypto_rng_generate(rng, bytes[0], sizeof(bytes[0]),
					    bytes[1], sizeof(bytes[1]));
	crypto_free_rng(rng);
	if (error)
		return failed(report, "error %d", error);
	if (!memcmp(bytes[0], bytes[1], sizeof(bytes[0])) ||
	    !memchr_inv(bytes[0], 0, 64) || !memchr_inv(bytes[1], 0, 64))
		return failed(report, "the bytes are not random");
	return passed(report, "seeded and read");
}

/* What a read took: of the root, of the node of this CPU, and of its tap. */
struct taken {
	u64 root;
	u64 here;
	u64 tap;
};

/* Whether it is the node of this CPU's NUMA node and cache. */
static bool is_here(const struct ws_node_statistics *node)
{
	return node->numa_node == numa_node_id() &&
	       node->cache == ws_cache(raw_smp_processor_id());
}

static u64 reservations_here(void)
{
	struct ws_node_statistics node;
	unsigned int number;

	for (number = 0; number < ws_nodes_count(); number++)
		if (ws_nodes_statistics(number, &node) && is_here(&node))
			return node.reservations;
	return 0;
}

static void count_taken(struct taken *taken)
{
	struct ws_node_statistics root = {};
	struct ws_tap_statistics tap;

	ws_nodes_statistics(0, &root);
	ws_tap_statistics(raw_smp_processor_id(), WS_TASK, &tap);
	*taken = (struct taken) {
		.root = root.reservations,
		.here = reservations_here(),
		.tap = tap.reads,
	};
}

/* A read of each mode on a CPU takes from where its name says, and only there. */
static int read_modes_here(struct report *report, u8 *buf)
{
	bool has_node = false, is_root = false;
	struct ws_node_statistics node;
	unsigned int number;
	enum ws_mode mode;

	for (number = 0; number < ws_nodes_count(); number++) {
		if (!ws_nodes_statistics(number, &node) || !is_here(&node))
			continue;
		has_node = true;
		is_root = !number;
	}
	for (mode = 0; mode < WS_MODES; mode++) {
		struct taken before, after;
		u64 root, here, tap;
		int error;

		/* A fresh key is taken before the counts, so that the tap needs none. */
		error = ws_read(WS_PER_CPU, buf, 16);
		count_taken(&before);
		error = ws_read(mode, buf, 1024) ?: error;
		count_taken(&after);
		root = after.root - before.root;
		here = after.here - before.here;
		tap = after.tap - before.tap;
		if (error)
			return failed(report, "error %d", error);
		if (tap != (mode == WS_PER_CPU) ||
		    (mode == WS_PER_CPU && root + here) ||
		    (mode < WS_PER_NODE && !root) ||
		    (mode < WS_PER_NODE && has_node && !is_root && here) ||
		    (mode == WS_PER_NODE && has_node && here != 1) ||
		    (mode == WS_PER_NODE && has_node && !is_root && root))
			return failed(report, "%s on NUMA node %d took %llu of the root, %llu of its node, %llu of the tap",
				      ws_mode_name(mode), numa_node_id(), root, here,
				      tap);
	}
	return WELLSPRING_TEST_OK;
}

struct modes_here {
	struct report *report;
	u8 *bytes;
};

static long read_modes(void *argument)
{
	struct modes_here *here = argument;
	int verdict;

	preempt_disable();
	verdict = read_modes_here(here->report, here->bytes);
	preempt_enable();
	return verdict;
}

static int exports_modes(struct report *report)
{
	struct modes_here here = { report, kmalloc(1024, GFP_KERNEL) };
	int cpu, count = 0;
	long verdict = WELLSPRING_TEST_OK;

	if (!here.bytes)
		return failed(report, "no memory");
	/* A seed would bump the generation, and the tap would take a key from the node. */
	ws_harvester_park(true);
	cpus_read_lock();
	for_each_online_cpu(cpu) {
		if (verdict != WELLSPRING_TEST_OK)
			break;
		verdict = work_on_cpu(cpu, read_modes, &here);
		count++;
	}
	cpus_read_unlock();
	ws_harvester_park(false);
	kfree(here.bytes);
	if (verdict != WELLSPRING_TEST_OK)
		return verdict;
	return passed(report, "%u modes on %d CPUs", WS_MODES, count);
}

/* After a bump the tap takes a fresh key before its next byte. */
static int exports_generation(struct report *report)
{
	struct ws_tap_statistics before, after;
	u64 old = ws_generation(), next;
	u8 bytes[16];
	int cpu, error;

	error = ws_read(WS_PER_CPU, bytes, sizeof(bytes));
	preempt_disable();
	cpu = smp_processor_id();
	ws_tap_statistics(cpu, WS_TASK, &before);
	next = ws_generation_bump();
	error |= ws_read(WS_PER_CPU, bytes, sizeof(bytes));
	ws_tap_statistics(cpu, WS_TASK, &after);
	preempt_enable();
	if (error || next <= old)
		return failed(report, "error %d, generation %llu", error, next);
	if (after.fetches == before.fetches)
		return failed(report, "the tap kept its key");
	return passed(report, "generation %llu", next);
}

const struct test exports_tests[] = {
	{ "exports/get-bytes", exports_secret },
	{ "exports/get-pseudo-bytes", exports_pseudo },
	{ "exports/interrupts-off", exports_irqs_off },
	{ "pseudo-answers", pseudo_answers },
	{ "crypto-rng", crypto_rng },
	{ "modes", exports_modes },
	{ "generation", exports_generation },
	{}
};

/*
 * A read makes its bytes at once and by itself: no context switch. Through a worker, as an
 * asynchronous cipher would make them, there is one.
 */

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

/*
 * Secret numbers below a ceiling.
 */

#define DRAWS 30000

static int numbers_stay_below(struct report *report)
{
	static const u32 ceilings[] = { 1, 2, 3, 5, 1 << 16, (1U << 31) + 1, U32_MAX };
	unsigned int index, draw;
	u32 number;

	if (wellspring_get_u32_below(&number, 0) != -EINVAL)
		return failed(report, "a ceiling of 0 is no error");
	for (index = 0; index < ARRAY_SIZE(ceilings); index++) {
		u32 ceiling = ceilings[index], most = 0;

		for (draw = 0; draw < DRAWS; draw++) {
			if (wellspring_get_u32_below(&number, ceiling))
				return failed(report, "an error");
			if (number >= ceiling)
				return failed(report, "%u is not below %u", number, ceiling);
			most = max(most, number);
		}
		/*
		 * The greatest of this many draws is in the upper hundredth, but for 1 in
		 * 10^130 runs.
		 */
		if (most < ceiling - 1 - ceiling / 100)
			return failed(report, "%u of %u is the most", most, ceiling);
	}
	return passed(report, "%zu ceilings", ARRAY_SIZE(ceilings));
}

/*
 * Without throwing products away, half of the numbers below 3 * 2^30 would be multiples of 3:
 * of four words two give the same number. The standard deviation of the count is 82.
 */
static int numbers_are_unbiased(struct report *report)
{
	unsigned int draw, multiples = 0;
	u32 number;

	for (draw = 0; draw < DRAWS; draw++) {
		if (wellspring_get_u32_below(&number, 3U << 30))
			return failed(report, "an error");
		multiples += number % 3 == 0;
	}
	if (abs((int)multiples - DRAWS / 3) > 600)
		return failed(report, "%u of %u are multiples of 3", multiples, DRAWS);
	return passed(report, "%u of %u are multiples of 3", multiples, DRAWS);
}

const struct test numbers_tests[] = {
	{ "numbers/below", numbers_stay_below },
	{ "numbers/unbiased", numbers_are_unbiased },
	{}
};
