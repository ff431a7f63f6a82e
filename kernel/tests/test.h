/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A test: a name, a function, and one line of result. And what several tests use.
 */
#ifndef WELLSPRING_TEST_H
#define WELLSPRING_TEST_H

#include <linux/compiler.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/sched.h>
#include <linux/types.h>

#include "../internal.h"
#include "uapi.h"

struct report {
	char text[WELLSPRING_TEST_REPORT_BYTES];
};

/* Each returns its verdict: a test ends with `return failed(...)`. */
__printf(2, 3) int passed(struct report *report, const char *format, ...);
__printf(2, 3) int failed(struct report *report, const char *format, ...);
__printf(2, 3) int skipped(struct report *report, const char *format, ...);

struct test {
	const char *name;
	int (*run)(struct report *report);
};

/* All groups, in the order in which they run. */
#define EACH_GROUP(do)							\
	do(answers) do(counters) do(distribution) do(sections)		\
	do(nested) do(exports) do(detour) do(readers) do(hotplug)	\
	do(writers) do(early) do(queues) do(orders) do(numbers)		\
	do(health) do(secrets) do(nmi) do(rdrand) do(registers)		\
	do(interrupts) do(ciphers)

/* Each ends with an empty entry. */
#define DECLARE_GROUP(group) extern const struct test group##_tests[];
EACH_GROUP(DECLARE_GROUP)

/* The verdict of the test of this name. One runs at a time. */
int run_by_name(const char *name, struct report *report);

/* Makes suites for KUnit of all groups (kunit.c), where the kernel has it. */
#if IS_REACHABLE(CONFIG_KUNIT)
int kunit_init(void);
#else
static inline int kunit_init(void)
{
	return 0;
}
#endif

/* Frees what these tests keep for the search. */
void secrets_exit(void);

/* The private Fortuna of an open file (answers.c). */
struct replay;
struct replay *replay_create(void);
void replay_destroy(struct replay *replay);
long replay_ioctl(struct replay *replay, unsigned int command,
		  void __user *argument);

/* Figures for a benchmark (measure.c). One at a time. */
long measure(struct wellspring_test_measure __user *argument);
/* Readers beside each other (measure.c). One at a time. */
long speed(struct wellspring_test_speed __user *argument);

/*
 * 16-byte values by the thousands, and whether one comes twice (readers.c). Values
 * may be added from any context, each set from one at a time.
 */
struct value_set {
	u64 (*values)[2];
	u32 capacity;
	u32 count;
};

int value_set_init(struct value_set *set, u32 capacity);
void value_set_exit(struct value_set *set);
/* False when it is full. */
bool value_set_add(struct value_set *set, const void *value);
/*
 * Sorts all values of several sets together. How many came twice, or were
 * zero; a negative errno if there was no memory.
 */
long value_sets_repeats(struct value_set *sets, unsigned int count);

/*
 * Threads bound to CPUs, which work until they are told to stop.
 */

/*
 * In a loop. With PREEMPT cond_resched() does nothing, since an interrupt that returns
 * preempts. In User Mode Linux it does not.
 */
static inline void give_way(void)
{
	if (need_resched())
		schedule();
}

struct worker {
	struct task_struct *task;
	int cpu;
	unsigned int number;
	/* How often the function returned. */
	u64 works;
	void *argument;
};

/* Called again and again in a thread that is bound to worker->cpu. */
typedef void (*work_function)(struct worker *worker);

struct workers {
	struct worker *all;
	unsigned int count;
};

/* @per_cpu threads on each online CPU. All start together. 0 or a negative errno. */
int workers_start(struct workers *workers, unsigned int per_cpu,
		  work_function function, void *argument);
void workers_stop(struct workers *workers);
/*
 * Both, with a sleep of @time_ms in between, which goes on until each thread has called
 * the function and @is_enough says true. -ETIMEDOUT if that did not happen.
 */
int workers_run(unsigned int per_cpu, work_function function, void *argument,
		unsigned int time_ms, bool (*is_enough)(void *argument));
/*
 * Sleeps until the function says true. False if it did not within some minutes: an
 * emulated CPU on a busy host may get its turn after seconds, so no test may conclude
 * anything from a shorter time.
 */
bool wait_until(bool (*is_true)(void *argument), void *argument);

/*
 * A timer on each CPU, which interrupts what runs there, as a hard interrupt or
 * as a softirq.
 */

struct interruption {
	struct hrtimer timer;
	struct timers *timers;
	int cpu;
};

struct timers {
	struct interruption *of_cpu;
	void (*function)(int cpu, void *argument);
	void *argument;
	bool softirq;
	u64 period_ns;
};

/* On all online CPUs; the caller keeps them online. 0 or -ENOMEM. */
int timers_start(struct timers *timers);
void timers_stop(struct timers *timers);

/*
 * 16 bytes for a task and for a softirq: read directly, and through a worker, as an
 * asynchronous cipher would make them.
 */

#define REQUEST_BYTES 16

/*
 * The sum over all requests. @ns and @ticks: from the request to its bytes.
 * @ticks counts with the time stamp counter, or instructions in an emulator
 * that counts these (QEMU with -icount shift=0).
 */
struct cost {
	u64 ns;
	u64 ticks;
	u64 switches;
	u32 requests;
	u32 errors;
};

/*
 * Each makes at least @requests requests, one at a time, and adds them up. 0, or a
 * negative errno.
 */
int requests_by_task(u32 requests, struct cost *cost);
int requests_by_task_to_worker(u32 requests, struct cost *cost);
int requests_by_softirq(u32 requests, struct cost *cost);
int requests_by_softirq_to_worker(u32 requests, struct cost *cost);

/*
 * Encrypts @count messages by AES-XTS, one at a time, directly or by a worker of cryptd. 0;
 * -ENOENT without wellspring_crypto or cryptd; or another negative errno.
 */
int measure_cipher(bool detour, unsigned int len, u32 count, u64 *ns);

#endif
