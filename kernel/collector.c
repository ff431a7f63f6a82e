// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The collector.
 *
 * The thread never waits for a reader: it posts seeds to mailboxes, takes the root's
 * lock only if it is free, and skips a round if somebody else has the pools.
 */
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/string.h>
#include <linux/timex.h>

#include "clock.h"
#include "collector.h"
#include "distribution.h"
#include "generation.h"
#include "memory.h"
#include "phase.h"
#include "pool.h"
#include "queue.h"
#include "testing.h"
#include "topology.h"
#include "trace.h"

/* One draw on the kernel's pool in an ordinary round: 2 events. */
#define ROUND_BYTES 64
/* And when seeding: 8 events. */
#define SEEDING_BYTES WS_SAMPLE_BYTES
/* 5 times 8 events reach every pool, and pool 0 once or twice. */
#define SEEDING_DRAWS 5
/*
 * Two rounds give pool 0 the two events that make its 64 bytes. The others are for a
 * root whose lock was taken.
 */
#define SEEDING_ROUNDS 4

static struct task_struct *thread;

/* Guards the pools and everything that is absorbed into them. */
static DEFINE_MUTEX(pools_lock);
static struct ws_accumulator accumulator;
static struct ws_seed seed;
static u64 held_back;

/* Written by the thread alone. */
static u64 rounds;
static u64 skipped;

/* For all that follow up to ws_mix(): the pools' lock is held. */

static void absorb_event(const struct ws_event *event)
{
	ws_accumulator_absorb(&accumulator, event,
			      ws_source_count(event->source, event->credit_bits));
}

static void absorb_data(enum ws_source source, const void *data, size_t bytes,
			u32 credit_bits)
{
	struct ws_event event;

	ws_event_init(&event, source, data, bytes, credit_bits);
	absorb_event(&event);
	memzero_explicit(&event, sizeof(event));
}

static void draw_source(enum ws_source source, size_t wanted)
{
	u8 sample[WS_SAMPLE_BYTES];
	u32 credit_bits_per_byte;
	size_t bytes, done;

	bytes = ws_source_draw(source, sample, wanted, &credit_bits_per_byte);
	for (done = 0; done < bytes; done += WS_EVENT_BYTES) {
		size_t step = min_t(size_t, bytes - done, WS_EVENT_BYTES);

		absorb_data(source, sample + done, step,
			    credit_bits_per_byte * step);
	}
	memzero_explicit(sample, sizeof(sample));
}

static void drain_queues(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		ws_queue_drain(cpu, absorb_event);
}

/* Reseeds, if a reseed is due and the root has taken the last seed. */
static bool deliver_seed(bool unpaced)
{
	if (!ws_distribution_make_room()) {
		held_back++;
		return false;
	}
	if (!ws_accumulator_take_seed(&accumulator, ws_now_ms(), unpaced, &seed))
		return false;
	trace_wellspring_reseed(accumulator.reseeds,
				seed.bytes / SHA256_DIGEST_SIZE);
	ws_distribution_deliver(&seed);
	memzero_explicit(&seed, sizeof(seed));
	ws_distribution_make_room();
	return true;
}

static bool seed_now(void)
{
	unsigned int i;

	for (i = 0; i < SEEDING_DRAWS; i++) {
		draw_source(WS_SOURCE_CPU, sizeof(u64));
		draw_source(WS_SOURCE_SYSTEM, SEEDING_BYTES);
	}
	drain_queues();
	return deliver_seed(true);
}

void ws_mix(enum ws_source source, const void *data, size_t bytes,
	    u32 credit_bits)
{
	u8 digest[SHA256_DIGEST_SIZE];

	if (bytes > WS_EVENT_BYTES) {
		sha256(data, bytes, digest);
		data = digest;
		bytes = sizeof(digest);
	}
	mutex_lock(&pools_lock);
	absorb_data(source, data, bytes, credit_bits);
	mutex_unlock(&pools_lock);
	memzero_explicit(digest, sizeof(digest));
}
WS_EXPORT_FOR_TEST(ws_mix);

int ws_reseed(void)
{
	bool delivered = false;
	unsigned int i;

	mutex_lock(&pools_lock);
	for (i = 0; i < SEEDING_ROUNDS && !delivered; i++)
		delivered = seed_now();
	mutex_unlock(&pools_lock);
	ws_topology_grow();
	if (delivered)
		return 0;
	ws_generation_bump();
	return -EAGAIN;
}
WS_EXPORT_FOR_TEST(ws_reseed);

static void collect(void)
{
	WRITE_ONCE(rounds, rounds + 1);
	if (!mutex_trylock(&pools_lock)) {
		WRITE_ONCE(skipped, skipped + 1);
		return;
	}
	drain_queues();
	if (ws_phase() != WS_READY) {
		draw_source(WS_SOURCE_CPU, sizeof(u64));
		draw_source(WS_SOURCE_SYSTEM, SEEDING_BYTES);
	} else if (rounds % 2) {
		draw_source(WS_SOURCE_CPU, sizeof(u64));
	} else {
		draw_source(WS_SOURCE_SYSTEM, ROUND_BYTES);
	}
	deliver_seed(false);
	mutex_unlock(&pools_lock);
	ws_topology_grow();
}

/*
 * The kernel gathers jitter to initialise its own pool only when somebody waits for it,
 * and only where there is a cycle counter. So we wait: about a second. Otherwise a
 * kernel that nobody asks for random bytes might never initialise its pool, and we
 * would get no credit.
 */
static int collector_thread(void *unused)
{
	if (random_get_entropy())
		wait_for_random_bytes();
	while (!kthread_should_stop()) {
		collect();
		schedule_timeout_interruptible(
			msecs_to_jiffies(WS_RESEED_INTERVAL_MS));
	}
	return 0;
}

void ws_collector_statistics(struct ws_collector_statistics *statistics)
{
	mutex_lock(&pools_lock);
	*statistics = (struct ws_collector_statistics) {
		.rounds = READ_ONCE(rounds),
		.skipped = READ_ONCE(skipped),
		.reseeds = accumulator.reseeds,
		.held_back = held_back,
		.first_pool_bytes = accumulator.pools[0].bytes,
	};
	mutex_unlock(&pools_lock);
}
WS_EXPORT_FOR_TEST(ws_collector_statistics);

int ws_collector_init(void)
{
	ws_accumulator_init(&accumulator);
	/* Usually this seeds every node. Otherwise the thread goes on. */
	ws_reseed();
	thread = ws_step_fails() ? ERR_PTR(-ENOMEM) :
		 kthread_run(collector_thread, NULL, "wellspring");
	if (IS_ERR(thread)) {
		memzero_explicit(&accumulator, sizeof(accumulator));
		return PTR_ERR(thread);
	}
	return 0;
}

void ws_collector_exit(void)
{
	kthread_stop(thread);
	memzero_explicit(&accumulator, sizeof(accumulator));
}
