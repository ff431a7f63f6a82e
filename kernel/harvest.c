// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The harvest: queues that never make anyone wait, and a thread that empties them.
 *
 * A queue has one CPU that feeds it and one thread that empties it. Whoever feeds it
 * while it is full, or while this CPU is at it already (an interrupt that comes
 * between), gives up at once and is counted. The thread never waits for a reader: it
 * posts seeds to mailboxes, takes the root's lock only if it is free, and gives a
 * round up if somebody else has the pools.
 */
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/random.h>
#include <linux/string.h>
#include <linux/timex.h>

#include "internal.h"
#include "trace.h"

/* Draws that take the kernel's pool once around the pools: pool 0 gets an event or two. */
#define SEEDING_DRAWS 5

/*
 * Two rounds give pool 0 the two events that make its 64 bytes; the others are for a
 * root whose lock a reader had.
 */
#define SEEDING_ROUNDS 4

struct queue {
	bool busy;
	u32 pushed;
	u32 popped;
	u64 dropped;
	struct ws_event events[WS_QUEUE_EVENTS];
};

static struct queue __percpu *queues;
static struct task_struct *thread;

/* Guards the pools and all that is absorbed into them. */
static DEFINE_MUTEX(pools_lock);
static struct ws_accumulator accumulator;
static struct ws_seed seed;
static u64 held_back;

/* The thread's alone. */
static u64 rounds;
static u64 given_up;

static void event_init(struct ws_event *event, enum ws_source source,
		       const void *data, size_t bytes, u32 credit_bits)
{
	event->counter = (u32)random_get_entropy();
	event->source = source;
	event->bytes = min_t(size_t, bytes, WS_EVENT_BYTES);
	event->credit_bits = min_t(u32, credit_bits, 8 * event->bytes);
	memcpy(event->data, data, event->bytes);
}

/* This CPU's queue, which nobody else on it is at. */
static bool push(struct queue *queue, enum ws_source source, const void *data,
		 size_t bytes, u32 credit_bits)
{
	u32 pushed = queue->pushed;

	if (pushed - smp_load_acquire(&queue->popped) >= WS_QUEUE_EVENTS)
		return false;
	event_init(&queue->events[pushed % WS_QUEUE_EVENTS], source, data, bytes,
		   credit_bits);
	smp_store_release(&queue->pushed, pushed + 1);
	return true;
}

void ws_harvest_push(enum ws_source source, const void *data, size_t bytes,
		     u32 credit_bits)
{
	struct queue *queue;
	bool done = false;

	preempt_disable_notrace();
	queue = this_cpu_ptr(queues);
	if (!queue->busy) {
		WRITE_ONCE(queue->busy, true);
		barrier();
		done = push(queue, source, data, bytes, credit_bits);
		barrier();
		WRITE_ONCE(queue->busy, false);
	}
	if (!done)
		this_cpu_inc(queues->dropped);
	preempt_enable_notrace();
}
WS_EXPORT_FOR_TEST(ws_harvest_push);

static void absorb(const struct ws_event *event)
{
	ws_accumulator_absorb(&accumulator, event,
			      ws_source_book(event->source, event->credit_bits));
}

static void drain(struct queue *queue)
{
	u32 popped = queue->popped;

	while (popped != smp_load_acquire(&queue->pushed)) {
		struct ws_event *event = &queue->events[popped % WS_QUEUE_EVENTS];

		absorb(event);
		memzero_explicit(event, sizeof(*event));
		smp_store_release(&queue->popped, ++popped);
	}
}

/* Those of CPUs that are gone, too. */
static void drain_all(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		drain(per_cpu_ptr(queues, cpu));
}

void ws_harvest_absorb(enum ws_source source, const void *data, size_t bytes,
		       u32 credit_bits)
{
	struct ws_event event;

	event_init(&event, source, data, bytes, credit_bits);
	absorb(&event);
	memzero_explicit(&event, sizeof(event));
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
	ws_harvest_absorb(source, data, bytes, credit_bits);
	mutex_unlock(&pools_lock);
	memzero_explicit(digest, sizeof(digest));
}
WS_EXPORT_FOR_TEST(ws_mix);

/* Reseeds, if that is due and the root has taken the seed before. */
static bool deliver(bool unpaced)
{
	if (!ws_node_receive_root()) {
		held_back++;
		return false;
	}
	if (!ws_accumulator_take_seed(&accumulator, ws_now_ms(), unpaced, &seed))
		return false;
	trace_wellspring_reseed(accumulator.reseeds,
				seed.bytes / SHA256_DIGEST_SIZE);
	ws_distribution_deliver(&seed);
	memzero_explicit(&seed, sizeof(seed));
	ws_node_receive_root();
	return true;
}

static bool seed_now(void)
{
	unsigned int i;

	for (i = 0; i < SEEDING_DRAWS; i++)
		ws_sources_draw_all();
	drain_all();
	return deliver(true);
}

int ws_reseed(void)
{
	bool delivered = false;
	unsigned int i;

	mutex_lock(&pools_lock);
	for (i = 0; i < SEEDING_ROUNDS && !delivered; i++)
		delivered = seed_now();
	mutex_unlock(&pools_lock);
	ws_nodes_grow();
	if (delivered)
		return 0;
	ws_generation_bump();
	return -EAGAIN;
}
WS_EXPORT_FOR_TEST(ws_reseed);

static void harvest(void)
{
	WRITE_ONCE(rounds, rounds + 1);
	if (!mutex_trylock(&pools_lock)) {
		WRITE_ONCE(given_up, given_up + 1);
		return;
	}
	drain_all();
	if (ws_phase() == WS_READY)
		ws_sources_draw(rounds);
	else
		ws_sources_draw_all();
	deliver(false);
	mutex_unlock(&pools_lock);
	ws_nodes_grow();
}

/*
 * A kernel that nobody has asked for random bytes yet may never initialise its pool,
 * and we would wait for it for ever. Asking makes it gather jitter, for about a second,
 * where there is a cycle counter.
 */
static int run(void *unused)
{
	if (random_get_entropy())
		wait_for_random_bytes();
	while (!kthread_should_stop()) {
		harvest();
		schedule_timeout_interruptible(
			msecs_to_jiffies(WS_RESEED_INTERVAL_MS));
	}
	return 0;
}

void ws_queue_statistics(int cpu, struct ws_queue_statistics *statistics)
{
	const struct queue *queue = per_cpu_ptr(queues, cpu);

	statistics->events = READ_ONCE(queue->pushed);
	statistics->dropped = READ_ONCE(queue->dropped);
}
WS_EXPORT_FOR_TEST(ws_queue_statistics);

void ws_harvest_statistics(struct ws_harvest_statistics *statistics)
{
	mutex_lock(&pools_lock);
	*statistics = (struct ws_harvest_statistics) {
		.rounds = READ_ONCE(rounds),
		.given_up = READ_ONCE(given_up),
		.reseeds = accumulator.reseeds,
		.held_back = held_back,
		.first_pool_bytes = accumulator.pools[0].bytes,
	};
	mutex_unlock(&pools_lock);
}
WS_EXPORT_FOR_TEST(ws_harvest_statistics);

int ws_harvest_init(void)
{
	queues = ws_step_fails() ? NULL : alloc_percpu(struct queue);
	if (!queues)
		return -ENOMEM;
	ws_accumulator_init(&accumulator);
	/* Usually enough for every node; else the thread goes on. */
	ws_reseed();
	thread = ws_step_fails() ? ERR_PTR(-ENOMEM) :
		 kthread_run(run, NULL, "wellspring");
	if (IS_ERR(thread)) {
		free_percpu(queues);
		return PTR_ERR(thread);
	}
	return 0;
}

void ws_harvest_exit(void)
{
	int cpu;

	kthread_stop(thread);
	for_each_possible_cpu(cpu)
		memzero_explicit(per_cpu_ptr(queues, cpu), sizeof(struct queue));
	free_percpu(queues);
	memzero_explicit(&accumulator, sizeof(accumulator));
}
