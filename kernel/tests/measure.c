// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Figures for a benchmark, which judge nothing, and the crypto API as a user of the module.
 */
#include <crypto/skcipher.h>
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/interrupt.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/scatterlist.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/timex.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "test.h"

/*
 * Figures for a benchmark, which judges nothing: requests of 16 bytes, and a loop that
 * writes blocks.
 *
 * The loop imitates an allocator that draws two numbers for each block that it places, as
 * ZFS's metaslab allocator did. There, the change from secure numbers to statistical ones
 * moved their share of the write path from 3.16 % to 0.06 %.
 */

#define MOST_COUNT (1 << 20)
#define BLOCK_BYTES 4096
/* 4 MiB, so that they stay in some cache. */
#define BLOCKS 1024
/* Blocks between two looks at what else wants to run. */
#define PORTION 64

typedef int (*numbers_function)(u64 numbers[2]);

static int secret_numbers(u64 numbers[2])
{
	return wellspring_get_u64(&numbers[0]) ?: wellspring_get_u64(&numbers[1]);
}

static int pseudo_numbers(u64 numbers[2])
{
	numbers[0] = wellspring_get_pseudo_u64();
	numbers[1] = wellspring_get_pseudo_u64();
	return 0;
}

static int kernel_numbers(u64 numbers[2])
{
	numbers[0] = get_random_u64();
	numbers[1] = get_random_u64();
	return 0;
}

/* The numbers alone are timed apart: they are too little for a difference of two times. */
static u64 time_numbers(numbers_function make, u32 count, u64 *errors)
{
	u64 since = ktime_get_ns(), numbers[2];

	while (count--) {
		*errors += !!make(numbers);
		/* Keeps the compiler from leaving them out. */
		barrier_data(numbers);
	}
	return ktime_get_ns() - since;
}

static u64 time_blocks(numbers_function make, u8 *memory, u32 count, u64 *errors)
{
	u64 since = ktime_get_ns(), numbers[2];

	while (count--) {
		u8 *block;

		*errors += !!make(numbers);
		block = memory + numbers[0] % BLOCKS * BLOCK_BYTES;
		memset(block, numbers[1], BLOCK_BYTES);
		barrier_data(block);
	}
	return ktime_get_ns() - since;
}

static int write_blocks(struct wellspring_test_measure *measure, numbers_function make)
{
	u8 *memory = vzalloc(BLOCKS * BLOCK_BYTES);
	u32 left = measure->count;

	if (!memory)
		return -ENOMEM;
	while (left && !fatal_signal_pending(current)) {
		u32 count = min_t(u32, left, PORTION);

		measure->ns += time_blocks(make, memory, count, &measure->errors);
		measure->numbers_ns += time_numbers(make, count, &measure->errors);
		left -= count;
		cond_resched();
	}
	vfree(memory);
	return left ? -EINTR : 0;
}

static int make_requests(struct wellspring_test_measure *measure,
			 int (*requests)(u32 count, struct cost *cost))
{
	struct cost cost = { };
	int error = requests(measure->count, &cost);

	measure->count = cost.requests;
	measure->ns = cost.ns;
	measure->switches = cost.switches;
	measure->errors = cost.errors;
	return error;
}

static int run_measurement(struct wellspring_test_measure *measure)
{
	switch (measure->measurement) {
	case WELLSPRING_TEST_TASK:
		return make_requests(measure, requests_by_task);
	case WELLSPRING_TEST_TASK_WORKER:
		return make_requests(measure, requests_by_task_to_worker);
	case WELLSPRING_TEST_SOFTIRQ:
		return make_requests(measure, requests_by_softirq);
	case WELLSPRING_TEST_SOFTIRQ_WORKER:
		return make_requests(measure, requests_by_softirq_to_worker);
	case WELLSPRING_TEST_BLOCKS_SECRET:
		return write_blocks(measure, secret_numbers);
	case WELLSPRING_TEST_BLOCKS_PSEUDO:
		return write_blocks(measure, pseudo_numbers);
	case WELLSPRING_TEST_BLOCKS_KERNEL:
		return write_blocks(measure, kernel_numbers);
	case WELLSPRING_TEST_XTS_16:
		return measure_cipher(false, 16, measure->count, &measure->ns);
	case WELLSPRING_TEST_XTS_16_CRYPTD:
		return measure_cipher(true, 16, measure->count, &measure->ns);
	case WELLSPRING_TEST_XTS_4096:
		return measure_cipher(false, 4096, measure->count, &measure->ns);
	case WELLSPRING_TEST_XTS_4096_CRYPTD:
		return measure_cipher(true, 4096, measure->count, &measure->ns);
	default:
		return -EINVAL;
	}
}

long measure(struct wellspring_test_measure __user *argument)
{
	struct wellspring_test_measure request;
	int error;

	if (copy_from_user(&request, argument, sizeof(request)))
		return -EFAULT;
	if (!request.count || request.count > MOST_COUNT)
		return -EINVAL;
	request.ns = 0;
	request.numbers_ns = 0;
	request.switches = 0;
	request.errors = 0;
	error = run_measurement(&request);
	if (error)
		return error;
	return copy_to_user(argument, &request, sizeof(request)) ? -EFAULT : 0;
}

/*
 * Figures for a benchmark: kernel threads that read beside each other, in one of the ways that
 * uapi.h names. How long they waited for the locks of nodes, and what the harvester ran.
 *
 * The reads are timed in turns of some 20 us, and the median counts: a host
 * takes the CPU from an emulated or virtual machine for milliseconds.
 */

#define MOST_READERS 64
#define MOST_BYTES (1 << 20)
#define MOST_MS 10000
/* The last turns are kept. */
#define TURNS 1024
#define TURN_BYTES 65536

struct speed_reader {
	struct task_struct *task;
	const struct wellspring_test_speed *request;
	void *memory;
	u32 turns_ns[TURNS];
	u64 turns;
	u64 reads;
	u64 ns;
	u64 errors;
};

static int read_once(u32 way, void *buf, size_t len)
{
	switch (way) {
	case WELLSPRING_TEST_WAY_KERNEL:
		get_random_bytes(buf, len);
		return 0;
	case WELLSPRING_TEST_WAY_PSEUDO:
		wellspring_get_pseudo_bytes(buf, len);
		return 0;
	case WELLSPRING_TEST_WAY_U64:
		return wellspring_get_u64(buf);
	case WELLSPRING_TEST_WAY_KERNEL_U64:
		*(u64 *)buf = get_random_u64();
		return 0;
	default:
		return ws_read_sleeping(way, buf, len);
	}
}

static u32 turn_reads(const struct wellspring_test_speed *request)
{
	return clamp(TURN_BYTES / request->bytes, 4u, 1024u);
}

static int read_until_stopped(void *data)
{
	struct speed_reader *reader = data;
	u32 way = reader->request->way, reads = turn_reads(reader->request), left;
	size_t len = reader->request->bytes;

	while (!kthread_should_stop()) {
		u64 since_ns = ktime_get_ns();

		for (left = reads; left; left--)
			reader->errors += !!read_once(way, reader->memory, len);
		since_ns = ktime_get_ns() - since_ns;
		reader->turns_ns[reader->turns % TURNS] = min_t(u64, since_ns, U32_MAX);
		WRITE_ONCE(reader->turns, reader->turns + 1);
		reader->ns += since_ns;
		reader->reads += reads;
		/* cond_resched() does nothing where the kernel is preempted, and User Mode Linux is not. */
		if (need_resched())
			schedule();
	}
	return 0;
}

static int compare_turns(const void *a, const void *b)
{
	u32 one = *(const u32 *)a, other = *(const u32 *)b;

	return one < other ? -1 : one > other;
}

static u64 median_turn_ns(struct speed_reader *reader)
{
	u64 turns = min_t(u64, reader->turns, TURNS);

	sort(reader->turns_ns, turns, sizeof(u32), compare_turns, NULL);
	return reader->turns_ns[turns / 2];
}

struct speed_counts {
	u64 locks;
	u64 lock_wait_ns;
	u64 harvester_ns;
};

static struct speed_counts take_counts(void)
{
	struct ws_harvester_statistics harvester;
	struct speed_counts counts = { };
	struct ws_node_statistics node;
	unsigned int number;

	for (number = 0; number < ws_nodes_count(); number++) {
		if (!ws_nodes_statistics(number, &node))
			continue;
		counts.locks += node.reservations;
		counts.lock_wait_ns += node.lock_wait_ns;
	}
	ws_harvester_statistics(&harvester);
	counts.harvester_ns = harvester.rounds_ns;
	return counts;
}

/* On the online CPUs in turn. All threads are made before the first is woken. */
static int make_readers(struct speed_reader *readers, const struct wellspring_test_speed *request)
{
	int cpu = -1, error = 0;
	u32 number;

	cpus_read_lock();
	for (number = 0; number < request->readers && !error; number++) {
		struct speed_reader *reader = &readers[number];

		cpu = cpumask_next(cpu, cpu_online_mask);
		if (cpu >= nr_cpu_ids)
			cpu = cpumask_first(cpu_online_mask);
		reader->request = request;
		reader->memory = kvmalloc(request->bytes, GFP_KERNEL);
		reader->task = kthread_create(read_until_stopped, reader, "wellspring-speed/%d", cpu);
		if (IS_ERR(reader->task)) {
			error = PTR_ERR(reader->task);
			reader->task = NULL;
		} else {
			kthread_bind(reader->task, cpu);
		}
		if (!reader->memory)
			error = -ENOMEM;
	}
	cpus_read_unlock();
	return error;
}

/* A busy host may give a thread no time in all of @ms. */
static bool all_had_a_turn(void *argument)
{
	const struct speed_reader *readers = argument;
	u32 number;

	for (number = 0; number < readers->request->readers; number++)
		if (!READ_ONCE(readers[number].turns))
			return false;
	return true;
}

/*
 * How late a softirq comes on the CPU of the first reader: from the hard interrupt that raises it
 * to its first instruction.
 */

#define MOST_DELAYS (1 << 17)
#define DELAY_PERIOD_NS 50000

static struct {
	struct tasklet_struct tasklet;
	u64 since_ns;
	bool is_raised;
	u32 count;
	u32 *ns;
} delays;

static void softirq_came(struct tasklet_struct *unused)
{
	delays.ns[delays.count] = min_t(u64, ktime_get_ns() - delays.since_ns, U32_MAX);
	if (delays.count < MOST_DELAYS - 1)
		delays.count++;
	WRITE_ONCE(delays.is_raised, false);
}

/* In a hard interrupt of this CPU, as the softirq is: no other CPU takes part. */
static void raise_there(int cpu, void *first_cpu)
{
	if (cpu != *(int *)first_cpu || READ_ONCE(delays.is_raised))
		return;
	delays.is_raised = true;
	delays.since_ns = ktime_get_ns();
	tasklet_hi_schedule(&delays.tasklet);
}

static int delays_start(struct timers *timers)
{
	int error;

	delays.ns = vmalloc(MOST_DELAYS * sizeof(*delays.ns));
	if (!delays.ns)
		return -ENOMEM;
	delays.count = 0;
	delays.is_raised = false;
	tasklet_setup(&delays.tasklet, softirq_came);
	/* A CPU that goes would take its timer with it. */
	cpus_read_lock();
	error = timers_start(timers);
	if (!error)
		return 0;
	cpus_read_unlock();
	vfree(delays.ns);
	return error;
}

/* Writes the median, the 99th percentile and the longest. */
static void delays_stop(struct timers *timers, struct wellspring_test_speed *request)
{
	timers_stop(timers);
	cpus_read_unlock();
	tasklet_kill(&delays.tasklet);
	request->delays = delays.count;
	if (delays.count) {
		u32 last = delays.count - 1;

		sort(delays.ns, delays.count, sizeof(*delays.ns), compare_turns, NULL);
		request->delay_ns[0] = delays.ns[last / 2];
		request->delay_ns[1] = delays.ns[last - last / 100];
		request->delay_ns[2] = delays.ns[last];
	}
	vfree(delays.ns);
}

static int run_readers(struct wellspring_test_speed *request, struct speed_reader *readers)
{
	int error = make_readers(readers, request), first_cpu = cpumask_first(cpu_online_mask);
	struct timers timers = { .function = raise_there, .argument = &first_cpu,
				 .period_ns = DELAY_PERIOD_NS };
	struct speed_counts before = take_counts(), after;
	bool is_timed = false;
	u32 number;

	if (request->delays && !error) {
		error = delays_start(&timers);
		is_timed = !error;
	}
	request->delays = 0;
	for (number = 0; number < request->readers && !error; number++)
		wake_up_process(readers[number].task);
	if (!error) {
		usleep_range(request->ms * 1000, request->ms * 1000 + 100);
		if (!wait_until(all_had_a_turn, readers))
			error = -ETIMEDOUT;
	}
	if (is_timed)
		delays_stop(&timers, request);
	for (number = 0; number < request->readers; number++)
		if (readers[number].task)
			kthread_stop(readers[number].task);
	after = take_counts();
	for (number = 0; number < request->readers; number++) {
		kvfree(readers[number].memory);
		request->reads += readers[number].reads;
		request->ns += readers[number].ns;
		request->turn_ns += median_turn_ns(&readers[number]);
		request->errors += readers[number].errors;
	}
	request->turn_reads = request->readers * turn_reads(request);
	request->locks = after.locks - before.locks;
	request->lock_wait_ns = after.lock_wait_ns - before.lock_wait_ns;
	request->harvester_ns = after.harvester_ns - before.harvester_ns;
	return error;
}

long speed(struct wellspring_test_speed __user *argument)
{
	struct wellspring_test_speed request;
	struct speed_reader *readers;
	int error;

	if (copy_from_user(&request, argument, sizeof(request)))
		return -EFAULT;
	if (request.way > WELLSPRING_TEST_WAY_KERNEL_U64 || !request.readers ||
	    request.readers > MOST_READERS || request.bytes < sizeof(u64) ||
	    request.bytes > MOST_BYTES || request.ms > MOST_MS)
		return -EINVAL;
	readers = kvcalloc(request.readers, sizeof(*readers), GFP_KERNEL);
	if (!readers)
		return -ENOMEM;
	request.reads = 0;
	request.ns = 0;
	request.turn_ns = 0;
	request.errors = 0;
	error = run_readers(&request, readers);
	kvfree(readers);
	if (error)
		return error;
	return copy_to_user(argument, &request, sizeof(request)) ? -EFAULT : 0;
}

/*
 * 16 bytes for a task and for a softirq: read directly, and through a worker.
 *
 * A task reads in a loop. A softirq comes with a timer, and makes some reads each time. A
 * worker serves one request at a time: it is queued, it runs, and the task that asked is
 * woken.
 */

#define PERIOD_NS 400000
/* Reads of a softirq at one time. */
#define BURST 8

/* The request for the worker, one at a time. */
static struct {
	struct work_struct work;
	struct completion done;
	u8 bytes[REQUEST_BYTES];
	u64 since_ns;
	u64 since_ticks;
	bool busy;
	u32 wanted;
	struct cost cost;
	u64 worker_switches;
} request;

static u64 switches_of(const struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

static void serve_request(struct work_struct *unused)
{
	u64 switches = switches_of(current);

	if (wellspring_get_bytes(request.bytes, sizeof(request.bytes)))
		request.cost.errors++;
	request.cost.ticks += get_cycles() - request.since_ticks;
	request.cost.ns += ktime_get_ns() - request.since_ns;
	/*
	 * Two workers may take turns: a worker that slept counts as one
	 * switch.
	 */
	if (request.cost.requests)
		request.cost.switches += switches > request.worker_switches;
	request.worker_switches = switches;
	WRITE_ONCE(request.cost.requests, request.cost.requests + 1);
	/* Pairs with softirq_sends(): the figures of this request are complete. */
	smp_store_release(&request.busy, false);
	complete(&request.done);
}

static void prepare_worker(u32 requests)
{
	INIT_WORK(&request.work, serve_request);
	init_completion(&request.done);
	memset(&request.cost, 0, sizeof(request.cost));
	request.busy = false;
	request.wanted = requests;
}

/* Reads @count times, and adds up what it cost. */
static void read_directly(struct cost *cost, u32 count)
{
	u64 since_ns = ktime_get_ns(), since_ticks = get_cycles();
	u64 switches = current->nvcsw;
	u8 bytes[REQUEST_BYTES];
	u32 index;

	for (index = 0; index < count; index++)
		if (wellspring_get_bytes(bytes, sizeof(bytes)))
			cost->errors++;
	cost->ticks += get_cycles() - since_ticks;
	cost->ns += ktime_get_ns() - since_ns;
	/* Only voluntary switches: a busy machine takes the CPU away. */
	cost->switches += current->nvcsw - switches;
	WRITE_ONCE(cost->requests, cost->requests + count);
}

int requests_by_task(u32 requests, struct cost *cost)
{
	while (cost->requests < requests) {
		read_directly(cost, min(requests - cost->requests, 1000u));
		cond_resched();
	}
	return 0;
}

int requests_by_task_to_worker(u32 requests, struct cost *cost)
{
	u64 switches = current->nvcsw, ticks = 0, ns = 0;
	u32 index;

	prepare_worker(requests);
	for (index = 0; index < requests; index++) {
		reinit_completion(&request.done);
		request.since_ns = ktime_get_ns();
		request.since_ticks = get_cycles();
		queue_work(system_highpri_wq, &request.work);
		wait_for_completion(&request.done);
		ticks += get_cycles() - request.since_ticks;
		ns += ktime_get_ns() - request.since_ns;
	}
	/* The worker may still be at the end of the last one. */
	flush_work(&request.work);
	*cost = request.cost;
	cost->ticks = ticks;
	cost->ns = ns;
	cost->switches += current->nvcsw - switches;
	return 0;
}

/* What the timers' function needs: it stops at @wanted. */
struct softirq_reads {
	struct cost *cost;
	u32 wanted;
};

static void softirq_reads(int cpu, void *argument)
{
	struct softirq_reads *reads = argument;

	if (!cpu && reads->cost->requests < reads->wanted)
		read_directly(reads->cost, BURST);
}

static bool reads_are_done(void *argument)
{
	const struct softirq_reads *reads = argument;

	return READ_ONCE(reads->cost->requests) >= reads->wanted;
}

static void softirq_sends(int cpu, void *argument)
{
	/* Pairs with the end of the request. */
	if (cpu || smp_load_acquire(&request.busy))
		return;
	request.busy = true;
	request.since_ns = ktime_get_ns();
	request.since_ticks = get_cycles();
	queue_work_on(0, system_highpri_wq, &request.work);
}

static bool worker_is_done(void *unused)
{
	return READ_ONCE(request.cost.requests) >= request.wanted &&
	       READ_ONCE(request.cost.switches);
}

int requests_by_softirq(u32 requests, struct cost *cost)
{
	struct softirq_reads reads = { .cost = cost, .wanted = requests };
	struct timers timers = { .function = softirq_reads, .argument = &reads,
				 .softirq = true, .period_ns = PERIOD_NS };
	int error = timers_start(&timers);

	if (error)
		return error;
	if (!wait_until(reads_are_done, &reads))
		error = -ETIMEDOUT;
	timers_stop(&timers);
	return error;
}

int requests_by_softirq_to_worker(u32 requests, struct cost *cost)
{
	struct timers timers = { .function = softirq_sends, .softirq = true,
				 .period_ns = PERIOD_NS };
	int error;

	prepare_worker(requests);
	error = timers_start(&timers);
	if (error)
		return error;
	if (!wait_until(worker_is_done, NULL))
		error = -ETIMEDOUT;
	timers_stop(&timers);
	flush_work(&request.work);
	*cost = request.cost;
	return error;
}

/*
 * wellspring_crypto.ko as a user of the crypto API: in softirqs, where it is synchronous and
 * never refused the FPU, while tasks spend half of their time in sections of the module. The
 * crypto manager tests what it makes. And its speed beside cryptd's, where a worker has each
 * message. What was published, 384 and 487 MB/s for messages of 16 bytes, is another case: tasks,
 * through crypto/simd.c and past it, without a worker.
 */

#if IS_REACHABLE(CONFIG_CRYPTO_SKCIPHER)

#define DIRECT "xts-aes-wellspring"
#define DETOUR "cryptd(xts-aes-wellspring)"
#define CIPHERS_MOST_BYTES 4096
#define CIPHERS_PERIOD_NS 200000
#define LEAST_MESSAGES 200
/* Half of the period, and how many interrupts must have come in one. */
#define SECTION_US 100
#define LEAST_INSIDE 20

/* A cipher with a key, and room for a message. */
struct cipher_user {
	struct crypto_skcipher *cipher;
	struct skcipher_request *request;
	struct crypto_wait wait;
	struct scatterlist list;
	u8 iv[16];
	u8 *bytes;
};

static void user_exit(struct cipher_user *user)
{
	skcipher_request_free(user->request);
	kfree(user->bytes);
	if (!IS_ERR_OR_NULL(user->cipher))
		crypto_free_skcipher(user->cipher);
}

/* @mask: CRYPTO_ALG_ASYNC for a synchronous cipher alone. */
static int user_init(struct cipher_user *user, const char *name, u32 mask)
{
	static const u8 key[64] = { 1, [32] = 2 };
	int error;

	memset(user, 0, sizeof(*user));
	user->cipher = crypto_alloc_skcipher(name, 0, mask);
	if (IS_ERR(user->cipher))
		return PTR_ERR(user->cipher);
	user->request = skcipher_request_alloc(user->cipher, GFP_KERNEL);
	user->bytes = kzalloc(CIPHERS_MOST_BYTES, GFP_KERNEL);
	error = user->request && user->bytes ?
			crypto_skcipher_setkey(user->cipher, key, sizeof(key)) : -ENOMEM;
	crypto_init_wait(&user->wait);
	if (error)
		user_exit(user);
	return error;
}

/* In place, with the tweak 0. -EINPROGRESS if a worker has it. */
static int encrypt(struct cipher_user *user, unsigned int len, u32 flags)
{
	memset(user->iv, 0, sizeof(user->iv));
	sg_init_one(&user->list, user->bytes, len);
	skcipher_request_set_callback(user->request, flags, crypto_req_done, &user->wait);
	skcipher_request_set_crypt(user->request, &user->list, &user->list, len, user->iv);
	return crypto_skcipher_encrypt(user->request);
}

struct softirqs {
	struct cipher_user user;
	u8 expected[CIPHERS_MOST_BYTES];
	u32 messages;
	u32 wrong;
	/* A task of the CPU of the messages is in a section; hard interrupts that came in one. */
	bool inside;
	u32 hardirqs_inside;
};

static void stay_in_section(struct worker *worker)
{
	struct softirqs *softirqs = worker->argument;
	struct ws_simd simd;

	if (!ws_simd_begin(&simd))
		return;
	if (!worker->cpu)
		WRITE_ONCE(softirqs->inside, true);
	udelay(SECTION_US);
	if (!worker->cpu)
		WRITE_ONCE(softirqs->inside, false);
	ws_simd_end(&simd);
	udelay(SECTION_US / 2);
}

static void count_hardirqs(int cpu, void *argument)
{
	struct softirqs *softirqs = argument;

	if (!cpu && READ_ONCE(softirqs->inside))
		WRITE_ONCE(softirqs->hardirqs_inside, softirqs->hardirqs_inside + 1);
}

static void encrypt_in_softirq(int cpu, void *argument)
{
	struct softirqs *softirqs = argument;

	if (cpu)
		return;
	memset(softirqs->user.bytes, 0, CIPHERS_MOST_BYTES);
	if (encrypt(&softirqs->user, CIPHERS_MOST_BYTES, 0) ||
	    memcmp(softirqs->user.bytes, softirqs->expected, CIPHERS_MOST_BYTES))
		softirqs->wrong++;
	WRITE_ONCE(softirqs->messages, softirqs->messages + 1);
}

static bool enough_messages(void *argument)
{
	const struct softirqs *softirqs = argument;

	return READ_ONCE(softirqs->messages) >= LEAST_MESSAGES &&
	       READ_ONCE(softirqs->hardirqs_inside) >= LEAST_INSIDE;
}

/* Messages in softirqs, which hard interrupts bring also while a task is in a section. */
static int run_softirqs(struct softirqs *softirqs)
{
	struct timers timers = { .function = encrypt_in_softirq, .argument = softirqs,
				 .softirq = true, .period_ns = CIPHERS_PERIOD_NS };
	struct timers hardirqs = { .function = count_hardirqs, .argument = softirqs,
				   .period_ns = CIPHERS_PERIOD_NS + 7000 };
	int error = timers_start(&timers);

	if (error)
		return error;
	error = timers_start(&hardirqs);
	if (!error) {
		error = workers_run(1, stay_in_section, softirqs, 0, enough_messages);
		timers_stop(&hardirqs);
	}
	timers_stop(&timers);
	return error;
}

static int judge_softirqs(struct report *report, const struct softirqs *softirqs,
			  const struct ws_simd_statistics *before)
{
	struct ws_simd_statistics after;
	u64 sections, refusals;

	ws_simd_statistics(0, &after);
	sections = after.sections[WS_SOFTIRQ] - before->sections[WS_SOFTIRQ];
	refusals = after.refusals[WS_SOFTIRQ] - before->refusals[WS_SOFTIRQ];
	if (softirqs->wrong)
		return failed(report, "%u of %u messages wrong", softirqs->wrong,
			      softirqs->messages);
	if (refusals || sections < softirqs->messages)
		return failed(report, "%u messages in softirqs: %llu sections, %llu refusals",
			      softirqs->messages, sections, refusals);
	return passed(report, "%u messages in softirqs, as in a task, no refusal; %u interrupts in sections",
		      softirqs->messages, softirqs->hardirqs_inside);
}

static int ciphers_in_softirqs(struct report *report)
{
	struct softirqs *softirqs = kzalloc(sizeof(*softirqs), GFP_KERNEL);
	struct ws_simd_statistics before;
	int verdict, error;

	if (!softirqs)
		return failed(report, "no memory");
	error = user_init(&softirqs->user, DIRECT, CRYPTO_ALG_ASYNC);
	if (error) {
		kfree(softirqs);
		return error == -ENOENT ? skipped(report, "wellspring_crypto is not loaded") :
					  failed(report, "error %d", error);
	}
	error = encrypt(&softirqs->user, CIPHERS_MOST_BYTES, 0);
	memcpy(softirqs->expected, softirqs->user.bytes, CIPHERS_MOST_BYTES);
	ws_simd_statistics(0, &before);
	if (!error)
		error = run_softirqs(softirqs);
	verdict = error ? failed(report, "error %d", error) :
			  judge_softirqs(report, softirqs, &before);
	user_exit(&softirqs->user);
	kfree(softirqs);
	return verdict;
}

int measure_cipher(bool detour, unsigned int len, u32 count, u64 *ns)
{
	struct cipher_user user;
	int error = user_init(&user, detour ? DETOUR : DIRECT, 0);
	u64 since_ns;

	if (error)
		return error;
	since_ns = ktime_get_ns();
	while (count-- && !error)
		error = crypto_wait_req(encrypt(&user, len, CRYPTO_TFM_REQ_MAY_BACKLOG),
					&user.wait);
	*ns = ktime_get_ns() - since_ns;
	user_exit(&user);
	return error;
}

#else

static int ciphers_in_softirqs(struct report *report)
{
	return skipped(report, "this kernel has no skciphers");
}

int measure_cipher(bool detour, unsigned int len, u32 count, u64 *ns)
{
	return -ENOENT;
}

#endif

const struct test ciphers_tests[] = {
	{ "ciphers/softirqs", ciphers_in_softirqs },
	{}
};
