/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The device of the tests, what a test is, and what several tests use.
 */
#ifndef WELLSPRING_TEST_H
#define WELLSPRING_TEST_H

#include <linux/compiler.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/ioctl.h>
#include <linux/sched.h>
#include <linux/types.h>

#include "../internal.h"

/*
 * /dev/wellspring-test: the tests of the module by name, and for each open file a
 * private Fortuna, which a program drives with the lines of a vector file. Root only.
 * kernel/runner/src/ioctl.rs has the same numbers and structures.
 */

#define WELLSPRING_TEST_NAME_BYTES 64
#define WELLSPRING_TEST_REPORT_BYTES 444

/* The name of test @index, from 0; ENXIO past the last. */
struct wellspring_test_name {
	__u32 index;
	char name[WELLSPRING_TEST_NAME_BYTES];
};
#define WELLSPRING_TEST_LIST	_IOWR('R', 0x70, struct wellspring_test_name)

enum wellspring_test_verdict {
	WELLSPRING_TEST_OK,
	WELLSPRING_TEST_FAILED,
	WELLSPRING_TEST_SKIPPED,
};

/*
 * Runs test @index, one at a time. @report is a line, with figures or the reason, or
 * empty.
 */
struct wellspring_test_run {
	__u32 index;
	__u32 verdict;
	char report[WELLSPRING_TEST_REPORT_BYTES];
};
#define WELLSPRING_TEST_RUN	_IOWR('R', 0x71, struct wellspring_test_run)

/* Backends, with the numbers of cipher.h. */
enum wellspring_replay_backend {
	WELLSPRING_REPLAY_SCALAR,
	WELLSPRING_REPLAY_SIMD128,
	WELLSPRING_REPLAY_SIMD256,
};

/*
 * A fresh private Fortuna: empty pools; with @forced, this key and counter (little
 * endian). @cipher: 0 for AES-256, 1 for ChaCha20. @backend: the fastest to use.
 * EOPNOTSUPP if this CPU, or this cipher, has no such backend.
 */
struct wellspring_replay_begin {
	__u32 cipher;
	__u32 concurrent;
	__u32 backend;
	__u32 forced;
	__u8 key[32];
	__u8 counter[16];
};
#define WELLSPRING_REPLAY_BEGIN	_IOW('R', 0x72, struct wellspring_replay_begin)

/* An event of @bytes data, at most 32, into @pool. */
struct wellspring_replay_event {
	__u32 counter;
	__u32 pool;
	__u32 bytes;
	__u8 data[32];
};
#define WELLSPRING_REPLAY_EVENT	_IOW('R', 0x73, struct wellspring_replay_event)

/* Reseeds if pool 0 holds 64 bytes, even within 100 ms of the last reseed. */
#define WELLSPRING_REPLAY_RESEED _IO('R', 0x74)

/* One read of @bytes, at most 1 GiB, to @destination. */
struct wellspring_replay_read {
	__u64 bytes;
	__u64 destination;
};
#define WELLSPRING_REPLAY_READ	_IOW('R', 0x75, struct wellspring_replay_read)

struct wellspring_replay_state {
	__u64 reseeds;
	__u64 first_pool_bytes;
	__u8 counter[16];
	__u8 key[32];
};
#define WELLSPRING_REPLAY_STATE	_IOR('R', 0x76, struct wellspring_replay_state)

/* What is measured. */
enum wellspring_test_measurement {
	/* 16 bytes for a task and for a softirq, each directly and through a worker. */
	WELLSPRING_TEST_TASK,
	WELLSPRING_TEST_TASK_WORKER,
	WELLSPRING_TEST_SOFTIRQ,
	WELLSPRING_TEST_SOFTIRQ_WORKER,
	/* Blocks of 4096 bytes, with two numbers each: secret ones, and pseudo numbers. */
	WELLSPRING_TEST_BLOCKS_SECRET,
	WELLSPRING_TEST_BLOCKS_PSEUDO,
	/* The same by get_random_u64(). */
	WELLSPRING_TEST_BLOCKS_KERNEL,
	/* AES-XTS by wellspring_crypto, directly and by a worker of cryptd; ENOENT without. */
	WELLSPRING_TEST_XTS_16,
	WELLSPRING_TEST_XTS_16_CRYPTD,
	WELLSPRING_TEST_XTS_4096,
	WELLSPRING_TEST_XTS_4096_CRYPTD,
};

/*
 * Measures @count requests or blocks, at most 2^20, and sets @count to the
 * number that were made. @ns: all of them. @numbers_ns: the numbers of as many
 * blocks alone. @switches: context switches of the task, the softirq or the
 * worker. EINTR after a fatal signal.
 */
struct wellspring_test_measure {
	__u32 measurement;
	__u32 count;
	__u64 ns;
	__u64 numbers_ns;
	__u64 switches;
	__u64 errors;
};
#define WELLSPRING_TEST_MEASURE	_IOWR('R', 0x77, struct wellspring_test_measure)

/* How a thread of the kernel reads. 0 to 3 are the modes: enum ws_mode. */
enum wellspring_test_way {
	WELLSPRING_TEST_WAY_KERNEL = 4,		/* get_random_bytes() */
	WELLSPRING_TEST_WAY_PSEUDO,
	WELLSPRING_TEST_WAY_U64,		/* wellspring_get_u64(), of 8 bytes */
	WELLSPRING_TEST_WAY_KERNEL_U64,		/* get_random_u64() */
};

/*
 * Has 1 to 64 threads, on the CPUs in turn, read 8 bytes to 1 MiB for @ms, at most 10000. @ns:
 * of all threads together, as are @reads. @turn_ns: for @turn_reads reads, of each thread its
 * median. @lock_wait_ns: for locks of nodes, of all readers. If @delays is not 0: how many softirqs
 * were raised by interrupts of the first reader's CPU, and the median, the 99th percentile and the
 * longest time until they ran.
 */
struct wellspring_test_speed {
	__u32 way;
	__u32 readers;
	__u32 bytes;
	__u32 ms;
	__u64 reads;
	__u64 ns;
	__u64 errors;
	__u64 locks;
	__u64 lock_wait_ns;
	__u64 harvester_ns;
	__u64 turn_ns;
	__u64 turn_reads;
	__u64 delay_ns[3];
	__u32 delays;
	__u32 unused;
};
#define WELLSPRING_TEST_SPEED	_IOWR('R', 0x78, struct wellspring_test_speed)

/*
 * A test: a name, a function, and one line of result.
 */

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
