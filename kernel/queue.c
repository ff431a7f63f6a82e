// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The queues of each CPU: its CPU alone pushes, the harvester alone pops, so there is no
 * lock. An interrupt that comes in the middle of a push, and pushes for the same source,
 * finds the queue busy.
 */
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/random.h>
#include <linux/string.h>
#include <linux/timex.h>

#include "memory.h"
#include "queue.h"
#include "testing.h"

struct queue {
	bool busy;
	u32 pushed;
	u32 popped;
	u64 dropped;
	struct ws_event events[WS_QUEUE_EVENTS];
};

struct cpu_queues {
	struct queue of_source[WS_QUEUED_SOURCES];
};

static struct cpu_queues __percpu *queues;

void ws_event_init(struct ws_event *event, enum ws_source source,
		   const void *data, size_t len, u32 credit_bits)
{
	event->counter = (u32)random_get_entropy();
	event->source = source;
	event->bytes = min_t(size_t, len, WS_EVENT_BYTES);
	event->credit_bits = min_t(u32, credit_bits, 8 * event->bytes);
	memcpy(event->data, data, event->bytes);
}

/* Preemption is off, and nothing else on this CPU is pushing. */
static bool queue_push_alone(struct queue *queue, enum ws_source source,
			     const void *data, size_t len, u32 credit_bits)
{
	u32 pushed = queue->pushed;

	/* Pairs with ws_queue_drain(): the old event is wiped before a new one is written. */
	if (pushed - smp_load_acquire(&queue->popped) >= WS_QUEUE_EVENTS)
		return false;
	ws_event_init(&queue->events[pushed % WS_QUEUE_EVENTS], source, data,
		      len, credit_bits);
	/* Pairs with ws_queue_drain(): the whole event is there before it is counted. */
	smp_store_release(&queue->pushed, pushed + 1);
	return true;
}

void ws_queue_push(enum ws_source source, const void *data, size_t len,
		   u32 credit_bits)
{
	struct queue *queue;
	bool done = false;

	preempt_disable_notrace();
	queue = &this_cpu_ptr(queues)->of_source[source];
	/* Marked: an interrupt may push too, and is done with it when it returns. */
	if (!READ_ONCE(queue->busy)) {
		WRITE_ONCE(queue->busy, true);
		barrier();
		done = queue_push_alone(queue, source, data, len, credit_bits);
		barrier();
		WRITE_ONCE(queue->busy, false);
	}
	if (!done)
		this_cpu_inc(queues->of_source[source].dropped);
	preempt_enable_notrace();
}
WS_EXPORT_FOR_TEST(ws_queue_push);

static void queue_drain(struct queue *queue,
			void (*absorb)(const struct ws_event *event))
{
	/*
	 * Pairs with queue_push_alone(). Read once: what is pushed from now on waits for the
	 * next round.
	 */
	u32 pushed = smp_load_acquire(&queue->pushed);
	u32 popped = queue->popped;

	while (popped != pushed) {
		struct ws_event *event = &queue->events[popped % WS_QUEUE_EVENTS];

		absorb(event);
		memzero_explicit(event, sizeof(*event));
		/* Pairs with queue_push_alone(). */
		smp_store_release(&queue->popped, ++popped);
	}
}

void ws_queue_drain(int cpu, void (*absorb)(const struct ws_event *event))
{
	struct queue *of_source = per_cpu_ptr(queues, cpu)->of_source;
	enum ws_source source;

	for (source = 0; source < WS_QUEUED_SOURCES; source++)
		queue_drain(&of_source[source], absorb);
}

void ws_queue_statistics(int cpu, enum ws_source source,
			 struct ws_queue_statistics *statistics)
{
	const struct queue *queue = &per_cpu_ptr(queues, cpu)->of_source[source];

	statistics->events = READ_ONCE(queue->pushed);
	statistics->dropped = READ_ONCE(queue->dropped);
}
WS_EXPORT_FOR_TEST(ws_queue_statistics);

int ws_queues_init(void)
{
	queues = ws_step_fails() ? NULL : alloc_percpu(struct cpu_queues);
	return queues ? 0 : -ENOMEM;
}

void ws_queues_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		memzero_explicit(per_cpu_ptr(queues, cpu),
				 sizeof(struct cpu_queues));
	free_percpu(queues);
}
