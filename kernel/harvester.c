// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The harvester.
 *
 * The thread never waits for a reader: it posts seeds to mailboxes, and takes a node's lock
 * only if it is free. For the pools it waits its turn: besides it only operators hold them,
 * for one order each.
 *
 * Samples that the harvester draws go straight to the pools. Queues are for hooks, which
 * cannot take the pools' lock. What users write is kept apart (ws_mix()).
 */
#include <linux/cpumask.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/string.h>
#include <linux/timex.h>

#include "internal.h"
#include "trace.h"

/* One draw on the kernel's pool in an ordinary round: 2 events. */
#define ROUND_BYTES 64
/* And when seeding: 8 events. */
#define SEEDING_BYTES WS_SAMPLE_BYTES
/* The CPUs whose queues one round drains. */
#define ROUND_CPUS 64u
/* The longest pause of the thread while there are no reads and no writes. */
#define IDLE_PAUSE_MS 3000u
/* 5 times 8 events reach every pool, and pool 0 once or twice. */
#define SEEDING_DRAWS 5
/* Two rounds give pool 0 the two events that make its 64 bytes. */
#define SEEDING_ROUNDS 2

static struct task_struct *thread;
static bool is_leaving;

/* Guards the pools and everything that is absorbed into them. */
static DEFINE_MUTEX(pools_lock);
static struct ws_accumulator accumulator;
static struct ws_seed seed;
static u64 held_back;

/* Written by the thread alone. */
static u64 rounds;
/* The time that they took. */
static u64 rounds_ns;

/* The functions from here to seed_now() need the pools' lock. */

/* In a guard. */
static void absorb_event(const struct ws_event *event)
{
	if (!ws_source_judge(event))
		return;
	ws_accumulator_absorb(&accumulator, event,
			      ws_source_count(event->source, event->credit_bits));
}

/* In a guard. */
static void absorb_data(enum ws_source source, const void *data, size_t len,
			u32 credit_bits)
{
	struct ws_event event;

	ws_event_init(&event, source, data, len, credit_bits);
	absorb_event(&event);
	memzero_explicit(&event, sizeof(event));
}

static void draw_source(enum ws_source source, size_t wanted)
{
	u8 sample[WS_SAMPLE_BYTES];
	u32 credit_bits_per_byte;
	struct ws_simd simd;
	size_t len, done;

	len = ws_source_draw(source, sample, wanted, &credit_bits_per_byte);
	ws_simd_guard(&simd);
	for (done = 0; done < len; done += WS_EVENT_BYTES) {
		size_t step = min_t(size_t, len - done, WS_EVENT_BYTES);

		absorb_data(source, sample + done, step,
			    credit_bits_per_byte * step);
	}
	ws_simd_unguard(&simd);
	memzero_explicit(sample, sizeof(sample));
}

static void absorb_mixed(const void *data, size_t len, u32 credit_bits)
{
	ws_source_count(WS_SOURCE_MIX, credit_bits);
	ws_accumulator_mix(&accumulator, data, len, credit_bits);
}

/* What comes meanwhile waits for the next round. In a guard. */
static void drain_queue(int cpu, enum ws_source source)
{
	unsigned int left = WS_QUEUE_EVENTS;
	const struct ws_event *event;

	while (left-- && (event = ws_queue_first(cpu, source))) {
		absorb_event(event);
		ws_queue_drop_first(cpu, source);
	}
}

/* One guard for all events: each of them is a few bytes. */
static void drain_queues(int cpu)
{
	enum ws_source source = 0;
	struct ws_simd simd;

	while (source < WS_QUEUED_SOURCES && !ws_queue_first(cpu, source))
		source++;
	if (source == WS_QUEUED_SOURCES)
		return;
	ws_simd_guard(&simd);
	for (; source < WS_QUEUED_SOURCES; source++)
		drain_queue(cpu, source);
	ws_simd_unguard(&simd);
}

static void drain_cpu(int cpu, bool may_wait)
{
	u8 digest[SHA256_DIGEST_SIZE];

	drain_queues(cpu);
	if (ws_mix_take(cpu, may_wait, digest))
		absorb_mixed(digest, sizeof(digest), 0);
	memzero_explicit(digest, sizeof(digest));
}

/* An operator's order waits for writers, so that all that was written is in the pools. */
static void drain_all_cpus(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		drain_cpu(cpu, true);
		cond_resched();
	}
}

/* A round takes as many CPUs in their turn. So it ends soon on a machine with hundreds. */
static void drain_some_cpus(void)
{
	static int cpu = -1;
	unsigned int left = min(num_possible_cpus(), ROUND_CPUS);

	while (left--) {
		cpu = cpumask_next(cpu, cpu_possible_mask);
		if (cpu >= nr_cpu_ids)
			cpu = cpumask_first(cpu_possible_mask);
		drain_cpu(cpu, false);
		cond_resched();
	}
}

/* Has @give hand out a seed, if a seed may leave the pools. */
static bool take_seed(bool ordered, void (*give)(const struct ws_seed *seed))
{
	u32 credit_bits = ws_accumulator_next_credit_bits(&accumulator);

	if (!ws_distribution_accepts(credit_bits) ||
	    !ws_accumulator_take_seed(&accumulator, ws_now_ms(), ordered, &seed))
		return false;
	trace_wellspring_reseed(accumulator.reseeds,
				seed.bytes / SHA256_DIGEST_SIZE);
	give(&seed);
	memzero_explicit(&seed, sizeof(seed));
	return true;
}

static bool seed_now(void)
{
	bool given = false;
	unsigned int round, i;

	for (round = 0; round < SEEDING_ROUNDS && !given; round++) {
		for (i = 0; i < SEEDING_DRAWS; i++) {
			draw_source(WS_SOURCE_CPU, WS_EVENT_BYTES);
			draw_source(WS_SOURCE_SYSTEM, SEEDING_BYTES);
		}
		drain_all_cpus();
		given = take_seed(true, ws_distribution_order);
	}
	return given;
}

static int order(const void *data, size_t len, u32 credit_bits)
{
	bool given;

	mutex_lock(&pools_lock);
	if (len)
		absorb_mixed(data, len, credit_bits);
	given = seed_now();
	mutex_unlock(&pools_lock);
	ws_topology_grow();
	return given ? 0 : -EAGAIN;
}

int ws_reseed(void)
{
	return order(NULL, 0, 0);
}
WS_EXPORT_FOR_TEST(ws_reseed);

int ws_credit(u32 credit_bits)
{
	return order(&credit_bits, sizeof(credit_bits), credit_bits);
}
WS_EXPORT_FOR_TEST(ws_credit);

int ws_restore(unsigned int number, const u8 *saved, u32 credit_bits)
{
	return ws_nodes_check(number) ?: order(saved, WS_KEY_BYTES, credit_bits);
}
WS_EXPORT_FOR_TEST(ws_restore);

static void harvest(void)
{
	WRITE_ONCE(rounds, rounds + 1);
	mutex_lock(&pools_lock);
	drain_some_cpus();
	if (ws_phase() != WS_READY) {
		draw_source(WS_SOURCE_CPU, WS_EVENT_BYTES);
		draw_source(WS_SOURCE_SYSTEM, SEEDING_BYTES);
	} else if (rounds % 2) {
		draw_source(WS_SOURCE_CPU, WS_EVENT_BYTES);
	} else {
		draw_source(WS_SOURCE_SYSTEM, ROUND_BYTES);
	}
	if (ws_distribution_has_room())
		take_seed(false, ws_distribution_deliver);
	else
		held_back++;
	mutex_unlock(&pools_lock);
	ws_topology_grow();
}

/*
 * 100 ms after a round in which there was a read or a write. Without them each pause is
 * twice as long as the last, so that an idle machine sleeps. The first reads after a
 * long pause use keys that are at most IDLE_PAUSE_MS older.
 */
static unsigned int next_pause_ms(unsigned int pause_ms)
{
	static u64 last_activity;
	struct ws_source_statistics mix;
	u64 activity;

	ws_source_statistics(WS_SOURCE_MIX, &mix);
	activity = mix.events + ws_taps_reads() + ws_nodes_reservations();
	if (ws_phase() != WS_READY || activity != last_activity)
		pause_ms = WS_RESEED_INTERVAL_MS;
	else
		pause_ms = min(2 * pause_ms, IDLE_PAUSE_MS);
	last_activity = activity;
	return pause_ms;
}

/*
 * The kernel collects jitter to initialise its own pool only when a caller waits for it,
 * and only with a cycle counter. So we wait: about a second. Otherwise a kernel without
 * readers of random bytes might never initialise its pool, and we would get no credit.
 */
static int harvester_thread(void *unused)
{
	unsigned int pause_ms = WS_RESEED_INTERVAL_MS;
	u64 since_ns;

	/* ws_harvester_exit() ends the wait by this signal, or has said that none is needed. */
	allow_signal(SIGTERM);
	if (random_get_entropy() && !READ_ONCE(is_leaving))
		wait_for_random_bytes();
	while (!kthread_should_stop()) {
		if (kthread_should_park()) {
			kthread_parkme();
			continue;
		}
		since_ns = ktime_get_ns();
		harvest();
		WRITE_ONCE(rounds_ns, rounds_ns + ktime_get_ns() - since_ns);
		pause_ms = next_pause_ms(pause_ms);
		/* In this order: an order to stop or park ends the pause that follows. */
		flush_signals(current);
		set_current_state(TASK_INTERRUPTIBLE);
		if (!kthread_should_stop() && !kthread_should_park())
			schedule_timeout(msecs_to_jiffies(pause_ms));
		__set_current_state(TASK_RUNNING);
	}
	return 0;
}

void ws_harvester_statistics(struct ws_harvester_statistics *statistics)
{
	mutex_lock(&pools_lock);
	*statistics = (struct ws_harvester_statistics) {
		.rounds = READ_ONCE(rounds),
		.reseeds = accumulator.reseeds,
		.held_back = held_back,
		.first_pool_bytes = accumulator.pools[0].bytes,
		.rounds_ns = READ_ONCE(rounds_ns),
	};
	mutex_unlock(&pools_lock);
}
WS_EXPORT_FOR_TEST(ws_harvester_statistics);

#ifdef WELLSPRING_TESTS
void ws_harvester_park(bool park)
{
	if (park)
		kthread_park(thread);
	else
		kthread_unpark(thread);
}
WS_EXPORT_FOR_TEST(ws_harvester_park);

void ws_harvester_round(void)
{
	mutex_lock(&pools_lock);
	accumulator.reseeded = false;
	mutex_unlock(&pools_lock);
	harvest();
}
WS_EXPORT_FOR_TEST(ws_harvester_round);
#endif

int ws_harvester_init(void)
{
	ws_accumulator_init(&accumulator);
	/* Usually this seeds every node. Otherwise the thread goes on. */
	ws_reseed();
	thread = ws_step_fails() ? ERR_PTR(-ENOMEM) :
		 kthread_run(harvester_thread, NULL, "wellspring");
	if (IS_ERR(thread)) {
		memzero_explicit(&accumulator, sizeof(accumulator));
		return PTR_ERR(thread);
	}
	return 0;
}

void ws_harvester_exit(void)
{
	WRITE_ONCE(is_leaving, true);
	send_sig(SIGTERM, thread, 1);
	kthread_stop(thread);
	memzero_explicit(&accumulator, sizeof(accumulator));
}
